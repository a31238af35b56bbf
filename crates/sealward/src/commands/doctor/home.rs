//! This machine's own files: identity, pins, replay store, grants.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use executor::{Home, grants};
use proof::{Approvers, ReplayStore};
use proto::{Kind, Timestamp, limits};

use super::Finding;
use crate::output::Chain;

/// A key that lapses within this is worth a warning, ms: two weeks.
const LAPSES_SOON_MS: i64 = 14 * 24 * 60 * 60 * 1000;

pub(super) fn look(home: &Home, now: Timestamp, findings: &mut Vec<Finding>) {
    findings.push(Finding::ok("home", format_args!("{} is yours alone to change", home.dir().display())));
    let Some(identity) = &home.identity().hook else {
        findings.push(Finding::bad(
            "identity",
            "`executor.toml` gives the hook no name",
            "Add `hook = \"hook@NAME\"` below `[identity]`, with a name that approvers.json lists.",
        ));
        return;
    };
    findings.push(Finding::ok("identity", format_args!("the hook is `{identity}`")));
    pins(home, identity, now, findings);
    store(home, now, findings);
    match grants::of_hook(home) {
        Ok(set) => findings.push(Finding::ok("grants", format_args!("{} in force", set.table().count()))),
        Err(error) => findings.push(Finding::bad(
            "grants",
            Chain(&error),
            "Mend or remove that file; until then every gated call is blocked.",
        )),
    }
    private("kept", &home.kept(), findings);
}

fn pins(home: &Home, identity: &str, now: Timestamp, findings: &mut Vec<Finding>) {
    let approvers = match Approvers::read(&home.approvers()) {
        Ok(approvers) => approvers,
        Err(error) => {
            findings.push(Finding::bad(
                "pins",
                Chain(&error),
                "Mend the file; until then nothing is allowed.",
            ));
            return;
        }
    };
    if !approvers.names(identity) {
        findings.push(Finding::bad(
            "pins",
            format_args!("the pin file does not name `{identity}`"),
            "Run `sealward up` and pin your device's key at its terminal.",
        ));
        return;
    }
    for (entry, bad) in approvers.unusable() {
        let what = format!("the key `{}` cannot be used: {bad}", entry.label);
        findings.push(Finding::warn(
            "pins",
            what,
            "Revoke it: `sealward approvers revoke`, and pin another.",
        ));
    }
    let signers = approvers.may_sign(now);
    let needed = usize::try_from(approvers.quorum(Kind::Ask)).unwrap_or(usize::MAX);
    if signers.len() < needed {
        let what = format!("{} keys may sign, and an ask needs {needed}", signers.len());
        findings.push(Finding::bad(
            "pins",
            what,
            "Pin a key: `sealward enrol`, or the link that `sealward up` prints.",
        ));
        return;
    }
    for entry in &signers {
        if let Some(end) = entry.not_after.filter(|end| end.since(now) < LAPSES_SOON_MS) {
            let days = end.since(now) / (24 * 60 * 60 * 1000);
            let what = format!("the key `{}` lapses in {days} days", entry.label);
            findings.push(Finding::warn("pins", what, "Enrol its successor in time: `sealward enrol`."));
        }
    }
    let labels: Vec<&str> = signers.iter().map(|entry| entry.label.as_str()).collect();
    findings.push(Finding::ok("pins", format_args!("{} may sign: {}", signers.len(), labels.join(", "))));
}

fn store(home: &Home, now: Timestamp, findings: &mut Vec<Finding>) {
    let marks = match ReplayStore::open(&home.replay()).and_then(|store| store.marks()) {
        Ok(marks) => marks,
        Err(error) => {
            findings.push(Finding::bad(
                "store",
                Chain(&error),
                "Pinning a key makes it: `sealward enrol`. A store that was lost must not be made anew while old \
                 approvals are alive; wait 24 h or revoke the keys.",
            ));
            return;
        }
    };
    let back = marks.highest.since(now);
    if back > limits::SKEW_MS {
        findings.push(Finding::bad(
            "store",
            format_args!("the clock is {} s behind what this machine has seen", back / 1000),
            "Set the clock; until then nothing is allowed.",
        ));
    } else {
        findings.push(Finding::ok("store", "the replay store is whole"));
    }
    private("store", &home.replay(), findings);
}

/// A folder that others can look into tells them what was approved.
fn private(check: &'static str, folder: &Path, findings: &mut Vec<Finding>) {
    let open = fs::metadata(folder).is_ok_and(|meta| meta.mode() & 0o077 != 0);
    if open {
        let what = format!("{} can be read by other users", folder.display());
        findings.push(Finding::warn(check, what, format_args!("chmod 700 {}", folder.display())));
    }
}
