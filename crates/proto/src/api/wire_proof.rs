//! Proofs, signatures, pin entries and entries as they stand on the wire. Nothing here is checked; `proof` reads proofs its own,
//! stricter way.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Kind, Timestamp};

/// One item as the caller believes it to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// The chosen option of a decision, else empty.
    pub choice: String,
    /// SHA-256 of a command's text, else empty.
    pub sha256: String,
}

/// A proof: payload and signatures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// `application/vnd.sealward.proof.v1+json`.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Base64url of the exact bytes.
    pub payload: String,
    /// At least one.
    pub signatures: Vec<Signature>,
    /// The whole delegation, for a vouch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Box<RawValue>>,
}

/// One signature of exactly one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the proof page of the design is their documentation")]
pub struct Signature {
    pub keyid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webauthn: Option<WebAuthn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sshsig: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ed25519: Option<String>,
}

/// A WebAuthn assertion, each member base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "WebAuthn names them")]
pub struct WebAuthn {
    #[serde(rename = "authenticatorData")]
    pub authenticator_data: String,
    #[serde(rename = "clientDataJSON")]
    pub client_data_json: String,
    pub signature: String,
}

/// A pinned key, or one that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinEntry {
    /// Credential id, base64url.
    pub id: String,
    /// COSE algorithm: -7, -8 or -257.
    pub alg: i64,
    /// Base64url DER.
    pub spki: String,
    /// Relying party id, or the application of an SSH key.
    pub rp_id: String,
    /// Exact origins; empty for an SSH key.
    pub origins: Vec<String>,
    /// What people call it.
    pub label: String,
    /// Whose it is; a key without one counts as its own person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it lapses.
    pub not_after: Option<Timestamp>,
    /// As it was when pinned.
    pub backup_eligible: bool,
    /// When it was pinned.
    pub since: Timestamp,
}
