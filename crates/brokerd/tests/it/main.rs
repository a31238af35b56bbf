//! The broker from outside: the real program, its socket and its log.
#![cfg(test)]

mod broker;
mod kills;
mod protocol;
mod sandbox;
