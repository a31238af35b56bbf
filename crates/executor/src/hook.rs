//! The hook: an agent's event comes in, at most one JSON object in the agent's own form goes out.
//!
//! The story is `decide`: read the event, look at this machine's grants, ask the hub, check the proof, answer. Around
//! it [`run`] sees to it that an answer exists before the agent stops listening, whatever happens inside: agents
//! take silence for consent.
//!
//! Not here: any printing and any reading of the environment; the command line hands everything in.

mod answer;
mod asking;
mod budget;
mod event;
mod messages;
mod shape;
mod words;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use client::Hub;
use policy::{Evidence, Person, Reviewer, Verdict, WithoutGrant};
use proto::limits::HOOK_STDIN_BYTES;
use proto::{AskItem, Item, Status};

pub use answer::{Answer, Ruling};
pub use budget::WAIT_S_MIN;
pub use shape::{Members, Role, SHAPES, Shape};

use crate::clock::Clock;
use crate::grants;
use crate::home::Home;
use crate::kept::{Call, Kept};
use asking::Asking;
use budget::Budget;
use event::{BadEvent, Event, Unread};
use words::{Ending, chain};

/// One call of the hook.
pub struct Job {
    /// The agent's row.
    pub shape: &'static Shape,
    /// The executor's home.
    pub home: PathBuf,
    /// The agent's own time-out.
    pub wait: Duration,
    /// Sixteen bytes of the system's randomness.
    pub random: [u8; 16],
    /// Where the event comes from.
    pub stdin: Box<dyn Read + Send>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("agent", &self.shape.agent)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// What the hook prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// At most one JSON object, without a line end.
    pub stdout: Option<String>,
    /// Lines for people.
    pub stderr: Vec<String>,
    /// 0; or 2 where the agent could not be told in its own form for certain, which blocks as well.
    pub exit: u8,
}

/// Runs one hook, and comes back before the agent's time is over.
///
/// A thread does the work; this one watches the clock. A panic, a stalled disk or a hub that trickles ends as a
/// block, never as silence at a gate.
#[must_use]
pub fn run(job: Job, clock: &Arc<dyn Clock>) -> Outcome {
    let (shape, wait) = (job.shape, job.wait);
    let role = Arc::new(OnceLock::new());
    let (send, receive) = mpsc::channel();
    let worker = {
        let role = Arc::clone(&role);
        let clock = Arc::clone(clock);
        thread::Builder::new().name("hook".to_owned()).spawn(move || {
            // Nobody listens any more when the time is over; the process ends then anyway.
            drop(send.send(decide(job, &*clock, &role)));
        })
    };
    let lost = match worker {
        Err(error) => format!("no thread could be started: {error}"),
        Ok(_) => match receive.recv_timeout(budget::last_end(wait).saturating_sub(clock.elapsed())) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => "it did not come to an end in its time".to_owned(),
            Err(RecvTimeoutError::Disconnected) => "it broke down".to_owned(),
        },
    };
    let ending = Ending::Unready(format!("the hook failed: {lost}."));
    // Without a role the event may have been a gate, and a gate must block.
    let role = role.get().copied().unwrap_or(Role::Gate);
    let exit = if role == Role::Gate { 2 } else { 0 };
    Outcome { exit, ..told(shape, role, &ending, Extras::default()) }
}

/// What rides along with an ending.
#[derive(Default)]
struct Extras {
    input: String,
    notes: Vec<String>,
    log: Vec<String>,
}

/// An ending in the agent's form, its reason on stderr too.
fn told(shape: &Shape, role: Role, ending: &Ending, extras: Extras) -> Outcome {
    let Extras { input, notes, log: mut stderr } = extras;
    let reason = ending.reason();
    let ruling = ending.ruling(role);
    if !matches!(ending, Ending::GrantAllows) && role != Role::Done {
        stderr.push(reason.clone());
    }
    let stdout = (shape.form)(role, &Answer { ruling, reason, notes, input: &input });
    Outcome { stdout, stderr, exit: 0 }
}

/// The whole story of one event.
fn decide(job: Job, clock: &dyn Clock, role: &OnceLock<Role>) -> Outcome {
    let Job { shape, home, wait, random, stdin } = job;
    let event = match read(shape, stdin) {
        Ok(event) => event,
        Err(unread) => return unreadable(shape, unread),
    };
    role.get_or_init(|| event.role);
    let mut extras = Extras { input: event.input.clone(), ..Extras::default() };
    let ending = match event.role {
        Role::Done => return close(shape, &home, &event, Budget::new(clock, wait)),
        Role::Gate | Role::Request => {
            ask(shape, &home, &event, Budget::new(clock, wait), random, &mut extras)
        }
    };
    told(shape, event.role, &ending, extras)
}

/// A call at a gate or before a dialog.
fn ask(
    shape: &'static Shape,
    dir: &Path,
    event: &Event,
    budget: Budget<'_>,
    random: [u8; 16],
    extras: &mut Extras,
) -> Ending {
    let seat = match seat(dir, event, &mut extras.log) {
        Ok(seat) => seat,
        Err(what) => return Ending::Unready(what),
    };
    let judged = match judge(&seat, event, budget, &mut extras.log) {
        Ok(judged) => judged,
        Err(ending) => return ending,
    };
    let hub = match connect(&seat.home, &mut extras.log) {
        Ok(hub) => hub,
        Err(what) => return Ending::Unready(what),
    };
    let Seat { home, identity, .. } = &seat;
    let Judged { item, persons, human_only } = judged;
    let log = &mut extras.log;
    let asked =
        Asking { shape, home, hub: &hub, identity, event, item, persons, human_only, budget, random, log };
    let ending = asked.run();
    if event.role == Role::Gate && !matches!(ending, Ending::Unavailable(_) | Ending::Unready(_)) {
        extras.notes = messages::fetch(&hub, home, identity, budget, &mut extras.log);
    }
    ending
}

/// A call that the grants leave to a person.
struct Judged {
    item: AskItem,
    persons: u32,
    human_only: bool,
}

/// Asks this machine's grants; what they settle is an ending.
fn judge(seat: &Seat, event: &Event, budget: Budget<'_>, log: &mut Vec<String>) -> Result<Judged, Ending> {
    let grants = grants::of_hook(&seat.home).map_err(|error| {
        log.push(chain(&error));
        Ending::Unready("this machine's grants cannot be read.".to_owned())
    })?;
    let ask = AskItem {
        id: String::new(),
        executor: seat.identity.clone(),
        agent: String::new(),
        session: event.session.clone(),
        tool: event.tool.clone(),
        input: event.input.clone(),
        cwd: seat.cwd.clone(),
    };
    let item = Item::Ask(ask.clone());
    let paths = grants::real_paths(&item);
    let decision = policy::decide(&Evidence {
        item: &item,
        grants: &grants,
        paths: &paths,
        now: budget.clock.now(),
        without_grant: WithoutGrant::Ask,
        rule: None,
        reviewer: Reviewer::Silent,
        person: Person::Silent,
    });
    match decision.verdict {
        Verdict::Allow(_) => Err(Ending::GrantAllows),
        Verdict::Deny(reason) => Err(Ending::GrantDenies(reason)),
        Verdict::Escalate(assurance) => Ok(Judged {
            human_only: grants.list().find(&item, paths.found()).is_some(),
            persons: assurance.persons(),
            item: ask,
        }),
    }
}

/// Where and as whom a call is asked for.
struct Seat {
    home: Home,
    identity: String,
    /// The event's folder, made real: links in it are resolved before anybody is asked.
    cwd: String,
}

/// What is wrong with the seat is said in words fit for the agent; the details go to `log`.
fn seat(dir: &Path, event: &Event, log: &mut Vec<String>) -> Result<Seat, String> {
    let home = Home::open(dir).map_err(|error| {
        log.push(chain(&error));
        "this executor's home cannot be used.".to_owned()
    })?;
    let Some(identity) = home.identity().hook.clone() else {
        log.push(format!("`[identity] hook` is missing in `{}`", dir.join("executor.toml").display()));
        return Err("this executor has no name for its hook.".to_owned());
    };
    if !Path::new(&event.cwd).is_absolute() {
        return Err("the call's working directory is not an absolute path.".to_owned());
    }
    let real = std::fs::canonicalize(&event.cwd).map_err(|error| {
        log.push(format!("`{}` cannot be made real: {error}", client::shown(&event.cwd)));
        "the call's working directory cannot be found.".to_owned()
    })?;
    let cwd = real
        .into_os_string()
        .into_string()
        .map_err(|_| "the path of the call's working directory is not UTF-8.".to_owned())?;
    Ok(Seat { home, identity, cwd })
}

fn connect(home: &Home, log: &mut Vec<String>) -> Result<Hub, String> {
    let token = home.token().map_err(|error| {
        log.push(chain(&error));
        "this executor's token cannot be used.".to_owned()
    })?;
    Hub::new(home.hub().clone(), Some(token), home.ca_file()).map_err(|error| {
        log.push(chain(&error));
        "no trusted certificates for the hub.".to_owned()
    })
}

/// A call has run: asks that were still open for it were answered at the agent's own terminal.
///
/// Nothing here can matter to the agent any more, so nothing is printed for it, and a hub that is away is only told
/// to people.
fn close(shape: &'static Shape, dir: &Path, event: &Event, budget: Budget<'_>) -> Outcome {
    let mut log = Vec::new();
    if let Err(what) = try_close(shape, dir, event, budget, &mut log) {
        log.push(format!("Sealward: an answered ask stays open until it expires: {what}"));
    }
    Outcome { stdout: None, stderr: log, exit: 0 }
}

fn try_close(
    shape: &'static Shape,
    dir: &Path,
    event: &Event,
    budget: Budget<'_>,
    log: &mut Vec<String>,
) -> Result<(), String> {
    let home = Home::open(dir).map_err(|error| chain(&error))?;
    let call = Call { agent: shape.agent, session: &event.session, tool: &event.tool, input: &event.input };
    let ended = Kept::new(home.kept()).ended(&call, &event.call).map_err(|error| chain(&error))?;
    if ended.is_empty() {
        return Ok(());
    }
    let hub = connect(&home, log)?;
    for id in ended {
        hub.close(&id, Status::Superseded, budget.call()).map_err(|error| chain(&error))?;
    }
    Ok(())
}

/// Reads all of standard input, up to the limit and one byte more.
fn read(shape: &Shape, stdin: Box<dyn Read + Send>) -> Result<Event, Unread> {
    let mut bytes = Vec::new();
    let most = u64::try_from(HOOK_STDIN_BYTES).unwrap_or(u64::MAX);
    match stdin.take(most.saturating_add(1)).read_to_end(&mut bytes) {
        Ok(_) => Event::read(shape, &bytes),
        Err(error) => Err(Unread { role: None, cause: BadEvent::Stdin(error.to_string()) }),
    }
}

/// An event that could not be read: an unknown one gets no decision; any other may have been a gate, so it blocks.
fn unreadable(shape: &Shape, unread: Unread) -> Outcome {
    let Unread { role, cause } = unread;
    if matches!(cause, BadEvent::Unknown(_)) {
        return Outcome {
            stdout: None,
            stderr: vec![client::shown(&format!("Sealward: {cause}; no decision"))],
            exit: 0,
        };
    }
    let words = match &cause {
        // The parser's words may quote the event, and the event is the agent's.
        BadEvent::NotJson(_) => "the event is not one JSON object with every member named once.".to_owned(),
        BadEvent::Stdin(_) => "the event could not be read.".to_owned(),
        BadEvent::TooLarge | BadEvent::NotText | BadEvent::Member(_) | BadEvent::Unknown(_) => {
            format!("{cause}.")
        }
    };
    let extras = Extras { log: vec![client::shown(&cause.to_string())], ..Extras::default() };
    let exit = if role.is_none() { 2 } else { 0 };
    Outcome { exit, ..told(shape, role.unwrap_or(Role::Gate), &Ending::Unready(words), extras) }
}
