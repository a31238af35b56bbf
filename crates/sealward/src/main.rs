//! The one command people type. This file only starts it; `cli` holds the command table, `output` all printing.
//!
//! Invariant: nothing here decides whether something may run; that is `proof` and `policy`.
//! Not here: the hub's routes (`hub`), the hook's answers (`executor`). Nobody may depend on this crate.

mod chance;
mod cli;
mod clock;
mod commands;
mod desk;
mod home;
mod output;
mod settings;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = output::Output::standard();
    let ended = cli::run(std::env::args_os(), &mut out);
    out.finish(ended)
}
