//! `sealward approvers list|pin|revoke`: whose keys this machine believes.
//!
//! Pinning is asked at a terminal; revoking is not, because it only tightens.

use std::path::PathBuf;
use std::sync::mpsc;

use clap::Subcommand;
use proto::Timestamp;
use serde::Serialize;

use crate::clock;
use crate::commands::up;
use crate::desk::terminal::Terminal;
use crate::desk::{Desk, Settled, plain};
use crate::home::Home;
use crate::home::pins;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward approvers list";
const LIST_EXAMPLE: &str = "Example:\n  sealward approvers list --json";
const PIN_EXAMPLE: &str =
    "Example:\n  sealward approvers pin\n  sealward approvers pin phone.json --person ada";
const REVOKE_EXAMPLE: &str = "Example:\n  sealward approvers revoke pXvl2m…\n\nThe whole id is wanted; `sealward approvers list` shows it. There is no way back: pin a new key.";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List pinned keys with their fingerprints, and what was revoked
    #[command(after_help = LIST_EXAMPLE)]
    List(List),
    /// Pin a key, after asking at this terminal
    #[command(after_help = PIN_EXAMPLE)]
    Pin(Pin),
    /// Revoke a key, rule or delegation for ever
    #[command(after_help = REVOKE_EXAMPLE)]
    Revoke(Revoke),
}

#[derive(clap::Args, Debug)]
struct List {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Pin {
    /// A pin entry as JSON; without it, the keys that devices proposed to the hub are asked about
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Whose key it is; keys of one person count once where two persons must approve
    #[arg(long, value_name = "PERSON")]
    person: Option<String>,
}

#[derive(clap::Args, Debug)]
struct Revoke {
    /// Id of a key, rule or delegation
    id: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Nothing to ask, or nobody who answered.
#[derive(Debug, thiserror::Error)]
enum ApproversError {
    #[error("no device has proposed a key; `sealward enrol` makes a link for one")]
    NothingProposed,
    #[error("the terminal was closed; nothing was pinned")]
    Closed,
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Action::List(args) => list(args, home, out),
        Action::Pin(args) => pin(args, home, out),
        Action::Revoke(args) => revoke(args, home, out),
    }
}

/// A key in `list --json`.
#[derive(Serialize)]
struct Listed {
    id: String,
    label: String,
    person: Option<String>,
    alg: i64,
    fingerprint: String,
    rp_id: String,
    origins: Vec<String>,
    since: Timestamp,
    not_after: Option<Timestamp>,
    revoked: bool,
    /// In whose pin files it stands: `executors`, `hub`.
    pinned_for: Vec<&'static str>,
}

fn list(args: &List, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let all = pins::read_all(home).map_err(Failure::cannot)?;
    let mut keys: Vec<Listed> = Vec::new();
    let mut revoked: Vec<String> = Vec::new();
    for (whose, approvers) in &all {
        for entry in approvers.keys().iter().map(proof::PinnedKey::entry) {
            match keys.iter_mut().find(|listed| listed.id == entry.id) {
                Some(listed) => listed.pinned_for.push(whose),
                None => keys.push(Listed {
                    id: entry.id.clone(),
                    label: entry.label.clone(),
                    person: entry.person.clone(),
                    alg: entry.alg,
                    fingerprint: proof::fingerprint(entry).unwrap_or_else(|bad| bad.to_string()),
                    rp_id: entry.rp_id.clone(),
                    origins: entry.origins.clone(),
                    since: entry.since,
                    not_after: entry.not_after,
                    revoked: false,
                    pinned_for: vec![whose],
                }),
            }
        }
        revoked.extend(approvers.revoked().map(str::to_owned));
    }
    revoked.sort();
    revoked.dedup();
    for key in &mut keys {
        key.revoked = revoked.contains(&key.id);
    }
    if args.json {
        out.json(&serde_json::json!({ "keys": keys, "revoked": revoked }));
        return Ok(Exit::Done);
    }
    if keys.is_empty() {
        out.note("No key is pinned: nobody can approve. `sealward up` prints a link to enrol one.");
    }
    for key in &keys {
        let state = if key.revoked { "revoked" } else { "live" };
        let whose = key.pinned_for.join("+");
        out.line(format_args!("{}\t{state}\t{}\t{whose}\t{}", key.fingerprint, plain(&key.label), key.id));
    }
    Ok(Exit::Done)
}

/// One question and its answer; Ctrl-C leaves everything as it was.
fn pin(args: &Pin, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let terminal = Terminal::open().map_err(Failure::cannot)?;
    let (events, typed) = mpsc::channel();
    terminal.lines(events, |line| line).map_err(Failure::cannot)?;
    let mut desk = Desk::new(home.clone(), None, Some(terminal), false).of_person(args.person.clone());
    let mut settled = match &args.file {
        Some(file) => {
            let key = pins::read_proposal(file, None)?;
            desk.ask(file.clone(), key).map_err(Failure::cannot)?;
            None
        }
        None => desk.look(clock::now()).map_err(Failure::cannot)?,
    };
    if settled.is_none() && !desk.is_asking() {
        return Err(Failure::refused(ApproversError::NothingProposed));
    }
    while settled.is_none() {
        let Ok(Some(line)) = typed.recv() else {
            return Err(Failure::refused(ApproversError::Closed));
        };
        settled = desk.answer(&line, clock::now()).map_err(Failure::cannot)?;
    }
    match settled {
        Some(settled) => {
            up::tell(&settled, out);
            Ok(if matches!(settled, Settled::Pinned { .. }) { Exit::Done } else { Exit::Refused })
        }
        None => Ok(Exit::Refused),
    }
}

fn revoke(args: &Revoke, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let known = pins::read_all(home)
        .map_err(Failure::cannot)?
        .iter()
        .any(|(_, approvers)| approvers.keys().iter().any(|pinned| pinned.entry().id == args.id));
    pins::revoke(home, &args.id).map_err(Failure::cannot)?;
    if !known {
        out.note("No key of this id is pinned here; a rule or delegation of this id, or a key pinned later, is refused.");
    }
    if args.json {
        out.json(&serde_json::json!({ "id": args.id, "revoked": true }));
    } else {
        out.line(format_args!(
            "Revoked `{}` for ever, for the executors of this home and its hub.",
            plain(&args.id)
        ));
    }
    Ok(Exit::Done)
}
