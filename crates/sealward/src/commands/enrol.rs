//! `sealward enrol`: a link for a further device, and the question at this terminal whether its key is pinned.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::clock;
use crate::commands::health;
use crate::commands::up;
use crate::desk::enrolment;
use crate::desk::terminal::Terminal;
use crate::desk::{Desk, Settled};
use crate::home::Home;
use crate::home::layout;
use crate::output::{Exit, Failure, Output};
use crate::signals;

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward enrol\n  sealward enrol --person ada";

/// How often proposals are looked for.
const LOOK: Duration = Duration::from_millis(200);

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Whose device it is; devices of one person count once where two persons must approve
    #[arg(long, value_name = "PERSON")]
    person: Option<String>,
}

/// No link could be made.
#[derive(Debug, thiserror::Error)]
enum EnrolError {
    #[error("no hub answers at {listen}; start one with `sealward up`")]
    NoHub { listen: std::net::SocketAddr },
    #[error("the link lapsed and no device proposed a key; nothing was pinned")]
    Lapsed,
    #[error("the terminal was closed; nothing was pinned")]
    Closed,
}

enum Event {
    Typed(Option<String>),
    Stop,
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let config = layout::existing(home)?;
    if !health::is_well(config.listen) {
        return Err(Failure::cannot(EnrolError::NoHub { listen: config.listen }));
    }
    let terminal = Terminal::open().map_err(Failure::cannot)?;
    let (events, arriving) = mpsc::channel();
    let stops = events.clone();
    signals::watch(move |_| drop(stops.send(Event::Stop))).map_err(Failure::cannot)?;
    terminal.lines(events, Event::Typed).map_err(Failure::cannot)?;

    let origin = config.origin.as_str().to_owned();
    let link = enrolment::new_link(home, &origin, clock::now()).map_err(Failure::cannot)?;
    let lapses = clock::now().plus(enrolment::LINK_MS);
    out.line(format_args!("enrol  {link}"));
    out.line("The link works once, within 10 minutes. Open it on the new device, then come back here to pin its key.");
    let mut desk =
        Desk::new(home.clone(), Some(origin), Some(terminal), false).of_person(args.person.clone());
    loop {
        let now = clock::now();
        let settled = match arriving.recv_timeout(LOOK) {
            Ok(Event::Typed(Some(line))) => desk.answer(&line, now),
            Ok(Event::Typed(None) | Event::Stop) | Err(RecvTimeoutError::Disconnected) => {
                enrolment::withdraw(home).map_err(Failure::cannot)?;
                return Err(Failure::refused(EnrolError::Closed));
            }
            Err(RecvTimeoutError::Timeout) => desk.look(now),
        };
        match settled.map_err(Failure::cannot)? {
            Some(settled) => {
                up::tell(&settled, out);
                return Ok(if matches!(settled, Settled::Pinned { .. }) {
                    Exit::Done
                } else {
                    Exit::Refused
                });
            }
            None if !desk.is_asking() && now > lapses => {
                enrolment::withdraw(home).map_err(Failure::cannot)?;
                return Err(Failure::refused(EnrolError::Lapsed));
            }
            None => {}
        }
    }
}
