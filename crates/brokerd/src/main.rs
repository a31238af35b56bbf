//! The broker: tool calls in over a Unix socket, the pipeline, tool execution, the journal. It holds every power.
//!
//! Deliberately not here: conversations and models (`loopd`), what is shown to people (`hub`), what a grant means (`policy`), how a
//! proof is checked (`proof`), how a record becomes durable (`audit`). Nobody depends on this crate; it is a program.
//!
//! Invariant: a tool runs only with an authority that `policy` or `proof` made for exactly that call, and after the record of the
//! decision is durable.

mod beneath;
mod broker;
mod cli;
mod clock;
mod config;
mod connection;
mod desk;
mod grants;
mod pipeline;
mod sandbox;
mod socket;
mod tools;

fn main() -> std::process::ExitCode {
    cli::main()
}
