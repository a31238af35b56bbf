//! `sealward hook AGENT`: the agent's side door. Its answer is `executor::hook`'s; this hands in the command line,
//! standard input, the clock and the system's randomness, and prints.
//!
//! Whatever goes wrong here ends with exit code 2 and never with another failure's code: an agent takes exit 2 at
//! its gate for a no, and any other failure for no word at all.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use executor::Clock;
use executor::hook::{self, Job, SHAPES, Shape, WAIT_S_MIN};

use crate::chance;
use crate::clock::SystemClock;
use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward hook claude --wait 600 < event.json\n\nAgents run this; `sealward connect claude` writes it into their settings.\nIt prints one JSON object in the agent's own form, or nothing; the reason is on stderr.";

/// Claude Code gives a hook ten minutes unless its settings say otherwise.
pub(crate) const WAIT_S: u64 = 600;
/// A day: nobody's agent waits longer, and the wait stays far from any overflow.
pub(crate) const WAIT_S_MAX: u64 = 86_400;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Which agent speaks
    #[arg(value_name = "AGENT", value_parser = agent)]
    agent: Agent,
    /// The agent's own time-out for this hook; an answer is there seconds before it
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_S, value_parser = clap::value_parser!(u64).range(WAIT_S_MIN..=WAIT_S_MAX))]
    wait: u64,
}

/// An agent we know.
#[derive(Clone, Copy)]
pub(crate) struct Agent(pub(crate) &'static Shape);

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.agent)
    }
}

/// Reads the name of an agent.
pub(crate) fn agent(name: &str) -> Result<Agent, String> {
    let known: Vec<&str> = SHAPES.iter().map(|shape| shape.agent).collect();
    Shape::of(name).map(Agent).ok_or_else(|| format!("the agents are: {}", known.join(", ")))
}

/// Nothing here can be left to the agent.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error("the answer could not be written, so the call is blocked")]
    Write(#[source] io::Error),
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    answer(args.agent.0, home.dir(), Duration::from_secs(args.wait), out)
}

fn answer(shape: &'static Shape, home: &Path, wait: Duration, out: &mut Output) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let random = chance::bytes().map_err(Failure::usage)?;
    let job = Job { shape, home: home.to_path_buf(), wait, random, stdin: Box::new(io::stdin()) };
    let outcome = hook::run(job, &clock);
    for line in &outcome.stderr {
        out.note(line);
    }
    if let Some(object) = &outcome.stdout {
        out.raw(format!("{object}\n").as_bytes()).map_err(|error| Failure::usage(HookError::Write(error)))?;
    }
    Ok(if outcome.exit == 0 { Exit::Done } else { Exit::Other(outcome.exit) })
}
