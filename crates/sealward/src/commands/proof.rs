//! `sealward proof check`: the checker alone, over files, for people who want to see a verdict and for other implementations.
//!
//! It runs the very check that executors run, without an identity (it is no executor) and without demanding that the pin file be
//! owner-only. It has no clock: `--now` is given. What it prints allows nothing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use policy::human_only;
use proof::{Approvers, Authority, BadPins, ExecutorCheck, ReplayStore, Signer, item_hash};
use proto::{Item, Kind, Refusal, Timestamp, UnknownKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward proof check --cases proof_vectors.json";

const CHECK_EXAMPLE: &str = "Example:\n  sealward proof check --approvers approvers.json --kind ask --item item.json --proof proof.json --now 1800000000000\n\nExit codes: 0 ok, 1 refused (or a case differs), 2 wrong use.";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Check one proof for one item, or a file of cases
    #[command(after_help = CHECK_EXAMPLE)]
    Check(Box<CheckArgs>),
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    /// Pin file (approvers.json)
    #[arg(long, value_name = "FILE", required_unless_present = "cases")]
    approvers: Option<PathBuf>,
    /// ask, call, review, decision or command
    #[arg(long, value_name = "KIND", required_unless_present = "cases")]
    kind: Option<String>,
    /// JSON object with the item's fields
    #[arg(long, value_name = "FILE", required_unless_present = "cases")]
    item: Option<PathBuf>,
    /// The proof
    #[arg(long, value_name = "FILE", required_unless_present = "cases")]
    proof: Option<PathBuf>,
    /// The moment to check for, milliseconds since 1970
    #[arg(long, value_name = "MS", required_unless_present = "cases")]
    now: Option<i64>,
    /// Claim the item in this replay store as well
    #[arg(long, value_name = "DIR", conflicts_with = "cases")]
    replay: Option<PathBuf>,
    /// Make the replay store where there is none
    #[arg(long, requires = "replay")]
    create: bool,
    /// Answer as one JSON object
    #[arg(long)]
    json: bool,
    /// Run all cases of a file in the form of proof_vectors.json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["approvers", "kind", "item", "proof", "now"])]
    cases: Option<PathBuf>,
}

/// Exit 0 when the proof holds (or every case does), 1 when it is refused, 2 for files that are not what they should be.
pub(crate) fn run(args: &Args, _home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let Command::Check(args) = &args.command;
    match &args.cases {
        Some(file) => run_cases(file, args.json, out),
        None => run_one(args, out).map_err(Failure::usage),
    }
}

/// Why there was nothing to check.
#[derive(Debug, thiserror::Error)]
enum WrongUse {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` is not an item of kind {kind}", path.display())]
    Item { path: PathBuf, kind: Kind, source: serde_json::Error },
    #[error("`{}` is no pin file", path.display())]
    Pins { path: PathBuf, source: BadPins },
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    #[error("`--{0}` is missing")]
    Missing(&'static str),
    #[error("`{}` is no file of cases", path.display())]
    Cases { path: PathBuf, source: serde_json::Error },
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    ok: bool,
    code: &'static str,
    sentence: &'static str,
    item_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    authority: Option<&'static str>,
    signers: Vec<&'a str>,
}

fn run_one(args: &CheckArgs, out: &mut Output) -> Result<Exit, WrongUse> {
    let kind: Kind = args.kind.as_deref().ok_or(WrongUse::Missing("kind"))?.parse()?;
    let item_file = args.item.as_deref().ok_or(WrongUse::Missing("item"))?;
    let item = Item::from_json(kind, &read(item_file)?).map_err(|source| WrongUse::Item {
        path: item_file.to_owned(),
        kind,
        source,
    })?;
    let pin_file = args.approvers.as_deref().ok_or(WrongUse::Missing("approvers"))?;
    let approvers = match read_if_there(pin_file)? {
        Some(bytes) => {
            Approvers::parse(&bytes).map_err(|source| WrongUse::Pins { path: pin_file.to_owned(), source })?
        }
        None => Approvers::none(),
    };
    // No file is no proof, as no pin file is no pins: both are answers of the checker.
    let proof = read_if_there(args.proof.as_deref().ok_or(WrongUse::Missing("proof"))?)?.unwrap_or_default();
    let now = Timestamp::from_millis(args.now.ok_or(WrongUse::Missing("now"))?);
    let store = match &args.replay {
        Some(path) if args.create => Some(ReplayStore::create_backdated(path, now)),
        Some(path) => Some(ReplayStore::open(path)),
        None => None,
    };
    let verdict = check(&approvers, &item, &proof, now).and_then(|sealed| {
        let seen = Seen { authority: word(sealed.authority()), signers: sealed.signers().to_vec() };
        match store {
            None => Ok(seen),
            Some(Err(error)) => {
                out.failed(&error);
                Err(Refusal::StoreDamaged)
            }
            Some(Ok(store)) => sealed.claim(&store, now).map(|_authorized| seen),
        }
    });
    Ok(print(&item, verdict.as_ref(), args.json, out))
}

/// What is told of a proof that holds.
struct Seen {
    authority: &'static str,
    signers: Vec<Signer>,
}

fn check(approvers: &Approvers, item: &Item, proof: &[u8], now: Timestamp) -> Result<proof::Sealed, Refusal> {
    let human_only = human_only(item).is_some();
    ExecutorCheck { approvers, identity: None, item, quorum_at_least: 0, human_only, now }.check(proof)
}

fn word(authority: &Authority) -> &'static str {
    match authority {
        Authority::Approve => "approve",
        Authority::Rule { .. } => "rule",
        Authority::Vouch { .. } => "vouch",
    }
}

fn print(item: &Item, verdict: Result<&Seen, &Refusal>, json: bool, out: &mut Output) -> Exit {
    let (ok, code, sentence) = match verdict {
        Ok(_) => (true, "ok", "ok"),
        Err(refusal) => (false, refusal.code(), refusal.sentence()),
    };
    if json {
        out.json(&Answer {
            ok,
            code,
            sentence,
            item_hash: item_hash(item).to_string(),
            authority: verdict.ok().map(|seen| seen.authority),
            signers: verdict
                .map(|seen| seen.signers.iter().map(|s| s.label.as_str()).collect())
                .unwrap_or_default(),
        });
    } else if ok {
        out.line("ok");
    } else {
        out.line(format_args!("{code}: {sentence}"));
    }
    if ok { Exit::Done } else { Exit::Refused }
}

/// A file of cases; members beside `cases`, and further ones in a case, are its authors' notes.
#[derive(Deserialize)]
struct CaseFile<'a> {
    #[serde(borrow)]
    cases: Vec<Case<'a>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    name: String,
    expect: String,
    now: i64,
    kind: Kind,
    #[serde(borrow)]
    item: &'a RawValue,
    item_hash: Option<String>,
    #[serde(borrow, default)]
    approvers: Option<&'a RawValue>,
    #[serde(borrow, default)]
    proof: Option<&'a RawValue>,
}

/// A case that did not come out as written, as `--json` tells it.
#[derive(Serialize)]
struct Differs<'a> {
    name: &'a str,
    expect: &'a str,
    got: &'a str,
}

fn run_cases(path: &Path, json: bool, out: &mut Output) -> Result<Exit, Failure> {
    let bytes = read(path).map_err(Failure::usage)?;
    let file: CaseFile<'_> = serde_json::from_slice(&bytes)
        .map_err(|source| Failure::usage(WrongUse::Cases { path: path.to_owned(), source }))?;
    let mut failed = 0_usize;
    for case in &file.cases {
        let got = run_case(case);
        if got == case.expect {
            continue;
        }
        failed = failed.saturating_add(1);
        if json {
            out.json(&Differs { name: &case.name, expect: &case.expect, got: &got });
        } else {
            out.line(format_args!("{}: expected {}, got {got}", case.name, case.expect));
        }
    }
    out.line(format_args!("{} passed, {failed} failed", file.cases.len().saturating_sub(failed)));
    Ok(if failed == 0 { Exit::Done } else { Exit::Refused })
}

/// The code that a case gives: `ok`, a refusal's, or words for an item that is none or hashes otherwise.
fn run_case(case: &Case<'_>) -> String {
    let item = match Item::from_json(case.kind, case.item.get().as_bytes()) {
        Ok(item) => item,
        Err(error) => return format!("no item of its kind: {error}"),
    };
    let hash = item_hash(&item).to_string();
    if case.item_hash.as_ref().is_some_and(|written| *written != hash) {
        return format!("item hash {hash}");
    }
    // As an executor would: pins that cannot be read are no pins.
    let approvers = case
        .approvers
        .and_then(|raw| Approvers::parse(raw.get().as_bytes()).ok())
        .unwrap_or_else(Approvers::none);
    let proof = case.proof.map(|raw| raw.get().as_bytes()).unwrap_or_default();
    match check(&approvers, &item, proof, Timestamp::from_millis(case.now)) {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => refusal.code().to_owned(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, WrongUse> {
    fs::read(path).map_err(|source| WrongUse::Read { path: path.to_owned(), source })
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, WrongUse> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(WrongUse::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
