//! The broker's command line: `serve`, `check`, `explain`. What they do is elsewhere; here is what is printed, and the exit codes:
//! 0 well or allowed, 1 denied, 2 wrong use, 3 it cannot start or go on, 4 a person would be asked.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use audit::{Journal, Options};
use clap::{Args, Parser, Subcommand};
use policy::{Evidence, Person, RealPaths, Reviewer, Verdict, WithoutGrant, decide};
use proto::{CallItem, Item};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    broker::Broker,
    clock,
    config::Config,
    connection,
    desk::{Chain, Desk},
    grants::Loaded,
    sandbox,
    socket::{self, Socket},
    tools,
};

const DENIED: u8 = 1;
const CANNOT: u8 = 3;
const ASKS: u8 = 4;

#[derive(Parser)]
#[command(version, about = "Sealward's broker: it holds the powers and decides each call")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve calls until SIGTERM; SIGHUP reads the grants again.
    #[command(after_help = "Example: brokerd serve --config /etc/sealward/brokerd.toml")]
    Serve {
        #[command(flatten)]
        config: ConfigArgs,
        /// End when this process ends.
        #[arg(long, value_name = "PID")]
        parent: Option<u32>,
        /// How much to say: error, warn, info or debug.
        #[arg(long, value_name = "LEVEL", default_value = "info")]
        log: tracing::Level,
    },
    /// Check the configuration and the grants, and print the effective table.
    #[command(after_help = "Example: brokerd check --config /etc/sealward/brokerd.toml --json")]
    Check {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what would be decided about a call, stage by stage, without doing it.
    #[command(
        after_help = "Example: brokerd explain --config brokerd.toml --tool read_file --arguments '{\"path\":\"/etc/hostname\"}'"
    )]
    Explain {
        #[command(flatten)]
        config: ConfigArgs,
        /// The tool.
        #[arg(long)]
        tool: String,
        /// The arguments, a JSON object.
        #[arg(long)]
        arguments: String,
        /// The session that would ask.
        #[arg(long, default_value = "explain")]
        session: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct ConfigArgs {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

type Failure = Box<dyn std::error::Error>;

/// Runs the command line.
pub(crate) fn main() -> ExitCode {
    // Before anything else: what runs in a sandbox starts with one thread and nothing open.
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some(sandbox::OUTER), Some(spec)) => {
            return sandbox::outer::run(&spec).unwrap_or_else(|error| sandbox::outer::refuse(&error));
        }
        (Some(sandbox::INNER), Some(spec)) => {
            return match sandbox::inner::run(&spec) {
                Ok(never) => match never {},
                Err(error) => sandbox::outer::refuse(&error),
            };
        }
        _ => {}
    }
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Serve { config, parent, log } => serve(&config.config, parent, log),
        Command::Check { config, json } => check(&config.config, json),
        Command::Explain { config, tool, arguments, session, json } => {
            explain(&config.config, Question { tool, arguments, session }, json)
        }
    };
    outcome.unwrap_or_else(|error| {
        say(&mut std::io::stderr(), &format!("brokerd: {}", Chain(error.as_ref())));
        ExitCode::from(CANNOT)
    })
}

fn say(out: &mut dyn std::io::Write, text: &str) {
    // Where nobody reads any more there is nothing to tell.
    drop(writeln!(out, "{text}"));
}

fn serve(path: &Path, parent: Option<u32>, log: tracing::Level) -> Result<ExitCode, Failure> {
    tracing_subscriber::fmt().with_max_level(log).with_writer(std::io::stderr).with_target(false).init();
    if let Some(parent) = parent {
        follow(parent)?;
    }
    let config = Config::read(path)?;
    let loaded = Loaded::read(config.grants.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        ready_to_exec(&config, &loaded).await?;
        let socket = Socket::bind(&config.run())?;
        let (journal, opened) =
            Journal::open(&config.audit(), Options::new(config.durability), clock::now())?;
        if config.durability == audit::Durability::None {
            tracing::warn!("durability is none: records may be lost. This is for tests and benchmarks only");
        }
        if let Some(torn) = &opened.torn {
            tracing::warn!(torn, "an unfinished record was moved aside");
        }
        let desk = config.hub.as_ref().map(|hub| Desk::open(&config, hub)).transpose()?;
        let broker = Arc::new(Broker::new(config, loaded, journal, desk)?);
        tracing::info!(socket = %socket.path.display(), records = opened.seq, "serving");
        accept(&socket, &broker).await
    })
}

/// Ends with the parent. It may have ended before this was said, which is looked at afterwards.
fn follow(parent: u32) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let now = getppid().map(|pid| pid.as_raw_nonzero().get());
    if now == i32::try_from(parent).ok() { Ok(()) } else { Err("the parent has ended already".into()) }
}

/// A broker whose grants let commands run does not start without the sandbox they run in.
async fn ready_to_exec(config: &Config, loaded: &Loaded) -> Result<(), Failure> {
    if !loaded.grants.lets_run("exec") {
        return Ok(());
    }
    if !config.sandbox {
        return Err("a grant lets `exec` run: say `sandbox = \"strict\"` under `[exec]`".into());
    }
    let missing = |what| format!("`sandbox = \"strict\"`, and this machine cannot do it: {what}");
    Ok(sandbox::probe().await.map_err(missing)?)
}

async fn accept(socket: &Socket, broker: &Arc<Broker>) -> Result<ExitCode, Failure> {
    let mut stop = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut reload = signal(SignalKind::hangup())?;
    let mut connections = tokio::task::JoinSet::new();
    let (closing, closed) = tokio::sync::watch::channel(false);
    let code = loop {
        tokio::select! {
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) if socket::is_ours(&stream) => {
                    connections.spawn(connection::serve(stream, Arc::clone(broker), closed.clone()));
                }
                Ok(_) => tracing::warn!("a peer of another user was turned away"),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = reload.recv() => match broker.reload() {
                Ok(()) => tracing::info!(digest = %broker.loaded().digest, "the grants were read again"),
                Err(error) => tracing::error!(error = %Chain(&error), "the grants are bad; the loaded ones stay"),
            },
            () = broker.broken.notified() => {
                let error = broker.failure().map_or_else(String::new, |error| Chain(&error).to_string());
                tracing::error!(error, "nothing is granted any more; the broker stops");
                break ExitCode::from(CANNOT);
            }
            _ = stop.recv() => break ExitCode::SUCCESS,
            _ = interrupt.recv() => break ExitCode::SUCCESS,
        }
    };
    closing.send_replace(true);
    while connections.join_next().await.is_some() {}
    // A dead broker's socket is replaced anyway; a stopped one leaves none.
    drop(std::fs::remove_file(&socket.path));
    Ok(code)
}

fn check(path: &Path, json: bool) -> Result<ExitCode, Failure> {
    let config = Config::read(path)?;
    let loaded = Loaded::read(config.grants.as_deref())?;
    let table: Vec<String> = loaded.grants.table().collect();
    let mut out = std::io::stdout();
    if json {
        let value = serde_json::json!({ "files": loaded.files, "digest": loaded.digest, "grants": table });
        say(&mut out, &value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    say(&mut out, &format!("home {}", config.home.display()));
    if table.is_empty() {
        say(&mut out, "no grants: every call is denied");
    }
    for line in table {
        say(&mut out, &line);
    }
    Ok(ExitCode::SUCCESS)
}

struct Question {
    tool: String,
    arguments: String,
    session: String,
}

fn explain(path: &Path, question: Question, json: bool) -> Result<ExitCode, Failure> {
    let config = Config::read(path)?;
    let loaded = Loaded::read(config.grants.as_deref())?;
    let Question { tool, arguments, session } = question;
    let prepared = tools::prepare(&tool, &arguments);
    let item = Item::Call(CallItem {
        id: String::new(),
        executor: config.hub.as_ref().map_or_else(String::new, |hub| hub.identity.clone()),
        session,
        tool,
        arguments,
    });
    let paths = match &prepared {
        Ok(prepared) => RealPaths::resolve(&item, |_| prepared.real()),
        Err(_) => RealPaths::unknown(),
    };
    let decision = decide(&Evidence {
        item: &item,
        grants: &loaded.grants,
        paths: &paths,
        now: clock::now(),
        without_grant: WithoutGrant::Deny,
        rule: None,
        reviewer: Reviewer::Silent,
        person: Person::Silent,
    });
    let mut stages: Vec<String> = decision.stages.iter().map(ToString::to_string).collect();
    let (word, code) = match (&prepared, &decision.verdict) {
        (Err(no_call), _) => {
            stages.insert(0, format!("arguments: deny ({no_call:?})"));
            ("deny", DENIED)
        }
        (Ok(_), Verdict::Allow(_)) => ("allow", 0),
        (Ok(_), Verdict::Deny(_)) => ("deny", DENIED),
        (Ok(_), Verdict::Escalate(_)) => ("ask", ASKS),
    };
    if let Some(problem) = prepared.as_ref().ok().and_then(tools::Prepared::problem) {
        stages.insert(0, format!("paths: {problem}"));
    }
    let mut out = std::io::stdout();
    if json {
        say(&mut out, &serde_json::json!({ "verdict": word, "stages": stages }).to_string());
    } else {
        for stage in &stages {
            say(&mut out, stage);
        }
        say(&mut out, word);
    }
    Ok(ExitCode::from(code))
}
