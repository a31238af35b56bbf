//! `sealward doctor`: looks at everything the road stands on, and says of each fault what mends it.
//!
//! It changes nothing. What it looks at is in the modules below, one for each neighbour: this home, the hub, who
//! listens on its port, the agent's settings.

mod agent;
mod home;
mod hub;
mod listeners;

use std::fmt;
use std::path::PathBuf;

use executor::Home as ExecutorHome;
use serde::Serialize;

use crate::clock;
use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str =
    "Example:\n  sealward doctor\n\nExit 1 when something is bad; a warning alone exits 0.";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// One JSON object in place of lines
    #[arg(long)]
    json: bool,
    /// The agent's settings file [default: Claude Code's own for this user]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Ok,
    /// It works, but somebody should look.
    Warn,
    /// Calls are blocked, or not gated at all.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// What was looked at: a stable word for programs.
    check: &'static str,
    level: Level,
    /// What was seen.
    what: String,
    /// What mends it; empty where nothing has to be mended.
    remedy: String,
}

impl Finding {
    fn ok(check: &'static str, what: impl fmt::Display) -> Self {
        Self { check, level: Level::Ok, what: what.to_string(), remedy: String::new() }
    }

    fn warn(check: &'static str, what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self { check, level: Level::Warn, what: what.to_string(), remedy: remedy.to_string() }
    }

    fn bad(check: &'static str, what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self { check, level: Level::Bad, what: what.to_string(), remedy: remedy.to_string() }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    bad: usize,
    warn: usize,
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let findings = look(args, home);
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (bad, warn) = (count(Level::Bad), count(Level::Warn));
    if args.json {
        out.json(&Report { findings: &findings, bad, warn });
    } else {
        for finding in &findings {
            out.line(finding);
        }
        out.line(format_args!("\n{}", summary(bad, warn)));
    }
    Ok(if bad == 0 { Exit::Done } else { Exit::Refused })
}

fn look(args: &Args, home: &Home) -> Vec<Finding> {
    let now = clock::now();
    let mut findings = Vec::new();
    match ExecutorHome::open(home.dir()) {
        Ok(executor) => {
            home::look(&executor, now, &mut findings);
            hub::look(&executor, now, &mut findings);
            listeners::look(executor.hub(), &mut findings);
        }
        Err(error) => findings.push(Finding::bad(
            "home",
            crate::output::Chain(&error),
            "Run `sealward up` once, or give the right --home; until then every gated call is blocked.",
        )),
    }
    agent::look(args.settings.as_deref(), home, &mut findings);
    findings
}

fn summary(bad: usize, warn: usize) -> String {
    let many =
        |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    match (bad, warn) {
        (0, 0) => "All is well.".to_owned(),
        (0, warn) => format!("It works; {} to look at.", many(warn, "warning")),
        (bad, warn) => format!("{} to mend, {}.", many(bad, "fault"), many(warn, "warning")),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Bad => "BAD ",
        };
        write!(f, "{mark}  {:10} {}", self.check, client::shown(&self.what))?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "\n                 → {}", self.remedy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_line_and_its_remedy_another() {
        assert_eq!(Finding::ok("pins", "2 keys").to_string(), "ok    pins       2 keys");
        assert_eq!(
            Finding::bad("token", "gone", "Make one.").to_string(),
            "BAD   token      gone\n                 → Make one."
        );
    }

    #[test]
    fn the_summary_counts_faults_and_warnings() {
        assert_eq!(summary(0, 0), "All is well.");
        assert_eq!(summary(0, 1), "It works; 1 warning to look at.");
        assert_eq!(summary(2, 1), "2 faults to mend, 1 warning.");
    }
}
