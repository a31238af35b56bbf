//! A WebAuthn assertion under one pinned key (steps 3 to 5).
//!
//! clientDataJSON is read twice, by a JSON parser and by WebAuthn Level 3's limited verification, which needs none; both must
//! agree. No CBOR: keys are pinned as SPKI, and extensions are signed but not looked at.
//! The sign counter is not looked at here: it is never a reason to refuse ([`sign_count`] reports it).

use proto::api::PinEntry;
use proto::{Digest, Refusal, b64, sha256};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::keys::PublicKey;

const TYPE: &str = "webauthn.get";
const FLAG_UP: u8 = 0x01;
const FLAG_UV: u8 = 0x04;
const FLAG_BE: u8 = 0x08;
const FLAG_BS: u8 = 0x10;
const FLAG_AT: u8 = 0x40;
const FLAG_ED: u8 = 0x80;
/// rpIdHash (32), flags (1), sign counter (4).
const HEAD_BYTES: usize = 37;

/// The parts of an assertion, decoded.
pub(crate) struct Assertion<'a> {
    pub(crate) authenticator_data: &'a [u8],
    pub(crate) client_data: &'a [u8],
    pub(crate) signature: &'a [u8],
}

/// clientDataJSON. Members that are not listed are allowed (Chromium adds some on purpose), a listed one twice is not.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default, deserialize_with = "written")]
    cross_origin: Option<bool>,
    #[serde(rename = "topOrigin", default, deserialize_with = "present")]
    top_origin: bool,
}

/// `true` or `false`, but not `null`, which `Option` would take as absent.
fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(deserializer).map(Some)
}

/// Any value at all counts as present, `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|IgnoredAny| true)
}

/// Steps 3 to 5.
pub(crate) fn check(
    assertion: &Assertion<'_>,
    challenge: &Digest,
    entry: &PinEntry,
    key: &PublicKey,
) -> Result<(), Refusal> {
    check_client_data(assertion.client_data, challenge, &entry.origins)?;
    check_authenticator_data(assertion.authenticator_data, entry)?;
    check_signature(assertion, key)
}

/// Step 3.
fn check_client_data(bytes: &[u8], challenge: &Digest, origins: &[String]) -> Result<(), Refusal> {
    if bytes.first() != Some(&b'{') {
        return Err(Refusal::Malformed);
    }
    let data: ClientData = serde_json::from_slice(bytes).map_err(|_| Refusal::Malformed)?;
    if data.kind != TYPE {
        return Err(Refusal::WrongType);
    }
    if data.challenge != b64::encode(challenge.as_bytes()) {
        return Err(Refusal::WrongChallenge);
    }
    if !origins.contains(&data.origin) {
        return Err(Refusal::WrongOrigin);
    }
    if data.cross_origin == Some(true) || data.top_origin {
        return Err(Refusal::CrossOrigin);
    }
    let head = limited_head(challenge, &data.origin, data.cross_origin.is_some());
    match bytes.strip_prefix(head.as_bytes()).and_then(<[u8]>::first) {
        Some(b',' | b'}') => Ok(()),
        Some(_) | None => Err(Refusal::Malformed),
    }
}

/// How clientDataJSON must begin by the limited verification algorithm; without `crossOrigin` as WebKit writes it.
fn limited_head(challenge: &Digest, origin: &str, cross_origin: bool) -> String {
    let mut head =
        format!(r#"{{"type":"{TYPE}","challenge":"{}","origin":""#, b64::encode(challenge.as_bytes()));
    for letter in origin.chars() {
        match letter {
            '"' => head.push_str("\\\""),
            '\\' => head.push_str("\\\\"),
            '\0'..='\x1f' => head.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => head.push(letter),
        }
    }
    head.push('"');
    if cross_origin {
        head.push_str(r#","crossOrigin":false"#);
    }
    head
}

/// Step 4.
fn check_authenticator_data(data: &[u8], entry: &PinEntry) -> Result<(), Refusal> {
    let (head, extensions) = data.split_first_chunk::<HEAD_BYTES>().ok_or(Refusal::Malformed)?;
    let (rp_id_hash, rest) = head.split_first_chunk::<32>().ok_or(Refusal::Malformed)?;
    let flags = rest.first().copied().ok_or(Refusal::Malformed)?;
    let flagged = |flag: u8| flags & flag != 0;
    if flagged(FLAG_ED) == extensions.is_empty() || flagged(FLAG_AT) {
        return Err(Refusal::Malformed);
    }
    if rp_id_hash != sha256(entry.rp_id.as_bytes()).as_bytes() {
        return Err(Refusal::WrongRp);
    }
    if !flagged(FLAG_UP) {
        return Err(Refusal::UserAbsent);
    }
    if !flagged(FLAG_UV) {
        return Err(Refusal::UserUnverified);
    }
    if (flagged(FLAG_BS) && !flagged(FLAG_BE)) || flagged(FLAG_BE) != entry.backup_eligible {
        return Err(Refusal::BackupMismatch);
    }
    Ok(())
}

/// Step 5: over authenticatorData and the hash of clientDataJSON, with the pinned algorithm.
fn check_signature(assertion: &Assertion<'_>, key: &PublicKey) -> Result<(), Refusal> {
    let mut message = assertion.authenticator_data.to_vec();
    message.extend_from_slice(sha256(assertion.client_data).as_bytes());
    if key.verifies(&message, assertion.signature) { Ok(()) } else { Err(Refusal::BadSignature) }
}

/// The sign counter, for the report of a regression.
pub(crate) fn sign_count(authenticator_data: &[u8]) -> Option<u32> {
    authenticator_data.get(33..HEAD_BYTES)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests;
