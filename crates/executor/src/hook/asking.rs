//! One ask from first contact to its ending: who are we, whom do we believe, ask, wait, check, claim.
//!
//! The hub may go away and come back while an ask waits; a first contact that fails ends at once.

use std::time::Duration;

use client::{CallError, Hub};
use proof::{Approvers, ExecutorCheck, ReplayStore};
use proto::api::{AskState, Asked, Denial, NewAsk};
use proto::{AskItem, Item, ItemId, Kind, Refusal, Status, limits};

use super::budget::Budget;
use super::event::Event;
use super::shape::{Role, Shape};
use super::words::{Denied, Ending, Unavailable, chain};
use crate::home::Home;
use crate::host;
use crate::kept::{Call, Entry, Held, Kept};
use crate::trust;

/// Between two tries to reach a hub that went away while an ask waits: a restart takes a second or two.
const RETRY: Duration = Duration::from_millis(500);

/// Everything an ask needs, borrowed.
pub(super) struct Asking<'a> {
    pub(super) shape: &'a Shape,
    pub(super) home: &'a Home,
    pub(super) hub: &'a Hub,
    /// The name this hook is pinned under.
    pub(super) identity: &'a str,
    pub(super) event: &'a Event,
    /// What is asked for; its id and the agent's name are filled in here.
    pub(super) item: AskItem,
    /// Persons that a grant wants.
    pub(super) persons: u32,
    /// Whether only a person may allow it.
    pub(super) human_only: bool,
    pub(super) budget: Budget<'a>,
    /// Sixteen bytes of the system's randomness, for the id.
    pub(super) random: [u8; 16],
    /// Words for stderr.
    pub(super) log: &'a mut Vec<String>,
}

/// Ends an ask early, in the place of a `Result`'s error.
type Early<T> = Result<T, Ending>;

impl Asking<'_> {
    /// Asks, or takes a kept ask up again, and stays until there is an ending or the time is over.
    pub(super) fn run(mut self) -> Ending {
        match self.story() {
            Ok(ending) | Err(ending) => ending,
        }
    }

    fn story(&mut self) -> Early<Ending> {
        self.item.agent = self.greet()?;
        self.sync_trust()?;
        let quorum = self.approvers()?.quorum(Kind::Ask).max(self.persons);
        let held = self.ask(quorum)?;
        self.item.id = held.entry().id.to_string();
        let item = Item::Ask(self.item.clone());
        let ending = self.wait(&held.entry().id, &item);
        self.put_away(held, &ending);
        Ok(ending)
    }

    /// Who the hub says we are. Also the first contact: a hub that is not there, a token it does not know and a
    /// clock that is off are found before a person is bothered.
    fn greet(&mut self) -> Early<String> {
        let me = self.hub.me(self.budget.call()).map_err(|error| self.unavailable(&error))?;
        let off = me.now.since(self.budget.clock.now());
        if off.abs() > limits::SKEW_MS {
            let what = format!(
                "this machine's clock and the hub's differ by {} s; no approval would be accepted.",
                off.abs() / 1000
            );
            self.log.push(format!("{what} Set the clock that is wrong."));
            return Err(Ending::Unready(what));
        }
        Ok(me.name)
    }

    /// Takes over what the hub has of pins and revocations, each checked.
    fn sync_trust(&mut self) -> Early<()> {
        let now = self.budget.clock.now();
        trust::sync(self.hub, self.home, self.identity, now, self.budget.call(), self.log).map_err(|error| {
            match error {
                trust::SyncError::Hub(error) => self.unavailable(&error),
                trust::SyncError::Pins(error) => {
                    self.unready("the pin file cannot be brought up to date.", &error)
                }
            }
        })
    }

    fn approvers(&mut self) -> Early<Approvers> {
        let approvers = Approvers::read(&self.home.approvers())
            .map_err(|error| self.unready("this machine's pin file cannot be used.", &error))?;
        if approvers.keys().is_empty() || !approvers.names(self.identity) {
            self.log.push(format!(
                "`{}` names no key for `{}`; run `sealward approvers pin`",
                self.home.approvers().display(),
                self.identity
            ));
            return Err(Ending::Unproven(Refusal::NoKeyPinned));
        }
        Ok(approvers)
    }

    /// Puts the ask before the hub: a kept one of the same call if there is one, else a new one.
    fn ask(&mut self, quorum: u32) -> Early<Held> {
        let kept = Kept::new(self.home.kept());
        loop {
            let found = kept
                .take(&self.call(), &self.item.cwd)
                .map_err(|error| self.unready("asks cannot be kept.", &error))?;
            let Some(held) = found else { break };
            match self.hub.ask(&self.new_ask(&held.entry().id, quorum), self.budget.call()) {
                Ok(Asked { status, .. }) if status.waits() => return Ok(held),
                Ok(Asked { status: Status::Allowed | Status::Denied, .. }) => return Ok(held),
                // It lapsed unseen, or the hub has another ask under that id: the person is asked anew.
                Ok(_) => self.drop_for_good(held)?,
                Err(CallError::Refused(refused)) if matches!(refused.status, 404 | 409 | 410) => {
                    self.drop_for_good(held)?;
                }
                Err(error) => return Err(self.unavailable(&error)),
            }
        }
        let entry = Entry {
            id: ItemId::from_random(Kind::Ask, self.random),
            made: self.budget.clock.now(),
            cwd: self.item.cwd.clone(),
            call: self.event.call.clone(),
            dialog: self.event.role == Role::Request,
        };
        let held =
            kept.keep(&self.call(), entry).map_err(|error| self.unready("asks cannot be kept.", &error))?;
        match self.hub.ask(&self.new_ask(&held.entry().id, quorum), self.budget.call()) {
            Ok(_) => Ok(held),
            Err(error) => {
                if matches!(error, CallError::Refused(_)) {
                    self.forget(held);
                }
                Err(self.unavailable(&error))
            }
        }
    }

    fn call(&self) -> Call<'_> {
        Call {
            agent: self.shape.agent,
            session: &self.event.session,
            tool: &self.event.tool,
            input: &self.event.input,
        }
    }

    fn new_ask(&self, id: &ItemId, quorum: u32) -> NewAsk {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let why = if self.event.why.len() > limits::WHY_BYTES {
            format!("(the agent's words are {} bytes long and are shown in the input)", self.event.why.len())
        } else {
            self.event.why.clone()
        };
        NewAsk {
            kind: Kind::Ask,
            quorum,
            id: id.to_string(),
            executor: self.identity.to_owned(),
            session: self.event.session.clone(),
            tool: self.event.tool.clone(),
            input: Some(self.event.input.clone()),
            cwd: Some(self.item.cwd.clone()),
            arguments: None,
            why: some(&why),
            host: some(&host::name()),
            thread: some(&self.event.thread),
            guard: Some(self.home.guard()),
        }
    }

    /// Stays on the ask until it has an ending.
    fn wait(&mut self, id: &ItemId, item: &Item) -> Ending {
        loop {
            let (wait_s, limit) = self.budget.poll();
            let last = wait_s == 0;
            let before = self.budget.left();
            match self.hub.ask_state(id, wait_s, limit) {
                Ok(state) if state.status.waits() => {
                    if last {
                        return Ending::Unanswered;
                    }
                    // A hub that does not wait as it was told shall not be asked a thousand times a second.
                    if before.saturating_sub(self.budget.left()) < RETRY {
                        self.budget.pause(RETRY);
                    }
                }
                Ok(state) => return self.settle(state, item),
                Err(error) => {
                    let ending = self.unavailable(&error);
                    if last || self.budget.spent() || !passes(&error) {
                        return ending;
                    }
                    self.budget.pause(RETRY);
                }
            }
        }
    }

    /// An ask that waits no longer.
    fn settle(&mut self, state: AskState, item: &Item) -> Ending {
        match state.status {
            Status::Allowed => {
                let proof = state.proof.as_ref().map_or("", |proof| proof.get());
                match self.allowed(proof, item) {
                    Ok(ending) | Err(ending) => ending,
                }
            }
            Status::Denied => match self.denied(state.denial, item) {
                Ok(denied) => Ending::Denied(denied),
                Err(refusal) => {
                    self.log.push(format!(
                        "the denial's proof was refused: {} ({})",
                        refusal.sentence(),
                        refusal.code()
                    ));
                    Ending::DeniedUnproven(refusal)
                }
            },
            Status::Expired => Ending::Expired,
            Status::Cancelled => Ending::Cancelled,
            Status::Superseded => Ending::Superseded,
            // The caller has looked: these wait.
            Status::Pending | Status::Collecting | Status::Settling => Ending::Unanswered,
        }
    }

    /// Checks the approval and claims the item. What the hub knows of revocations is taken over first.
    fn allowed(&mut self, proof: &str, item: &Item) -> Early<Ending> {
        loop {
            self.sync_trust()?;
            let approvers = self.approvers()?;
            let now = self.budget.clock.now();
            let check = ExecutorCheck {
                approvers: &approvers,
                identity: Some(self.identity),
                item,
                quorum_at_least: self.persons,
                human_only: self.human_only,
                now,
            };
            match check.check(proof.as_bytes()) {
                Ok(sealed) => {
                    let store = ReplayStore::open(&self.home.replay())
                        .map_err(|_| self.refused(Refusal::StoreDamaged))?;
                    let authorized = sealed.claim(&store, now).map_err(|refusal| self.refused(refusal))?;
                    // What was sealed is what is allowed: this very item, and no other.
                    if authorized.item() != proof::item_hash(item) {
                        return Err(self.refused(Refusal::NotListed));
                    }
                    return Ok(Ending::Allowed(authorized));
                }
                Err(Refusal::NotYet) => {
                    let Some(ready) = check.ready_at(proof.as_bytes()) else {
                        return Err(self.refused(Refusal::NotYet));
                    };
                    if self.budget.spent() {
                        return Ok(Ending::Unanswered);
                    }
                    let ms = u64::try_from(ready.since(now)).unwrap_or(0);
                    self.budget.pause(Duration::from_millis(ms + 1));
                }
                Err(refusal) => return Err(self.refused(refusal)),
            }
        }
    }

    /// Checks a denial, so that only its signer's own words are quoted.
    fn denied(&mut self, denial: Option<Denial>, item: &Item) -> Result<Denied, Refusal> {
        let denial = denial.ok_or(Refusal::NoSignature)?;
        let approvers = self.approvers().map_err(|_| Refusal::NoKeyPinned)?;
        let checked = proof::check_denial(
            &approvers,
            Some(self.identity),
            item,
            denial.proof.get().as_bytes(),
            self.budget.clock.now(),
        )?;
        Ok(checked.into())
    }

    /// An ask that has its ending is forgotten; one that still waits is left to the next identical call.
    fn put_away(&mut self, held: Held, ending: &Ending) {
        match ending {
            Ending::Unanswered | Ending::Unready(_) => held.leave(),
            Ending::Unavailable(Unavailable::Refused(404, _)) => self.forget(held),
            Ending::Unavailable(_) => held.leave(),
            Ending::GrantAllows
            | Ending::GrantDenies(_)
            | Ending::Allowed(_)
            | Ending::Denied(_)
            | Ending::DeniedUnproven(_)
            | Ending::Expired
            | Ending::Cancelled
            | Ending::Superseded
            | Ending::Unproven(_) => self.forget(held),
        }
    }

    /// Forgets an ask that must not be found again: the search goes on from here.
    fn drop_for_good(&mut self, held: Held) -> Early<()> {
        held.forget().map_err(|error| self.unready("asks cannot be kept.", &error))
    }

    fn forget(&mut self, held: Held) {
        if let Err(error) = held.forget() {
            self.log.push(chain(&error));
        }
    }

    fn unavailable(&mut self, error: &CallError) -> Ending {
        self.log.push(chain(error));
        Ending::Unavailable(error.into())
    }

    fn unready(&mut self, what: &str, error: &dyn std::error::Error) -> Ending {
        self.log.push(chain(error));
        Ending::Unready(what.to_owned())
    }

    fn refused(&mut self, refusal: Refusal) -> Ending {
        self.log.push(format!("the approval was refused: {} ({})", refusal.sentence(), refusal.code()));
        Ending::Unproven(refusal)
    }
}

/// Whether a hub in this trouble may be well again in a moment.
fn passes(error: &CallError) -> bool {
    match error {
        CallError::Unreachable { .. } | CallError::TooSlow { .. } => true,
        CallError::Refused(refused) => refused.status == 429 || refused.status >= 500,
        CallError::BadAnswer { .. } => false,
    }
}
