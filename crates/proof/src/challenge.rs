//! What is hashed: items, the pre-authentication encoding, the challenge.
//!
//! All three are injective: lengths stand before bytes, so no two different inputs give the same text.

use proto::{Digest, Item, sha256};

/// The payload type of a proof.
pub const PROOF_TYPE: &str = "application/vnd.sealward.proof.v1+json";
/// The payload type of a login.
pub const LOGIN_TYPE: &str = "application/vnd.sealward.login.v1+json";

/// SHA-256 over kind and fields of an item, each with its length: the identity of what is sealed.
#[must_use]
pub fn item_hash(item: &Item) -> Digest {
    let mut text = format!("sealward/item/{}/v1\0", item.kind().as_str()).into_bytes();
    for (_, field) in item.fields() {
        let length = u64::try_from(field.len()).unwrap_or(u64::MAX);
        text.extend_from_slice(&length.to_be_bytes());
        text.extend_from_slice(field.as_bytes());
    }
    sha256(&text)
}

/// DSSE's pre-authentication encoding: `DSSEv1 len type len body`.
#[must_use]
pub fn pae(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let mut text = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), body.len()).into_bytes();
    text.extend_from_slice(body);
    text
}

/// The WebAuthn challenge of a proof's payload bytes.
#[must_use]
pub fn challenge(payload: &[u8]) -> Digest {
    sha256(&pae(PROOF_TYPE, payload))
}

/// The WebAuthn challenge of a login's payload bytes.
#[must_use]
pub fn login_challenge(payload: &[u8]) -> Digest {
    sha256(&pae(LOGIN_TYPE, payload))
}
