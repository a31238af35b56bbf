//! What the hub records, one event for every change of state. How they are stored and who may read which is the store's.

use serde::{Deserialize, Serialize};

use crate::{Channel, Kind, Timestamp};

/// One event of the hub's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "each variant says what its members are")]
pub enum HubEvent {
    /// An item asks for a decision.
    Asked { id: String, item_kind: Kind, agent: String, executor: String, session: String, tool: String },
    /// A batch waits for further persons.
    Collecting { batch: String, ids: Vec<String>, label: String },
    /// A further person signed a collecting batch.
    Signed { batch: String, label: String, have: u32, need: u32 },
    /// A batch has all its signatures; its undo window ends at `settles`.
    Approved { batch: String, ids: Vec<String>, labels: Vec<String>, settles: Timestamp },
    /// A batch was withdrawn before it settled.
    Undone { batch: String, ids: Vec<String>, label: String },
    /// A batch's proof was released to its executors.
    Allowed { batch: String, ids: Vec<String> },
    /// A person said no; `nonce` is the denial's.
    Denied { ids: Vec<String>, nonce: String, channel: Channel, reason: String, label: String },
    /// Nobody answered.
    Expired { id: String },
    /// The asker withdrew.
    Cancelled { id: String, agent: String },
    /// Answered at the agent's own terminal.
    Superseded { id: String, agent: String },
    /// A denial is delivered to other agents.
    Message { nonce: String, channel: Channel, label: String },
    /// A `pin` proof was accepted.
    Pinned { key: String, executor: String, label: String },
    /// A `revoke` proof was accepted.
    Revoked { what: String, id: String, label: String },
    /// An item was allowed by a signed rule.
    Rule { rule: String, id: String },
    /// A rule was made, disabled or deleted.
    RuleChange { rule: String, change: String, label: String },
    /// All releases stop.
    Paused { by: String },
    /// Releases go on.
    Resumed { label: String },
    /// A token was made.
    AgentAdded { name: String, role: String, executors: Vec<String> },
    /// A token was revoked.
    AgentRevoked { name: String },
    /// A person logged in.
    Login { label: String, session: String },
    /// A login ended.
    Logout { label: String, session: String },
    /// A key was proposed over an enrolment link.
    EnrolProposed { fingerprint: String, label: String },
    /// A proof was refused, with its code.
    ProofRefused { code: String, by: String },
    /// Something an operator should read.
    Warning { text: String },
}

impl HubEvent {
    /// The word that stands in `kind`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Asked { .. } => "asked",
            Self::Collecting { .. } => "collecting",
            Self::Signed { .. } => "signed",
            Self::Approved { .. } => "approved",
            Self::Undone { .. } => "undone",
            Self::Allowed { .. } => "allowed",
            Self::Denied { .. } => "denied",
            Self::Expired { .. } => "expired",
            Self::Cancelled { .. } => "cancelled",
            Self::Superseded { .. } => "superseded",
            Self::Message { .. } => "message",
            Self::Pinned { .. } => "pinned",
            Self::Revoked { .. } => "revoked",
            Self::Rule { .. } => "rule",
            Self::RuleChange { .. } => "rule_change",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::AgentAdded { .. } => "agent_added",
            Self::AgentRevoked { .. } => "agent_revoked",
            Self::Login { .. } => "login",
            Self::Logout { .. } => "logout",
            Self::EnrolProposed { .. } => "enrol_proposed",
            Self::ProofRefused { .. } => "proof_refused",
            Self::Warning { .. } => "warning",
        }
    }
}
