//! Where calls wait for a person: asked at the hub, fetched when it says so, and checked here against this broker's own pins.
//!
//! One thread follows the hub's events for all calls that wait, so that a thousand of them cost one poll. The hub is trusted for
//! nothing but being there: what it hands over is checked by `proof`, and a hub that is away decides nothing.

use std::{
    collections::HashMap,
    fs, io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use client::{Address, BadAddress, CallError, Hub, SetUpError, Token};
use proof::{Approvers, Authorized, ExecutorCheck, ReplayStore};
use proto::{
    Item, ItemId, Refusal, Status,
    api::{AskState, Guard, NewAsk},
};
use tokio::sync::oneshot;

use crate::{
    clock,
    config::{Config, HubConfig},
    connection::Link,
};

/// One exchange with the hub.
const LIMIT: Duration = Duration::from_secs(10);
/// One wait for events, seconds.
const POLL_S: u64 = 25;
/// How long a hub that is away is left alone before it is asked again.
const AWAY: Duration = Duration::from_secs(1);
/// Tries to hand a call to a hub that is just starting.
const TRIES: u32 = 5;
/// Longest wait for a person: the hub's default lifetime of an item, and a minute to hear that it lapsed.
const DEADLINE: Duration = Duration::from_secs(3660);

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Answer {
    Approved { authorized: Authorized, persons: u32, signers: Vec<String> },
    Denied { reason: String },
    Refused(Refusal),
    Expired,
    Cancelled,
    Unavailable { detail: String },
}

/// Why there can be no desk. The broker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeskError {
    #[error("`hub.url`")]
    Address(#[source] BadAddress),
    #[error("the hub's client")]
    SetUp(#[source] SetUpError),
    #[error("`{path}` cannot be read; `sealward agents add` makes a token")]
    Token {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{0}` holds no token")]
    NoToken(PathBuf),
}

/// The desk of one broker.
#[derive(Debug)]
pub(crate) struct Desk {
    identity: String,
    approvers: PathBuf,
    replay: PathBuf,
    hub: Hub,
    room: Arc<Room>,
}

/// Calls that wait, and who wakes whom.
#[derive(Debug, Default)]
struct Room {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    calls: HashMap<ItemId, oneshot::Sender<AskState>>,
    /// Came since the last look; the hub may have answered before we followed.
    new: Vec<ItemId>,
    following: bool,
}

impl Desk {
    pub(crate) fn open(config: &Config, hub: &HubConfig) -> Result<Self, DeskError> {
        let address = Address::parse(&hub.url).map_err(DeskError::Address)?;
        let path = &hub.token_file;
        let text =
            fs::read_to_string(path).map_err(|source| DeskError::Token { path: path.clone(), source })?;
        let token = Token::parse(text.trim()).ok_or_else(|| DeskError::NoToken(path.clone()))?;
        Ok(Self {
            identity: hub.identity.clone(),
            approvers: config.approvers(),
            replay: config.replay(),
            hub: Hub::new(address, Some(token), None).map_err(DeskError::SetUp)?,
            room: Arc::new(Room::default()),
        })
    }

    /// Asks a person and waits. Whatever comes back was checked here; nothing else is an approval.
    pub(crate) async fn ask(&self, item: &Item, quorum: u32, human_only: bool, link: &Link) -> Answer {
        let (Item::Call(call), Ok(id)) = (item, ItemId::parse(item.id())) else {
            return unavailable("it is no call");
        };
        let pinned = Approvers::read(&self.approvers).map_or(1, |pins| pins.quorum(item.kind()));
        let ask = NewAsk {
            kind: item.kind(),
            quorum: quorum.max(pinned),
            id: call.id.clone(),
            executor: call.executor.clone(),
            session: call.session.clone(),
            tool: call.tool.clone(),
            input: None,
            cwd: None,
            arguments: Some(call.arguments.clone()),
            why: None,
            host: None,
            thread: None,
            guard: Some(Guard::System),
        };
        let told = self.follow(&id);
        if let Err(answer) = self.hand_over(ask).await {
            self.forget(&id);
            return answer;
        }
        let state = tokio::select! {
            biased;
            () = link.cancelled() => None,
            state = tokio::time::timeout(DEADLINE, told) => Some(state),
        };
        self.forget(&id);
        match state {
            None => {
                self.withdraw(id).await;
                Answer::Cancelled
            }
            Some(Ok(Ok(state))) => self.judge(item, quorum, human_only, &state).await,
            Some(Ok(Err(_)) | Err(_)) => {
                self.withdraw(id).await;
                unavailable("the hub cannot be reached")
            }
        }
    }

    async fn hand_over(&self, ask: NewAsk) -> Result<(), Answer> {
        for left in (0..TRIES).rev() {
            let (hub, ask) = (self.hub.clone(), ask.clone());
            match blocking(move || hub.ask(&ask, LIMIT)).await {
                Some(Ok(_)) => return Ok(()),
                Some(Err(CallError::Refused(refused))) => {
                    tracing::warn!(%refused, "the hub refused a call");
                    return Err(unavailable("the hub did not take it"));
                }
                Some(Err(error)) => tracing::warn!(error = %Chain(&error), "the hub is away"),
                None => return Err(unavailable("the broker is stopping")),
            }
            if left > 0 {
                tokio::time::sleep(AWAY).await;
            }
        }
        Err(unavailable("the hub cannot be reached"))
    }

    async fn withdraw(&self, id: ItemId) {
        let hub = self.hub.clone();
        if let Some(Err(error)) = blocking(move || hub.close(&id, Status::Cancelled, LIMIT)).await {
            // It lapses by itself; and a proof for it finds nobody.
            tracing::warn!(error = %Chain(&error), "a withdrawn call stays in the inbox until it lapses");
        }
    }

    /// Holds what the hub handed over against our own pins.
    async fn judge(&self, item: &Item, quorum: u32, human_only: bool, state: &AskState) -> Answer {
        match state.status {
            Status::Allowed => {
                let Some(proof) = &state.proof else { return Answer::Refused(Refusal::NoSignature) };
                self.check(item, quorum, human_only, proof.get().as_bytes()).await
            }
            Status::Denied => {
                let quoted = state.denial.as_ref().and_then(|denial| {
                    let pins = Approvers::read(&self.approvers).ok()?;
                    let proof = denial.proof.get().as_bytes();
                    proof::check_denial(&pins, Some(&self.identity), item, proof, clock::now()).ok()
                });
                Answer::Denied { reason: quoted.map_or_else(String::new, |denial| denial.reason) }
            }
            Status::Expired => Answer::Expired,
            Status::Cancelled | Status::Superseded => Answer::Cancelled,
            Status::Pending | Status::Collecting | Status::Settling => unavailable("the hub said two things"),
        }
    }

    async fn check(&self, item: &Item, quorum: u32, human_only: bool, proof: &[u8]) -> Answer {
        loop {
            let Ok(approvers) = Approvers::read(&self.approvers) else {
                return Answer::Refused(Refusal::NoKeyPinned);
            };
            let check = ExecutorCheck {
                approvers: &approvers,
                identity: Some(&self.identity),
                item,
                quorum_at_least: quorum,
                human_only,
                now: clock::now(),
            };
            let sealed = match check.check(proof) {
                Ok(sealed) => sealed,
                Err(Refusal::NotYet) => match check.ready_at(proof) {
                    Some(at) => {
                        let wait = u64::try_from(at.since(clock::now())).unwrap_or(0);
                        tokio::time::sleep(Duration::from_millis(wait.saturating_add(1))).await;
                        continue;
                    }
                    None => return Answer::Refused(Refusal::NotYet),
                },
                Err(refusal) => return Answer::Refused(refusal),
            };
            let Ok(store) = ReplayStore::open(&self.replay) else {
                return Answer::Refused(Refusal::StoreDamaged);
            };
            return match sealed.claim(&store, clock::now()) {
                Ok(authorized) => {
                    let persons = proof::persons(authorized.signers());
                    let signers = authorized.signers().iter().map(|signer| signer.label.clone()).collect();
                    Answer::Approved { authorized, persons, signers }
                }
                Err(refusal) => Answer::Refused(refusal),
            };
        }
    }

    fn follow(&self, id: &ItemId) -> oneshot::Receiver<AskState> {
        let (tell, told) = oneshot::channel();
        let mut waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.calls.insert(id.clone(), tell);
        waiting.new.push(id.clone());
        if !waiting.following {
            let follower = Follower {
                hub: self.hub.clone(),
                room: Arc::clone(&self.room),
                approvers: self.approvers.clone(),
                identity: self.identity.clone(),
            };
            // Without a thread the wait ends at its deadline, as unavailable.
            waiting.following =
                thread::Builder::new().name("desk".to_owned()).spawn(move || follower.run()).is_ok();
        }
        self.room.changed.notify_all();
        told
    }

    fn forget(&self, id: &ItemId) {
        let mut waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.calls.remove(id);
        waiting.new.retain(|new| new != id);
    }
}

/// Follows the hub's events for everybody who waits.
struct Follower {
    hub: Hub,
    room: Arc<Room>,
    approvers: PathBuf,
    identity: String,
}

impl Follower {
    fn run(self) {
        let (mut since, mut trusted, mut away) = (0, 0, false);
        loop {
            self.wait_for_calls();
            match self.round(&mut since, &mut trusted, away) {
                Ok(()) => away = false,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "the hub is away; calls wait on");
                    away = true;
                    self.pause();
                }
            }
        }
    }

    /// One wait for events, then the state of every call that an event names, that is new, or, after the hub was away, of all.
    fn round(&self, since: &mut u64, trusted: &mut u64, all: bool) -> Result<(), CallError> {
        self.take_over_trust(trusted)?;
        let wait_s = if all || self.has_new() { 0 } else { POLL_S };
        let happened = self.hub.settled_ids(since, wait_s, LIMIT + Duration::from_secs(wait_s))?;
        for id in self.due(&happened, all) {
            let state = self.hub.ask_state(&id, 0, LIMIT)?;
            if !state.status.waits() {
                let mut waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(tell) = waiting.calls.remove(&id) {
                    // Whoever waited may just have been cancelled.
                    drop(tell.send(state));
                }
            }
        }
        Ok(())
    }

    fn take_over_trust(&self, trusted: &mut u64) -> Result<(), CallError> {
        let trust = self.hub.trust(*trusted, LIMIT)?;
        for proof in &trust.proofs {
            let outcome = proof::trust::apply(
                &self.approvers,
                proof.proof.get().as_bytes(),
                &self.identity,
                clock::now(),
            );
            if let Err(error) = outcome {
                tracing::warn!(error = %Chain(&error), verb = proof.verb, "a pin or revocation of the hub was refused");
            }
        }
        *trusted = trust.next;
        Ok(())
    }

    fn wait_for_calls(&self) {
        let mut waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.calls.is_empty() {
            waiting = self.room.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pause(&self) {
        let waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.room.changed.wait_timeout(waiting, AWAY));
    }

    fn has_new(&self) -> bool {
        !self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner).new.is_empty()
    }

    fn due(&self, happened: &[ItemId], all: bool) -> Vec<ItemId> {
        let mut waiting = self.room.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let new = std::mem::take(&mut waiting.new);
        if all {
            return waiting.calls.keys().cloned().collect();
        }
        let mut due: Vec<ItemId> =
            happened.iter().chain(&new).filter(|id| waiting.calls.contains_key(*id)).cloned().collect();
        due.sort();
        due.dedup();
        due
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn unavailable(detail: &str) -> Answer {
    Answer::Unavailable { detail: detail.to_owned() }
}

/// An error with its causes, in one line.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
