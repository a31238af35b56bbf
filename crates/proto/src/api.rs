//! The hub's HTTP API as types, one for each body in `docs/protocol.md`. Routes, statuses and checks are the hub's.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Channel, Kind, Status, Timestamp};

mod inbox;
mod wire_proof;

pub use inbox::{AgentRow, BatchRow, BatchStatus, Head, Inbox, PinRow, PinnedMessage, Row, Today};
pub use wire_proof::{Entry, PinEntry, Proof, Signature, WebAuthn};

/// An error as `application/problem+json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Always `about:blank`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: String,
    /// What happened, what it means for the action, what to do.
    pub detail: String,
    /// Ids that are not as the caller thought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
}

/// `POST /api/asks`. An ask has `input` and `cwd`, a call has `arguments`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the item's fields are the design's; the others are documented in docs/protocol.md"
)]
pub struct NewAsk {
    pub kind: Kind,
    /// Persons that must sign, as the executor's pin file or grant demands.
    pub quorum: u32,
    pub id: String,
    pub executor: String,
    pub session: String,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
}

/// Whether the agent's own user could go round the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guard {
    /// A user of its own: binding.
    System,
    /// The agent's own user: cooperative.
    User,
}

/// Answer to `POST /api/asks` and `…/close`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The item.
    pub id: String,
    /// Where it stands.
    pub status: Status,
    /// When it lapses; absent where it no longer waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// `GET /api/asks/{id}`. The proof's exact text travels; nobody re-encodes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskState {
    /// Where it stands.
    pub status: Status,
    /// The released proof, once allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<RawValue>>,
    /// The denial, once denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
}

/// A denial, with the proof that lets its reader check it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Denial {
    /// On which channel.
    pub channel: Channel,
    /// Why; the hub's word until the proof is checked.
    pub reason: String,
    /// Who.
    pub label: String,
    /// The signed denial.
    pub proof: Box<RawValue>,
}

/// `POST /api/asks/{id}/close`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// `cancelled` or `superseded`.
    pub status: Status,
}

/// `GET /api/messages`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Messages {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// What to pass as `since` next.
    pub next: u64,
}

/// A denial delivered to other agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Message {
    pub seq: u64,
    pub proof: Box<RawValue>,
    pub channel: Channel,
    pub reason: String,
    pub label: String,
    pub urgent: bool,
    pub pinned: bool,
}

/// `GET /api/trust`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trust {
    /// Oldest first.
    pub proofs: Vec<TrustProof>,
    /// What to pass as `since` next.
    pub next: u64,
}

/// A `pin` or `revoke` proof that every executor takes over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrustProof {
    /// Its number in the hub's log.
    pub seq: u64,
    /// `pin` or `revoke`.
    pub verb: String,
    /// The signed proof.
    pub proof: Box<RawValue>,
}

/// `GET /api/me` of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineMe {
    /// Always `machine`.
    pub audience: String,
    /// The token's name, which is the `agent` of its items.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Executors it may name.
    pub executors: Vec<String>,
    /// The hub's name.
    pub hub: String,
    /// Where a person opens the page.
    pub origin: String,
    /// Whether everything is paused.
    pub paused: bool,
    /// The hub's clock.
    pub now: Timestamp,
}

/// What a machine's token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Requests reviews, decisions, commands and rules.
    Agent,
    /// A terminal that signs.
    Approver,
    /// Asks and checks.
    Hook,
    /// The automatic reviewer.
    Reviewer,
    /// Runs commands.
    Runner,
}

impl Role {
    /// Every role, in the order of the words.
    pub const ALL: [Self; 5] = [Self::Agent, Self::Approver, Self::Hook, Self::Reviewer, Self::Runner];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Approver => "approver",
            Self::Hook => "hook",
            Self::Reviewer => "reviewer",
            Self::Runner => "runner",
        }
    }
}

/// `GET /api/events`: lines of the log as they stand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Events {
    /// Oldest first.
    pub events: Vec<Box<RawValue>>,
}

/// `POST /api/prepare`. Which members it has depends on the verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Prepare {
    pub verb: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<Entry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PinEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Answer to `POST /api/prepare`: help, never trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Prepared {
    pub payload: Box<RawValue>,
    pub credentials: Vec<String>,
    pub rp_id: String,
    pub covers: Vec<Cover>,
    pub warnings: Vec<String>,
}

/// One item that a payload covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "documented in docs/protocol.md")]
pub struct Cover {
    pub kind: Kind,
    pub id: String,
    pub hash: crate::Digest,
}

/// `POST /api/proofs`. The proof's text is taken as it stands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealing {
    /// The proof.
    pub proof: Box<RawValue>,
    /// What the caller believes it covers.
    #[serde(default)]
    pub entries: Vec<Entry>,
}
