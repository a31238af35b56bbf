//! The command line as a person and a script meet it: the real binary, real terminals, real homes.
//!
//! Not here: the road of a call through hook, page and passkey (`tests/scenes`).
#![cfg(test)]

mod agents;
mod approvers;
mod connect;
mod doctor;
mod enrol;
mod hook;
mod pause;
mod proof_check;
mod try_road;
mod up;
mod usage;

use testkit::{Alg, SoftPasskey, World, fingerprint};

/// The program under test.
const SEALWARD: &str = env!("CARGO_BIN_EXE_sealward");

/// A home that is laid out, with its hub running.
fn world() -> World {
    World::fresh(SEALWARD)
}

/// The last six characters of a key's fingerprint, as its device shows them.
fn last_six(key: &SoftPasskey) -> String {
    let shown = fingerprint(&key.spki()).replace('-', "");
    shown.chars().skip(shown.len() - 6).collect()
}

/// Six characters that are not the end of that key's fingerprint.
fn wrong_six(key: &SoftPasskey) -> String {
    last_six(key).chars().map(|c| if c == 'A' { 'B' } else { 'A' }).collect()
}

/// Opens the enrolment link as a device does and proposes this key; gives the answer.
fn propose(world: &World, link: &str, key: &SoftPasskey) -> testkit::Answer {
    let code = link.split("#enrol=").nth(1).expect("a link with a code");
    world.browser().post("/api/enrol", &serde_json::json!({ "code": code, "key": key.pin_entry() }))
}

/// The ids in a pin file of that world.
fn pinned(world: &World, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join(file)).expect("a pin file");
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let keys = file["keys"].as_array().expect("keys");
    keys.iter().map(|key| key["id"].as_str().expect("an id").to_owned()).collect()
}

/// A passkey for that world's page.
fn passkey(world: &World) -> SoftPasskey {
    world.passkey(Alg::Es256)
}
