//! `sealward up`: lays the home out, runs the hub as a child, and asks at this terminal whether a proposed key is pinned.
//!
//! It is a parent for one reason: the hub's process must not be the one that writes an executor's pins. Nothing here serves
//! requests. The broker is a second child, started beside the hub and reporting its end to the same queue.

use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::clock;
use crate::commands::agents;
use crate::commands::health;
use crate::desk::enrolment;
use crate::desk::terminal::Terminal;
use crate::desk::{Desk, Settled};
use crate::home::Home;
use crate::home::layout::{self, Laid, PageName, Wish};
use crate::home::lock::Lock;
use crate::output::{Chain, Exit, Failure, Output};
use crate::signals;

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward up\n  sealward up --port 0 --name localhost";

/// How often proposals are looked for: quick for a person who has just tapped, one `readdir` of a folder mostly empty.
const LOOK: Duration = Duration::from_millis(200);
/// How often a starting hub is asked whether it is well.
const KNOCK: Duration = Duration::from_millis(25);
/// How long a hub may take to start: migrations of a large database are the slow part.
const START: Duration = Duration::from_secs(30);

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Port of the page and the API; 0 picks a free one. Remembered [default: 8787]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Under which name the browser finds the page. Remembered [default: seal]
    #[arg(long, value_enum, value_name = "NAME")]
    name: Option<PageName>,
    /// Pin the first proposed key without asking, if none is pinned yet: for demos and tests only
    #[arg(long)]
    pin_first: bool,
}

/// The hub did not come up, or the parent could not look after it.
#[derive(Debug, thiserror::Error)]
enum UpError {
    #[error("cannot start the hub's process")]
    Spawn { source: io::Error },
    #[error("the hub does not answer at {listen} after {} s", START.as_secs())]
    Silent { listen: SocketAddr },
    #[error("cannot watch for signals")]
    Signals { source: io::Error },
}

/// What the parent waits for.
enum Event {
    Typed(Option<String>),
    Ended(io::Result<ExitStatus>),
    BrokerEnded(io::Result<ExitStatus>),
    Signal(Signal),
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let host = layout::host_word(&rustix::system::uname().nodename().to_string_lossy());
    let wish = Wish { port: args.port, name: args.name };
    crate::home::files::folder(&home.hub()).map_err(Failure::cannot)?;
    let _lock = Lock::take(home).map_err(Failure::cannot)?;
    let laid = layout::lay_out(home, wish, &host, clock::now())?;
    layout::both_free(laid.hub.listen)?;
    agents::first_tokens(home, &laid)?;

    let (events, arriving) = mpsc::channel();
    let sender = events.clone();
    signals::watch(move |signal| drop(sender.send(Event::Signal(signal))))
        .map_err(|source| Failure::cannot(UpError::Signals { source }))?;
    let hub = start_hub(home, events.clone()).map_err(Failure::cannot)?;
    let mut parent = Parent { hub, broker: None, events: events.clone(), arriving, stopping: false };
    if let Some(exit) = parent.await_health(laid.hub.listen, out)? {
        return Ok(exit);
    }
    parent.broker = start_broker(home, &laid, parent.events.clone(), out);
    greet(home, &laid, out)?;
    let terminal = Terminal::open().ok();
    match &terminal {
        Some(terminal) => terminal.lines(events, Event::Typed).map_err(Failure::cannot)?,
        None if args.pin_first => {}
        None => out.note("no terminal here: pin a proposed key at one, with `sealward approvers pin`"),
    }
    let origin = laid.hub.origin.as_str().to_owned();
    parent.attend(Desk::new(home.clone(), Some(origin), terminal, args.pin_first), out)
}

fn greet(home: &Home, laid: &Laid, out: &mut Output) -> Result<(), Failure> {
    let origin = laid.hub.origin.as_str();
    let link = enrolment::new_link(home, origin, clock::now()).map_err(Failure::cannot)?;
    out.line("Sealward is up.");
    out.line(format_args!("  page   {origin}"));
    out.line(format_args!("  home   {}", home.dir().display()));
    out.line(format_args!("  enrol  {link}"));
    out.line(
        "The link works once, within 10 minutes. Open it, make a passkey, then come back here to pin it.",
    );
    out.line("Ctrl-C stops the hub. While it is down, nothing is allowed.");
    Ok(())
}

/// The hub runs in a process group of its own: a Ctrl-C reaches it once, through its parent, and not twice.
fn start_hub(home: &Home, events: Sender<Event>) -> Result<Pid, UpError> {
    let spawn = || -> io::Result<Child> {
        Command::new(std::env::current_exe()?)
            .arg("hub")
            .arg("--home")
            .arg(home.dir())
            .arg("--config")
            .arg(home.hub_config())
            .arg("--parent")
            .arg(std::process::id().to_string())
            // The terminal is for questions; what a hub says in passing would stand between them.
            .args(["--log", "warn"])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
    };
    let mut child = spawn().map_err(|source| UpError::Spawn { source })?;
    let pid = Pid::from_child(&child);
    thread::spawn(move || drop(events.send(Event::Ended(child.wait()))));
    Ok(pid)
}

/// The broker runs as a program of its own beside this one, in a process group of its own. Where it is missing the hub stays
/// useful, so that is said and no more.
fn start_broker(home: &Home, laid: &Laid, events: Sender<Event>, out: &mut Output) -> Option<Pid> {
    laid.broker.as_ref()?;
    let program = std::env::current_exe().ok()?.with_file_name("brokerd");
    if !program.exists() {
        out.note("no `brokerd` beside this program: hooks work, agent loops of your own do not");
        return None;
    }
    let started = Command::new(program)
        .args(["serve", "--config"])
        .arg(home.broker_config())
        .arg("--parent")
        .arg(std::process::id().to_string())
        .args(["--log", "warn"])
        .stdin(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(mut child) => {
            let pid = Pid::from_child(&child);
            thread::spawn(move || drop(events.send(Event::BrokerEnded(child.wait()))));
            Some(pid)
        }
        Err(error) => {
            out.note(format_args!("sealward: the broker cannot be started: {error}"));
            None
        }
    }
}

/// The parent at work: one hub, one broker, one queue of what happens.
struct Parent {
    hub: Pid,
    broker: Option<Pid>,
    events: Sender<Event>,
    arriving: Receiver<Event>,
    stopping: bool,
}

impl Parent {
    /// Waits until the hub answers; an exit means that it ended first.
    fn await_health(&mut self, listen: SocketAddr, out: &mut Output) -> Result<Option<Exit>, Failure> {
        let started = Instant::now();
        while !health::is_well(listen) {
            if started.elapsed() > START {
                self.pass_on(Signal::TERM);
                return Err(Failure::cannot(UpError::Silent { listen }));
            }
            if let Ok(event) = self.arriving.recv_timeout(KNOCK)
                && let Some(exit) = self.take(event, out)
            {
                return Ok(Some(exit));
            }
        }
        Ok(None)
    }

    /// Puts proposals to the person until the hub ends.
    fn attend(&mut self, mut desk: Desk, out: &mut Output) -> Result<Exit, Failure> {
        let mut last_error = String::new();
        loop {
            let settled = match self.arriving.recv_timeout(LOOK) {
                Ok(Event::Typed(Some(line))) => desk.answer(&line, clock::now()),
                Ok(event) => match self.take(event, out) {
                    Some(exit) => return Ok(exit),
                    None => Ok(None),
                },
                Err(RecvTimeoutError::Timeout) if self.stopping => Ok(None),
                Err(RecvTimeoutError::Timeout) => desk.look(clock::now()),
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
            };
            match settled {
                Ok(Some(settled)) => tell(&settled, out),
                Ok(None) => {}
                // A full disk or a lost terminal must not take the hub down: what waits in it is safe.
                // The same trouble is looked at five times a second and told once.
                Err(error) => {
                    let chain = Chain(&error).to_string();
                    if chain != last_error {
                        out.note(format_args!("sealward: {chain}"));
                        last_error = chain;
                    }
                }
            }
        }
    }

    fn take(&mut self, event: Event, out: &mut Output) -> Option<Exit> {
        match event {
            Event::Typed(_) => None,
            Event::Signal(signal) => {
                self.stopping = true;
                self.pass_on(signal);
                None
            }
            Event::Ended(status) => Some(self.ended(status, out)),
            Event::BrokerEnded(status) => {
                self.broker = None;
                if !self.stopping {
                    let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    out.note(format_args!(
                        "sealward: the broker ended by itself ({how}); it is not started again. Its calls are denied until you run `sealward up`"
                    ));
                }
                None
            }
        }
    }

    /// A hub that is gone already needs no signal; its end is on the queue.
    fn pass_on(&self, signal: Signal) {
        kill_process(self.hub, signal).ok();
        if let Some(broker) = self.broker {
            kill_process(broker, signal).ok();
        }
    }

    fn ended(&self, status: io::Result<ExitStatus>, out: &mut Output) -> Exit {
        if let Some(broker) = self.broker {
            // It denies and records what waits; its end needs no witness.
            kill_process(broker, Signal::TERM).ok();
        }
        let code = match &status {
            Ok(status) => code_of(*status),
            Err(_) => 3,
        };
        if !self.stopping {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            out.note(format_args!(
                "sealward: the hub ended by itself ({how}); it is not started again. Nothing is allowed until you run `sealward up`"
            ));
        }
        if code == 0 { Exit::Done } else { Exit::Other(code) }
    }
}

/// The child's own code; for a signal 128 and its number, as shells have it.
fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| status.signal().map(|signal| signal.saturating_add(128)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(3)
}

/// Says how a proposal ended, in one line.
pub(crate) fn tell(settled: &Settled, out: &mut Output) {
    match settled {
        Settled::Pinned { label, fingerprint } => {
            out.line(format_args!(
                "Pinned `{}` ({fingerprint}): it can approve from now on.",
                crate::desk::plain(label)
            ));
        }
        Settled::Rejected { label } => out.line(format_args!(
            "Dropped `{}`; nothing was pinned. `sealward enrol` makes a new link.",
            crate::desk::plain(label)
        )),
        Settled::Unfit { why } => {
            out.line(format_args!(
                "A proposed key cannot be pinned and was dropped: {why}. `sealward enrol` makes a new link."
            ));
        }
        Settled::Elsewhere { label } => {
            out.line(format_args!("`{}` was answered at another terminal.", crate::desk::plain(label)));
        }
    }
}
