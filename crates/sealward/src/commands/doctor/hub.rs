//! The hub as this machine's token sees it: there, of one clock, willing.

use std::time::Duration;

use client::{CallError, Hub};
use executor::Home;
use proto::api::Role;
use proto::{Timestamp, limits};

use super::Finding;
use crate::output::Chain;

/// A hub that is well answers in milliseconds.
const LIMIT: Duration = Duration::from_secs(5);
/// Clocks this far apart still work, ms, but drift on.
const DRIFT_MS: i64 = limits::SKEW_MS / 2;

pub(super) fn look(home: &Home, now: Timestamp, findings: &mut Vec<Finding>) {
    let token = match home.token() {
        Ok(token) => token,
        Err(error) => {
            findings.push(Finding::bad(
                "token",
                Chain(&error),
                format_args!(
                    "`{}` must hold a hook's token and be yours alone (chmod 600).",
                    home.token_file().display()
                ),
            ));
            return;
        }
    };
    let hub = match Hub::new(home.hub().clone(), Some(token), home.ca_file()) {
        Ok(hub) => hub,
        Err(error) => {
            findings.push(Finding::bad(
                "hub",
                Chain(&error),
                "Name the hub's certificate: `ca_file` in executor.toml.",
            ));
            return;
        }
    };
    let me = match hub.me(LIMIT) {
        Ok(me) => me,
        Err(error) => return findings.push(unwilling(&error)),
    };
    findings.push(Finding::ok("hub", format_args!("{} answers at {}", me.hub, home.hub())));
    let identity = home.identity().hook.as_deref().unwrap_or_default();
    if me.role != Role::Hook || !me.executors.iter().any(|known| known == identity) {
        findings.push(Finding::bad(
            "token",
            format_args!("the token `{}` ({}) may not ask for `{identity}`", me.name, me.role.as_str()),
            format_args!("sealward agents add NAME --role hook --executor {identity}"),
        ));
    } else {
        findings.push(Finding::ok("token", format_args!("agents here are called `{}`", me.name)));
    }
    findings.push(clock(me.now.since(now)));
    if me.paused {
        findings.push(Finding::warn(
            "paused",
            "the hub is paused: nothing is released",
            format_args!("Resume at {}", me.origin),
        ));
    }
}

fn unwilling(error: &CallError) -> Finding {
    let what = Chain(error);
    match error {
        CallError::Unreachable { .. } | CallError::TooSlow { .. } => {
            Finding::bad("hub", what, "Start it: `sealward up`. Until then every gated call is blocked.")
        }
        CallError::BadAnswer { .. } => Finding::bad(
            "hub",
            what,
            "Another program has the port; stop it, or change the port with `sealward up --port`.",
        ),
        CallError::Refused(refused) if matches!(refused.status, 401 | 403) => Finding::bad(
            "token",
            what,
            "Make a new one with `sealward agents add NAME --role hook --executor IDENTITY` and put it into the token file.",
        ),
        CallError::Refused(_) => Finding::bad("hub", what, "Look at the hub's log."),
    }
}

fn clock(ahead_ms: i64) -> Finding {
    let off = ahead_ms.abs();
    let what = format!("the hub's clock and this one differ by {:.1} s", off_s(off));
    if off > limits::SKEW_MS {
        Finding::bad("clock", what, "Set the one that is wrong; until then every gated call is blocked.")
    } else if off > DRIFT_MS {
        Finding::warn("clock", what, "Over 60 s nothing is allowed any more; turn on time synchronisation.")
    } else {
        Finding::ok("clock", what)
    }
}

/// Milliseconds as seconds for people.
fn off_s(ms: i64) -> f64 {
    Duration::from_millis(ms.unsigned_abs()).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::clock;

    #[test]
    fn a_clock_is_bad_only_beyond_the_skew_that_proofs_allow() {
        for (ahead_ms, level) in [
            (0, Level::Ok),
            (-30_000, Level::Ok),
            (30_001, Level::Warn),
            (-60_000, Level::Warn),
            (60_001, Level::Bad),
        ] {
            assert_eq!(clock(ahead_ms).level, level, "{ahead_ms}");
        }
    }
}
