//! The agent loop: a conversation with a model, whose every tool call goes to the broker. It can do nothing by itself.
//!
//! Deliberately not here: decisions, powers, keys and proofs. This crate names neither the broker's code nor `policy` nor `proof`;
//! it knows the broker as a socket. It starts no program and opens no file but its own sessions.
//!
//! Invariant: every tool call that a model makes has exactly one result in its session, whatever dies in between.

pub mod baseline;
pub mod broker_port;
pub mod cli;
mod clock;
pub mod config;
mod history;
pub mod llama;
pub mod session;
pub mod tools;
pub mod turn;
