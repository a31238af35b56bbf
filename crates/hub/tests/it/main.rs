//! The hub from outside: real sockets, a real database, software passkeys.
#![cfg(test)]

mod asks;
mod audiences;
mod house;
mod sealing;
