//! What the tests of every crate share: a software passkey, payloads, pin files, a home folder with the real programs on it, and waiting.
//!
//! Written from the design page on proofs and from `docs/protocol.md`, not from our own crates: it builds items, payloads and
//! signatures a second time, so that a mistake in `proof` cannot hide in a test that shares it. It therefore uses no crate of ours.
//! It is not part of any product: only dev-dependencies may name it.
//!
//! Invariant: nothing here sleeps but [`until`], and everything that was started is ended by its own process id on drop.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support: a failure here is the failure of the test that called it"
)]

mod desk;
mod fake_model;
mod golden;
mod http;
mod item;
mod passkey;
mod payload;
mod pins;
mod program;
mod proxy;
mod temp;
mod terminal;
mod wait;
mod world;

pub use desk::Desk;
pub use fake_model::{FakeModel, Reply};
pub use golden::Golden;
pub use http::{Answer, Http};
pub use item::{Fields, hash_item, new_id, random_hex};
pub use passkey::{Alg, Bend, SoftPasskey, pae, proof_of, proof_with};
pub use payload::{LOGIN_TYPE, PROOF_TYPE, Payload, nonce};
pub use pins::{approvers_file, fingerprint, write_private};
pub use program::{Program, Run, Running};
pub use proxy::{Asked, Deed, Proxy};
pub use temp::Temp;
pub use terminal::Terminal;
pub use wait::{now_ms, until, within};
pub use world::{Machine, World};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Bytes as base64url without padding, the only form on the wire.
#[must_use]
pub fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of base64url text without padding; panics on anything else.
#[must_use]
pub fn unb64(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64url without padding")
}

/// SHA-256.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
