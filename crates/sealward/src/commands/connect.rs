//! `sealward connect AGENT` writes the hook into an agent's settings, after showing what changes; `disconnect` takes
//! it out again.
//!
//! Not here: the form of an agent's settings (`settings`). The hook under the agent's own user is cooperative: code
//! of that user can take it out just as `disconnect` does, and both commands say so.

use std::io;
use std::path::{Path, PathBuf};

use executor::hook::WAIT_S_MIN;

use crate::commands::hook::{self, Agent};
use crate::desk::terminal::{Terminal, TerminalError};
use crate::home::{Home, NoHome, user_folder};
use crate::output::{Exit, Failure, Output};
use crate::settings::claude::{self, Wish};
use crate::settings::difference;
use crate::settings::file::{SettingsError, SettingsFile};
use crate::settings::tree::{Tree, indentation};

/// Shown below the help.
pub(crate) const CONNECT_EXAMPLE: &str = "Example:\n  sealward connect claude\n\nIt gates every tool call. Read-only tools below the working directory pass unasked, all others wait for you.";
/// Shown below the help.
pub(crate) const DISCONNECT_EXAMPLE: &str = "Example:\n  sealward disconnect claude";

#[derive(clap::Args, Debug)]
pub(crate) struct ConnectArgs {
    /// Which agent
    #[arg(value_name = "AGENT", value_parser = hook::agent)]
    agent: Agent,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Also answer the agent's own permission dialog, when an approval comes before its user's click
    #[arg(long)]
    dialog: bool,
    /// The settings file [default: the agent's own for this user]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// How long a call waits for you; later answers are picked up by the same call
    #[arg(long, value_name = "SECONDS", default_value_t = hook::WAIT_S, value_parser = clap::value_parser!(u64).range(WAIT_S_MIN..=hook::WAIT_S_MAX))]
    wait: u64,
}

#[derive(clap::Args, Debug)]
pub(crate) struct DisconnectArgs {
    /// Which agent
    #[arg(value_name = "AGENT", value_parser = hook::agent)]
    agent: Agent,
    /// The settings file [default: the agent's own for this user]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Taken for symmetry with `connect`: leaving is never asked about
    #[arg(long, hide = true)]
    yes: bool,
}

/// The agent could not be connected or disconnected.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    NoHome(#[from] NoHome),
    #[error("where this program lies cannot be found out")]
    Program(#[source] io::Error),
    #[error("the path of this program or of the home is not UTF-8, so it cannot stand in settings")]
    NotText,
    #[error("nobody can be asked; look at the change above and give --yes")]
    NoTerminal(#[from] TerminalError),
}

/// Where Claude Code keeps its user's settings, seen from that user's folder.
const CLAUDE_SETTINGS: &str = ".claude/settings.json";

/// The settings file of the user who runs this.
///
/// # Errors
/// [`NoHome`] where the user database has no folder.
pub(crate) fn default_settings() -> Result<PathBuf, NoHome> {
    Ok(user_folder()?.join(CLAUDE_SETTINGS))
}

pub(crate) fn connect(args: &ConnectArgs, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let done = try_connect(args, home, out).map_err(Failure::cannot)?;
    if done == Exit::Done && !home.executor_config().exists() {
        out.note(format_args!(
            "sealward: there is nothing in `{}` yet; until `sealward up` has run, every call is blocked.",
            home.dir().display()
        ));
    }
    Ok(done)
}

fn try_connect(args: &ConnectArgs, home: &Home, out: &mut Output) -> Result<Exit, ConnectError> {
    let file = open(args.settings.as_deref())?;
    let settings = parse(&file)?;
    let program = std::env::current_exe().and_then(std::fs::canonicalize).map_err(ConnectError::Program)?;
    let command = claude::command(&program, home.dir(), args.wait).ok_or(ConnectError::NotText)?;
    let wish = Wish { command, timeout: args.wait, dialog: args.dialog };
    let connected = claude::connected(&settings, &wish).map_err(|bad| form(&file, bad.to_string()))?;
    if means_the_same(&connected, &settings) {
        out.line(format_args!("{} is connected already; nothing changes.", args.agent.0.title));
        return Ok(Exit::Done);
    }
    let before = file.text().unwrap_or_default();
    let after = connected.written(&indentation(before));
    show(&file, before, &after, out);
    if !args.yes && !asked(file.path())? {
        out.line("Nothing was written.");
        return Ok(Exit::Refused);
    }
    if !claude::hooks(&settings).iter().any(|hook| hook.ours) {
        file.back_up()?;
    }
    file.replace(Some(&after))?;
    out.line(format_args!(
        "{} is connected: from its next start on its tool calls ask you, for up to {} s each.\n\
         `sealward try` shows the road, `sealward doctor` checks it, `sealward disconnect {}` undoes it.\n\
         This guards against mistakes: code that runs as your own user can take the hook out.",
        args.agent.0.title, args.wait, args.agent.0.agent,
    ));
    Ok(Exit::Done)
}

pub(crate) fn disconnect(args: &DisconnectArgs, _home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    try_disconnect(args, out).map_err(Failure::cannot)
}

fn try_disconnect(args: &DisconnectArgs, out: &mut Output) -> Result<Exit, ConnectError> {
    let DisconnectArgs { agent, settings, yes: _ } = args;
    let file = open(settings.as_deref())?;
    let settings = parse(&file)?;
    if !claude::hooks(&settings).iter().any(|hook| hook.ours) {
        out.line(format_args!("{} is not connected; nothing changes.", agent.0.title));
        return Ok(Exit::Done);
    }
    let left = claude::disconnected(&settings).map_err(|bad| form(&file, bad.to_string()))?;
    let before = file.text().unwrap_or_default();
    let backup = file.backup_text()?;
    // Where nothing else was changed since, the very text of then comes back, white space and all.
    let same = backup.as_deref().filter(|text| {
        let back = Tree::parse(text).ok().and_then(|then| claude::there_and_back(&then).ok());
        back.is_some_and(|back| means_the_same(&back, &left))
    });
    let after = match same {
        Some(text) => Some(text.to_owned()),
        None if backup.is_none() && left == Tree::Object(Vec::new()) => None,
        None => Some(left.written(&indentation(before))),
    };
    show(&file, before, after.as_deref().unwrap_or_default(), out);
    file.replace(after.as_deref())?;
    if backup.is_some() && same.is_none() {
        out.note(format_args!(
            "sealward: other settings have changed since; those of before are in `{}`.",
            file.backup().display()
        ));
    } else {
        file.drop_backup()?;
    }
    out.line(format_args!("{} is disconnected: its calls no longer ask.", agent.0.title));
    Ok(Exit::Done)
}

fn means_the_same(one: &Tree, other: &Tree) -> bool {
    matches!((one.deep(), other.deep()), (Ok(one), Ok(other)) if one == other)
}

fn open(given: Option<&Path>) -> Result<SettingsFile, ConnectError> {
    let path = match given {
        Some(path) => path.to_path_buf(),
        None => default_settings()?,
    };
    Ok(SettingsFile::read(&path)?)
}

/// The settings; an absent or empty file has none.
fn parse(file: &SettingsFile) -> Result<Tree, ConnectError> {
    match file.text() {
        Some(text) if !text.trim().is_empty() => Tree::parse(text).map_err(|bad| form(file, bad.to_string())),
        Some(_) | None => Ok(Tree::Object(Vec::new())),
    }
}

fn form(file: &SettingsFile, what: String) -> ConnectError {
    SettingsError::Form { path: file.path().to_path_buf(), what }.into()
}

fn show(file: &SettingsFile, before: &str, after: &str, out: &mut Output) {
    out.line(format_args!("{}:\n{}", file.path().display(), difference::between(before, after)));
}

/// Asks at the terminal; only a yes is a yes.
fn asked(path: &Path) -> Result<bool, ConnectError> {
    let mut terminal = Terminal::open()?;
    terminal.show(&format!("Write this to {}? [y/N] ", path.display()))?;
    let answer = terminal.line()?.unwrap_or_default();
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "j" | "ja"))
}
