//! The inbox as the page and a terminal read it: rows, batches and what stands beside them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Entry, Guard, Role};
use crate::{Channel, Digest, Item, Kind, Status, Timestamp};

/// `GET /api/snapshot`.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Inbox {
    pub inbox: Vec<Row>,
    pub next: Option<String>,
    pub total: u64,
    pub jobs: Vec<Box<RawValue>>,
    pub rules: Vec<Box<RawValue>>,
    pub delegations: Vec<Box<RawValue>>,
    pub batches: Vec<BatchRow>,
    pub agents: Vec<AgentRow>,
    pub messages: Vec<PinnedMessage>,
    pub head: Head,
    pub hub: String,
    pub paused: bool,
    pub undo_ms: i64,
    pub now: Timestamp,
    pub pins: Vec<PinRow>,
    pub today: Today,
}

/// One row of the inbox.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Row {
    pub kind: Kind,
    pub id: String,
    pub item: Item,
    /// Further pending asks that are equal but for their id.
    pub also: Vec<String>,
    pub status: Status,
    pub agent: String,
    pub executor: String,
    pub host: Option<String>,
    pub thread: Option<String>,
    pub guard: Guard,
    pub why: Option<String>,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub quorum: u32,
    pub have: u32,
    pub batch: Option<String>,
    /// Why only a person may allow it.
    pub human_only: Option<String>,
    pub task: Option<String>,
    pub runnable: bool,
    /// SHA-256 of a command's text, else empty.
    pub sha256: String,
    pub job: Option<Box<RawValue>>,
}

/// Where a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchStatus {
    /// Waits for further persons.
    Collecting,
    /// It lapsed before enough persons signed.
    Expired,
    /// Released.
    Settled,
    /// Its undo window is open.
    Settling,
    /// Withdrawn.
    Undone,
}

/// Entries sealed by one payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct BatchRow {
    pub id: String,
    pub status: BatchStatus,
    /// Base64url of the exact bytes that were signed.
    pub payload: String,
    pub entries: Vec<Entry>,
    pub have: u32,
    pub need: u32,
    pub signers: Vec<String>,
    pub created: Timestamp,
    pub settles: Option<Timestamp>,
    pub expires: Timestamp,
}

/// A token, without the token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct AgentRow {
    pub name: String,
    pub role: Role,
    pub executors: Vec<String>,
    pub created: Timestamp,
    pub seen: Option<Timestamp>,
    pub revoked: bool,
}

/// A denial that stays shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct PinnedMessage {
    pub seq: u64,
    pub nonce: String,
    pub channel: Channel,
    pub reason: String,
    pub label: String,
    pub expires: Timestamp,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Number of the last event.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// Whether the chain verified up to here.
    pub verified: bool,
}

/// A pinned key of the hub's own file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct PinRow {
    pub id: String,
    pub label: String,
    pub person: Option<String>,
    pub alg: i64,
    pub fingerprint: String,
    pub since: Timestamp,
    pub revoked: bool,
}

/// What happened since midnight UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Today {
    pub allowed_by_you: u64,
    pub allowed_by_rule: u64,
    pub allowed_by_reviewer: u64,
    pub denied: u64,
    pub expired: u64,
}
