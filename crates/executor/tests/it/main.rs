//! The hook from outside: real events in, a scripted hub on a real socket, real proofs, and the agent's answer out.
#![cfg(test)]

mod golden;
mod late;
mod messages;
mod proofs;
mod seat;
mod trouble;
