//! The command table: every command, its flags, its help and its example, in one place.
//!
//! Completions and man pages are made from [`Cli`] too, so nothing else may describe the commands.
//! The work itself is in one module per command, and each such module has the same face:
//!
//! ```text
//! #[derive(clap::Args, Debug)]
//! pub(crate) struct Args { … }                       // doc comments become the help
//! pub(crate) const EXAMPLE: &str = "Example:\n  sealward NAME …";
//! pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure>;
//! ```
//!
//! A new command is a `mod` line in `commands.rs`, a variant of [`Command`] and an arm in [`dispatch`].
//! Commands are blocking; only `hub` builds a runtime. `Home` finds nothing on disk by itself: it is a folder name.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    agents, approvers, audit, connect, doctor, enrol, health, hook, hub, pause, proof, try_road, up,
};
use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Agents propose, you seal, nothing else runs.
#[derive(Parser, Debug)]
#[command(
    name = "sealward",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  sealward up\n\nExit codes: 0 done, 1 refused or a finding, 2 wrong use, 3 could not (disk, network, hub)."
)]
pub(crate) struct Cli {
    /// Folder with pins, token, grants and the hub's files [default: ~/.local/share/sealward]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Lay out the home, start the hub, print the page's address and an enrolment link
    #[command(after_help = up::EXAMPLE)]
    Up(up::Args),
    /// Make a link for a further device and pin its key at this terminal
    #[command(after_help = enrol::EXAMPLE)]
    Enrol(enrol::Args),
    /// List, pin and revoke the keys that may approve
    #[command(after_help = approvers::EXAMPLE)]
    Approvers(approvers::Args),
    /// Make, list and revoke machines' tokens
    #[command(after_help = agents::EXAMPLE)]
    Agents(agents::Args),
    /// Put the hook into an agent's settings, after showing what changes
    #[command(after_help = connect::CONNECT_EXAMPLE)]
    Connect(connect::ConnectArgs),
    /// Take the hook out of an agent's settings
    #[command(after_help = connect::DISCONNECT_EXAMPLE)]
    Disconnect(connect::DisconnectArgs),
    /// Send a sample call down the whole road; nothing is run
    #[command(after_help = try_road::EXAMPLE)]
    Try(try_road::Args),
    /// Look at everything the road stands on; exit 1 where something is bad
    #[command(after_help = doctor::EXAMPLE)]
    Doctor(doctor::Args),
    /// Stop every release and rule at once
    #[command(after_help = pause::PAUSE_EXAMPLE)]
    Pause(pause::PauseArgs),
    /// Say where a person lifts the pause
    #[command(after_help = pause::RESUME_EXAMPLE)]
    Resume(pause::ResumeArgs),
    /// Ask the hub whether it is well; exit 0 or 1
    #[command(after_help = health::EXAMPLE)]
    Health(health::Args),
    /// Run the hub alone, as servers do
    #[command(after_help = hub::EXAMPLE)]
    Hub(hub::Args),
    /// Check a proof by itself, as executors do
    #[command(after_help = proof::EXAMPLE)]
    Proof(proof::Args),
    /// Check and read the broker's log
    #[command(after_help = audit::EXAMPLE)]
    Audit(audit::Args),
    /// Answer an agent's hook: ask, wait, check the proof (agents run this)
    #[command(after_help = hook::EXAMPLE)]
    Hook(hook::Args),
}

/// Parses the arguments and runs the command.
///
/// # Errors
/// Whatever the command could not or would not do; help and wrong use are not errors but exits.
pub(crate) fn run<I>(args: I, out: &mut Output) -> Result<Exit, Failure>
where
    I: IntoIterator<Item = OsString>,
{
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(wrong) => return Ok(out.usage(&wrong)),
    };
    // An agent takes any exit code but 2 for leave.
    let hook = matches!(cli.command, Command::Hook(_));
    let home = Home::choose(cli.home).map_err(|failure| if hook { failure.with_code(2) } else { failure })?;
    dispatch(&cli.command, &home, out)
}

fn dispatch(command: &Command, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    match command {
        Command::Hook(args) => hook::run(args, home, out),
        Command::Connect(args) => connect::connect(args, home, out),
        Command::Disconnect(args) => connect::disconnect(args, home, out),
        Command::Try(args) => try_road::run(args, home, out),
        Command::Doctor(args) => doctor::run(args, home, out),
        Command::Up(args) => up::run(args, home, out),
        Command::Hub(args) => hub::run(args, home, out),
        Command::Enrol(args) => enrol::run(args, home, out),
        Command::Approvers(args) => approvers::run(args, home, out),
        Command::Agents(args) => agents::run(args, home, out),
        Command::Pause(args) => pause::pause(args, home, out),
        Command::Resume(args) => pause::resume(args, home, out),
        Command::Health(args) => health::run(args, home, out),
        Command::Proof(args) => proof::run(args, home, out),
        Command::Audit(args) => audit::run(args, home, out),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// Walks the table, so that a command without an example fails here and not in front of a reader.
    fn without_example(command: &clap::Command, path: &str, missing: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !help.contains(&format!("Example:\n  {path}")) {
            missing.push(path.to_owned());
        }
        for sub in command.get_subcommands() {
            without_example(sub, &format!("{path} {}", sub.get_name()), missing);
        }
    }

    #[test]
    fn every_command_has_an_example_that_begins_with_its_own_name() {
        let mut missing = Vec::new();
        without_example(&Cli::command(), "sealward", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn the_command_table_is_sound() {
        Cli::command().debug_assert();
    }
}
