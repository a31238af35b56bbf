//! The loop's command line: `chat`, `run`, `sessions`. Exit codes: 0 the turn was done, 1 it was stopped or cancelled, 2 wrong use,
//! 3 the model, the broker or the disk failed.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::{Args, Parser, Subcommand};
use model::Cancel;
use proto::{
    SessionId, TurnEvent,
    broker::{Assurance, CallRequest, ClientDecision},
};

use crate::{
    baseline::Baseline,
    broker_port::{BrokerPort, Person, Port as _},
    config::Config,
    llama::Client,
    session::{self, Session},
    tools::Registry,
    turn::{Outcome, Runtime, run_turn},
};

const STOPPED: u8 = 1;
const FAILED: u8 = 3;

#[derive(Parser)]
#[command(version, about = "Sealward's agent loop: it talks to a model and owns no power")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Talk in the terminal.
    #[command(after_help = "Example: loopd chat --config loopd.toml --session notes")]
    Chat(SessionArgs),
    /// One turn.
    #[command(after_help = "Example: loopd run \"Read /etc/hostname\" --config loopd.toml --json")]
    Run {
        /// What to say to the model.
        prompt: String,
        #[command(flatten)]
        session: SessionArgs,
        /// Print the turn's events, one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// List the sessions.
    #[command(after_help = "Example: loopd sessions --config loopd.toml --json")]
    Sessions {
        /// The configuration file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct SessionArgs {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Go on with this session, or begin one of this name.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Begin with everything that was said in another session.
    #[arg(long, value_name = "ID")]
    fork: Option<String>,
}

type Failure = Box<dyn std::error::Error>;

/// Runs the command line.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Chat(args) => chat(&args),
        Command::Run { prompt, session, json } => run(&prompt, &session, json),
        Command::Sessions { config, json } => sessions(&config, json),
    };
    outcome.unwrap_or_else(|error| {
        complain(error.as_ref());
        ExitCode::from(FAILED)
    })
}

fn say(out: &mut dyn io::Write, text: &str) {
    // Where nobody reads any more there is nothing to tell.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

fn complain(error: &(dyn std::error::Error + 'static)) {
    let mut text = format!("loopd: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    say(&mut io::stderr(), &(text + "\n"));
}

fn read_config(path: &std::path::Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok(Config::from_toml(&text)?)
}

/// Opens what the arguments name, with the tools that the broker offers now.
fn open(args: &SessionArgs) -> Result<(Session, Runtime<BrokerPort>), Failure> {
    let cfg = read_config(&args.config)?;
    let port = BrokerPort::new(&cfg.broker.socket, Duration::from_secs(cfg.broker.timeout_s))
        .with_person(Arc::new(Terminal));
    let client = Client::new(cfg.model.clone());
    client.check(cfg.slots.main, &Cancel::new())?;
    let registry = Registry::from_broker(port.tools()?);
    let id = match &args.session {
        Some(id) => SessionId::new(id)?,
        None => new_id()?,
    };
    let known = session::list(&cfg.sessions)?;
    let session = if let Some(fork) = &args.fork {
        Session::open(&cfg.sessions, SessionId::new(fork)?)?.fork(&cfg.sessions, id)?
    } else if known.contains(&id) {
        Session::open(&cfg.sessions, id)?
    } else {
        let baseline = Baseline::assemble(&cfg, &registry)?;
        Session::create(&cfg.sessions, id, baseline, cfg.slots.main)?
    };
    Ok((session, Runtime { cfg, client, port, registry }))
}

fn new_id() -> Result<SessionId, Failure> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(SessionId::new(&format!("s-{:016x}", u64::from_be_bytes(bytes)))?)
}

fn run(prompt: &str, args: &SessionArgs, json: bool) -> Result<ExitCode, Failure> {
    let (mut session, runtime) = open(args)?;
    cancel_on_interrupt(session.cancel())?;
    let mut out = io::stdout();
    let outcome = run_turn(&mut session, &runtime, prompt, &mut |event| {
        if json {
            match serde_json::to_string(event) {
                Ok(line) => say(&mut out, &(line + "\n")),
                Err(error) => complain(&error),
            }
        } else {
            show(event);
        }
    })?;
    Ok(match outcome {
        Outcome::Done { .. } => ExitCode::SUCCESS,
        Outcome::Stopped { reason } => {
            say(&mut io::stderr(), &format!("loopd: stopped: {reason}\n"));
            ExitCode::from(STOPPED)
        }
        Outcome::Cancelled => {
            say(&mut io::stderr(), "loopd: cancelled\n");
            ExitCode::from(STOPPED)
        }
    })
}

fn chat(args: &SessionArgs) -> Result<ExitCode, Failure> {
    let (mut session, runtime) = open(args)?;
    say(&mut io::stderr(), &format!("session {}; end with Ctrl-D\n", session.id().as_str()));
    let mut lines = io::stdin().lock().lines();
    loop {
        say(&mut io::stdout(), "> ");
        let Some(line) = lines.next().transpose()? else {
            say(&mut io::stdout(), "\n");
            return Ok(ExitCode::SUCCESS);
        };
        if line.trim().is_empty() {
            continue;
        }
        match run_turn(&mut session, &runtime, &line, &mut show) {
            Ok(Outcome::Done { .. }) => {}
            Ok(Outcome::Stopped { reason }) => say(&mut io::stderr(), &format!("stopped: {reason}\n")),
            Ok(Outcome::Cancelled) => say(&mut io::stderr(), "cancelled\n"),
            // The session is whole; the next line may go better.
            Err(error) => complain(&error),
        }
    }
}

fn sessions(config: &std::path::Path, json: bool) -> Result<ExitCode, Failure> {
    let ids = session::list(&read_config(config)?.sessions)?;
    let mut out = io::stdout();
    if json {
        let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
        say(&mut out, &(serde_json::to_string(&ids)? + "\n"));
    } else {
        for id in ids {
            say(&mut out, &format!("{}\n", id.as_str()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// An event as a person reads it: the model's words on stdout, everything else beside them on stderr.
fn show(event: &TurnEvent) {
    let note = |text: String| say(&mut io::stderr(), &format!("[{}]\n", text.escape_debug()));
    match event {
        TurnEvent::Text { delta } => say(&mut io::stdout(), &plain(delta)),
        TurnEvent::ToolCalled { name, arguments, .. } => note(format!("{name} {arguments}")),
        TurnEvent::ToolDenied { name, reason } => note(format!("{name}: {reason}")),
        TurnEvent::WaitingForPerson { name, assurance: Assurance::Client } => {
            note(format!("{name} waits for you"))
        }
        TurnEvent::WaitingForPerson { name, .. } => note(format!("{name} waits in the inbox")),
        TurnEvent::WaitingForModel { detail } => note(detail.clone()),
        TurnEvent::Compacted { dropped } => note(format!("{dropped} older messages were left out")),
        TurnEvent::ReviewStarted { .. } => note("a review began".to_owned()),
        TurnEvent::ReviewCompleted { outcome, .. } => note(format!("review: {outcome}")),
        TurnEvent::TurnDone { .. } => say(&mut io::stdout(), "\n"),
        TurnEvent::Reasoning { .. }
        | TurnEvent::ToolAllowed { .. }
        | TurnEvent::ToolOutput { .. }
        | TurnEvent::ToolResult { .. } => {}
    }
}

/// A model's words without what would drive the terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

/// Sets `cancel` on the first Ctrl-C; a second one ends the program, and the session is healed when it opens.
fn cancel_on_interrupt(cancel: Cancel) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _inside = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        runtime.block_on(async {
            interrupts.recv().await;
            cancel.cancel();
            interrupts.recv().await;
            end_now();
        });
    })?;
    Ok(())
}

#[expect(clippy::exit, reason = "a person pressed Ctrl-C twice")]
fn end_now() {
    std::process::exit(i32::from(STOPPED));
}

/// The person at this terminal, where a grant takes a click.
#[derive(Debug)]
struct Terminal;

impl Person for Terminal {
    fn ask(&self, request: &CallRequest) -> ClientDecision {
        if !io::stdin().is_terminal() {
            return ClientDecision::Decline;
        }
        let question =
            format!("\nAllow {} {}? [y/N/c] ", request.tool.escape_debug(), request.arguments.escape_debug());
        say(&mut io::stderr(), &question);
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer).map(|_| answer.trim()) {
            Ok("y" | "Y" | "yes") => ClientDecision::Accept,
            Ok("c" | "C") => ClientDecision::Cancel,
            Ok(_) | Err(_) => ClientDecision::Decline,
        }
    }
}
