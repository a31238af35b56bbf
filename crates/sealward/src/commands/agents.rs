//! `sealward agents add|list|revoke`: tokens of machines, written to the hub's database beside a running hub.

use std::future::Future;
use std::io;
use std::path::Path;

use clap::Subcommand;
use proto::Timestamp;
use proto::api::Role;
use proto::{limits, sha256};
use serde::Serialize;
use store::{NewToken, SqliteStore, Store, StoreError, StoredToken, TokenAdded, TokenRevoked};

use crate::chance::{self, NoChance};
use crate::clock;
use crate::home::Home;
use crate::home::files::{self, FileError};
use crate::home::layout::Laid;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str =
    "Example:\n  sealward agents add builder --role hook --executor hook@build-1";
const ADD_EXAMPLE: &str = "Example:\n  sealward agents add claude --role hook --executor hook@laptop > ~/token\n\nThe token is shown once; the hub keeps only its SHA-256.";
const LIST_EXAMPLE: &str = "Example:\n  sealward agents list --json";
const REVOKE_EXAMPLE: &str = "Example:\n  sealward agents revoke claude";

/// The hook's token that `up` makes.
const FIRST_NAME: &str = "claude";
/// The name under which the calls of this home's broker stand in the inbox.
const BROKER_NAME: &str = "broker";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make a token for a machine and show it once
    #[command(after_help = ADD_EXAMPLE)]
    Add(Add),
    /// List the machines
    #[command(after_help = LIST_EXAMPLE)]
    List(List),
    /// End a machine's token at once
    #[command(after_help = REVOKE_EXAMPLE)]
    Revoke(Revoke),
}

#[derive(clap::Args, Debug)]
struct Add {
    /// What the machine is called; its asks show this name
    #[arg(value_parser = name)]
    name: String,
    /// What it may do
    #[arg(long, value_enum, default_value = "agent")]
    role: RoleWord,
    /// An executor it speaks for, like hook@laptop; may be given again
    #[arg(long = "executor", value_name = "IDENTITY", value_parser = identity)]
    executors: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct List {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Revoke {
    /// The machine
    name: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// [`Role`] as a word of the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RoleWord {
    /// Requests reviews, decisions, commands and rules
    Agent,
    /// Asks for tool calls and checks the answers
    Hook,
    /// Runs sealed commands
    Runner,
    /// The automatic reviewer
    Reviewer,
    /// A terminal that signs
    Approver,
}

/// Tokens could not be written or read.
#[derive(Debug, thiserror::Error)]
enum AgentsError {
    #[error("the hub's database cannot be used")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Chance(#[from] NoChance),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot start a runtime")]
    Runtime { source: io::Error },
    #[error("there is no hub in `{home}`; run `sealward up` once, or give the right --home")]
    NoHub { home: String },
    #[error("a machine `{name}` exists; choose another name, or end it with `sealward agents revoke {name}`")]
    NameTaken { name: String },
    #[error("no machine `{name}` has a token; `sealward agents list` shows those that have")]
    Unknown { name: String },
    #[error("a hook, a runner needs `--executor IDENTITY`: without one it may ask for nothing")]
    NoExecutor,
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Action::Add(args) => add(args, home, out),
        Action::List(args) => list(args, home, out),
        Action::Revoke(args) => revoke(args, home, out),
    }
}

fn add(args: &Add, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    if matches!(args.role, RoleWord::Hook | RoleWord::Runner) && args.executors.is_empty() {
        return Err(Failure::usage(AgentsError::NoExecutor));
    }
    let token = new_token().map_err(Failure::cannot)?;
    let new = NewToken {
        name: args.name.clone(),
        hash: sha256(token.as_bytes()),
        role: args.role.into(),
        executors: args.executors.clone(),
    };
    let added = with_store(home, async |store| store.add_token(&new, clock::now()).await)?;
    match added {
        TokenAdded::NameTaken => Err(Failure::refused(AgentsError::NameTaken { name: new.name })),
        TokenAdded::New if args.json => {
            out.json(&Added { name: &new.name, role: new.role, executors: &new.executors, token: &token });
            Ok(Exit::Done)
        }
        TokenAdded::New => {
            out.line(&token);
            out.note("This is the only time the token is shown. Keep it in a file that only the machine's user can read.");
            Ok(Exit::Done)
        }
    }
}

fn list(args: &List, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let tokens = with_store(home, async |store| store.tokens().await)?;
    if args.json {
        let agents: Vec<Listed<'_>> = tokens.iter().map(Listed::from).collect();
        out.json(&serde_json::json!({ "agents": agents }));
        return Ok(Exit::Done);
    }
    if tokens.is_empty() {
        out.note("No machine has a token yet: `sealward agents add NAME`.");
    }
    for token in &tokens {
        let state = if token.revoked.is_some() { "revoked" } else { "live" };
        out.line(format_args!(
            "{}\t{}\t{state}\t{}",
            token.name,
            token.role.as_str(),
            token.executors.join(",")
        ));
    }
    Ok(Exit::Done)
}

fn revoke(args: &Revoke, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let ended = with_store(home, async |store| store.revoke_token(&args.name, clock::now()).await)?;
    match ended {
        TokenRevoked::NotFound => Err(Failure::refused(AgentsError::Unknown { name: args.name.clone() })),
        TokenRevoked::Done => {
            if args.json {
                out.json(&serde_json::json!({ "name": args.name, "revoked": true }));
            } else {
                out.line(format_args!("`{}` has no token any more.", args.name));
            }
            Ok(Exit::Done)
        }
    }
}

/// The token of this machine's hook: made on the first `up`, so that `connect` has nothing left to ask for.
///
/// The file is written before the hub knows the token, so a crash between the two heals at the next start.
///
/// # Errors
/// Disk, database, or another machine of that name.
pub(crate) fn first_tokens(home: &Home, laid: &Laid) -> Result<(), Failure> {
    own_token(&home.token(), FIRST_NAME, &laid.hook, laid)?;
    match &laid.broker {
        Some(broker) => own_token(&home.broker_token(), BROKER_NAME, broker, laid),
        None => Ok(()),
    }
}

fn own_token(path: &Path, name: &str, executor: &str, laid: &Laid) -> Result<(), Failure> {
    let kept = files::read_if_there(path).map_err(Failure::cannot)?;
    let token = match kept {
        Some(text) => text.trim().to_owned(),
        None => {
            let token = new_token().map_err(Failure::cannot)?;
            files::write(path, format!("{token}\n").as_bytes()).map_err(Failure::cannot)?;
            token
        }
    };
    let new = NewToken {
        name: name.to_owned(),
        hash: sha256(token.as_bytes()),
        role: Role::Hook,
        executors: vec![executor.to_owned()],
    };
    let added = with_database(&laid.hub.database(), async |store| {
        match store.token(&new.hash).await? {
            // Known, or ended on purpose: `doctor` tells of the second.
            Some(_) => Ok(TokenAdded::New),
            None => store.add_token(&new, clock::now()).await,
        }
    })?;
    match added {
        TokenAdded::New => Ok(()),
        TokenAdded::NameTaken => Err(Failure::refused(AgentsError::NameTaken { name: new.name })),
    }
}

/// `sw_` and 43 base64url characters of 32 random bytes.
fn new_token() -> Result<String, NoChance> {
    Ok(format!("sw_{}", proto::b64::encode(&chance::bytes::<32>()?)))
}

/// Runs one operation on the database of the hub that lives in `home`.
fn with_store<T, F>(home: &Home, work: F) -> Result<T, Failure>
where
    F: AsyncFnOnce(&SqliteStore) -> store::Result<T>,
{
    let path = home.hub().join("hub.sqlite");
    if !path.exists() {
        return Err(Failure::cannot(AgentsError::NoHub { home: home.dir().display().to_string() }));
    }
    with_database(&path, work)
}

fn with_database<T, F>(path: &Path, work: F) -> Result<T, Failure>
where
    F: AsyncFnOnce(&SqliteStore) -> store::Result<T>,
{
    let all = async {
        let store = SqliteStore::open(path).await?;
        let done = work(&store).await?;
        store.close().await?;
        Ok::<T, AgentsError>(done)
    };
    block_on(all).map_err(Failure::cannot)
}

fn block_on<T>(work: impl Future<Output = Result<T, AgentsError>>) -> Result<T, AgentsError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| AgentsError::Runtime { source })?.block_on(work)
}

/// 1 to 128 bytes of letters, digits, `-`, `_` and `.`: it stands in rows, logs and file names.
fn name(text: &str) -> Result<String, String> {
    let fits = (1..=limits::NAME_BYTES).contains(&text.len());
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if fits && plain {
        Ok(text.to_owned())
    } else {
        Err(String::from("letters, digits, `-`, `_` and `.` are wanted"))
    }
}

/// `hook@laptop`: two names and an `@`.
fn identity(text: &str) -> Result<String, String> {
    let halves = text.split_once('@').filter(|(what, host)| name(what).is_ok() && name(host).is_ok());
    match halves {
        Some(_) if text.len() <= limits::NAME_BYTES => Ok(text.to_owned()),
        Some(_) | None => Err(String::from("an identity like hook@laptop is wanted")),
    }
}

/// What `add --json` prints.
#[derive(Serialize)]
struct Added<'a> {
    name: &'a str,
    role: Role,
    executors: &'a [String],
    token: &'a str,
}

/// A machine in `list --json`.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    role: Role,
    executors: &'a [String],
    created: Timestamp,
    seen: Option<Timestamp>,
    revoked: Option<Timestamp>,
}

impl<'a> From<&'a StoredToken> for Listed<'a> {
    fn from(token: &'a StoredToken) -> Self {
        let StoredToken { name, role, executors, created, seen, revoked } = token;
        Self { name, role: *role, executors, created: *created, seen: *seen, revoked: *revoked }
    }
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Agent => Self::Agent,
            RoleWord::Hook => Self::Hook,
            RoleWord::Runner => Self::Runner,
            RoleWord::Reviewer => Self::Reviewer,
            RoleWord::Approver => Self::Approver,
        }
    }
}
