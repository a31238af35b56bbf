//! The hub from outside: real sockets, a real database, software passkeys.
#![cfg(test)]

mod asks;
mod audiences;
mod denials;
mod events;
mod house;
mod life;
mod login;
mod sealing;
mod shapes;
mod tampering;
mod tls;
mod trust;
