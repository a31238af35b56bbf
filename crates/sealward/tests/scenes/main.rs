//! Part 1 end to end: the real binary, real sockets, a real terminal, real Chromium with a virtual authenticator.
//!
//! Each scene has a world and a browser of its own. Not here: anything one crate can show by itself.
#![cfg(test)]

mod batches;
mod broker;
mod browser;
mod claude;
mod denials;
mod gates;
mod hostile;
mod liar;
mod outages;
mod road;
mod smuggler;
mod tampering;

use testkit::World;

/// The program under test.
const SEALWARD: &str = env!("CARGO_BIN_EXE_sealward");

/// A fresh installation with an undo window of one second, so that scenes need not wait five for every seal.
fn world() -> World {
    World::new(SEALWARD)
}
