//! `sealward try`: one sample call on the whole road, so that a newcomer sees it before an agent walks it.
//!
//! The call goes through the real hook, started as the agent would start it, with the agent's own event on its
//! standard input. Nothing is run: what is shown is what the agent would have been told.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use client::{CallError, Hub, SetUpError};
use executor::hook::WAIT_S_MIN;
use executor::{Home as ExecutorHome, HomeError};
use serde_json::Value;

use crate::chance::{self, NoChance};
use crate::commands::hook::WAIT_S_MAX;
use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str =
    "Example:\n  sealward try\n\nNothing is run. Exit 0 when you approved it, 1 when not.";

/// Long enough to find the phone.
const WAIT_S: u64 = 120;
/// A hub that is well answers in milliseconds.
const LIMIT: Duration = Duration::from_secs(10);
/// The sample: harmless, and easy to recognise in the inbox.
const COMMAND: &str = "echo sealed by Sealward";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// How long to wait for you
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_S, value_parser = clap::value_parser!(u64).range(WAIT_S_MIN..=WAIT_S_MAX))]
    wait: u64,
}

/// The road could not be tried.
#[derive(Debug, thiserror::Error)]
enum TryError {
    #[error("this home has no usable executor; `sealward up` makes one")]
    Home(#[from] HomeError),
    #[error("the hub cannot be called")]
    SetUp(#[from] SetUpError),
    #[error("the hub does not answer; `sealward doctor` looks closer")]
    Hub(#[from] CallError),
    #[error("the hook could not be started as an agent starts it")]
    Hook(#[from] io::Error),
    #[error(transparent)]
    Chance(#[from] NoChance),
    #[error("the hook printed what no agent understands: {0}")]
    Form(String),
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    walk(args, home, out).map_err(Failure::cannot)
}

fn walk(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, TryError> {
    let executor = ExecutorHome::open(home.dir())?;
    let hub = Hub::new(executor.hub().clone(), Some(executor.token()?), executor.ca_file())?;
    let me = hub.me(LIMIT)?;
    let event = event(&std::env::current_dir()?)?;
    out.line(format_args!("An agent asks to run:\n\n    {COMMAND}\n\nWaiting for you at {} …", me.origin));
    if me.paused {
        out.line("(The hub is paused: no approval is released until a person resumes on the page.)");
    }
    let Said { answer, words } = ask(args, home, &event)?;
    if answer.is_empty() && words.is_empty() {
        out.line("\nA grant of this machine leaves it to the agent's own rules: nobody is asked.");
        return Ok(Exit::Done);
    }
    let object: Value = serde_json::from_slice(&answer)
        .map_err(|_| TryError::Form(String::from_utf8_lossy(&answer).into_owned()))?;
    let said = object.get("hookSpecificOutput");
    let word = |name: &str| said.and_then(|said| said.get(name)).and_then(Value::as_str).unwrap_or_default();
    out.line(format_args!(
        "\nClaude Code would have been told:\n\n    {}\n",
        String::from_utf8_lossy(&answer).trim_end()
    ));
    out.line(client::shown(word("permissionDecisionReason")));
    if word("permissionDecision") == "allow" {
        out.line("It would run now, once, exactly as shown. `sealward connect claude` puts this before every call.");
        Ok(Exit::Done)
    } else {
        for line in words.lines().filter(|line| *line != word("permissionDecisionReason")) {
            out.note(client::shown(line));
        }
        out.line("It would not run.");
        Ok(Exit::Refused)
    }
}

/// Claude Code's event for the sample, in a session of its own.
fn event(cwd: &Path) -> Result<String, TryError> {
    let session = format!("try-{}", chance::letters(8)?);
    let event = serde_json::json!({
        "session_id": session,
        "cwd": cwd,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": COMMAND, "description": "A sample call by `sealward try`" },
        "tool_use_id": session,
    });
    Ok(event.to_string())
}

/// What the hook said to the agent, and to people.
struct Said {
    answer: Vec<u8>,
    words: String,
}

/// Runs the hook as an agent does.
fn ask(args: &Args, home: &Home, event: &str) -> Result<Said, TryError> {
    let mut hook = Command::new(std::env::current_exe()?)
        .arg("--home")
        .arg(home.dir())
        .args(["hook", "claude", "--wait", &args.wait.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Dropped at the end of the statement, which ends the hook's input.
    hook.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(event.as_bytes()))?;
    let ended = hook.wait_with_output()?;
    Ok(Said { answer: ended.stdout, words: String::from_utf8_lossy(&ended.stderr).into_owned() })
}
