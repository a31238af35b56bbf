//! Records of the broker's log. How they reach the disk is `audit`'s; the chain they stand in is [`crate::chain`].

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Digest, Refusal, SessionId, Timestamp};

/// One line of the broker's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Hash of the line before.
    pub prev: Digest,
    /// What happened.
    pub event: AuditEvent,
    /// Hash of this line.
    pub hash: Digest,
}

/// What the broker records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AuditEvent {
    /// A call was decided. Durable before it is answered.
    Decision {
        /// The session that asked.
        session: SessionId,
        /// The call's id inside its session.
        call: String,
        /// The tool.
        tool: String,
        /// The exact text of the arguments.
        arguments: String,
        /// How it ended.
        outcome: DecisionRecord,
        /// The grant that decided.
        grant: Option<String>,
        /// What each stage said, in order.
        stages: Vec<String>,
        /// Which start of the broker this was.
        boot: String,
        /// Digest of the loaded set of grants.
        grants: Digest,
    },
    /// An allowed call ran.
    Outcome {
        /// The session.
        session: SessionId,
        /// The call's id.
        call: String,
        /// Exit code, where there is one.
        exit: Option<i32>,
        /// Bytes of its result.
        bytes: u64,
        /// What went wrong, where something did.
        error: Option<String>,
    },
    /// A proof was checked.
    ProofUsed {
        /// The call's id.
        call: String,
        /// Hash of the item.
        item: Digest,
        /// Labels of those who signed.
        signers: Vec<String>,
        /// Why it was refused, where it was.
        refused: Option<Refusal>,
    },
    /// Something an operator should read.
    Warning {
        /// What happened.
        text: String,
    },
}

/// How a call was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecisionRecord {
    /// It may run.
    Allowed {
        /// On whose word: `grant`, `reviewer`, `client`, `proof`.
        by: String,
    },
    /// It may not.
    Denied {
        /// Why.
        reason: DenyReason,
    },
}

/// Why a call was denied. Each has its fixed sentence; a person's reason is quoted only when its proof verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case", deny_unknown_fields)]
pub enum DenyReason {
    /// The record could not be written, so nothing was granted.
    AuditFailed,
    /// The arguments break the tool's schema.
    BadArguments {
        /// What is wrong with them.
        detail: String,
    },
    /// Whoever asked withdrew.
    Cancelled,
    /// Nobody answered in time.
    Expired,
    /// A grant denies it.
    Grant {
        /// The grant's name.
        name: String,
    },
    /// No grant allows it.
    NoGrant,
    /// A person said no.
    Person {
        /// The reason, quoted from a verified proof; empty when none was given or it did not verify.
        reason: String,
    },
    /// The proof that came was refused.
    Proof {
        /// Why.
        refusal: Refusal,
    },
    /// The automatic reviewer said no.
    Reviewer {
        /// Its reason, which is the reviewer's word and no more.
        reason: String,
    },
    /// Too many calls wait already.
    Overloaded,
    /// Whoever should decide cannot be reached.
    Unavailable {
        /// What could not be reached.
        detail: String,
    },
    /// The tool is not offered.
    UnknownTool,
}

impl fmt::Display for DenyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AuditFailed => {
                f.write_str("Denied: the decision could not be recorded, so nothing is allowed.")
            }
            Self::BadArguments { detail } => {
                write!(f, "Denied: the arguments do not fit the tool: {detail}.")
            }
            Self::Cancelled => f.write_str("Cancelled: the call was withdrawn before it was decided."),
            Self::Expired => f.write_str("Expired: nobody answered in time. This is not a refusal."),
            Self::Grant { name } => write!(f, "Denied: the grant `{name}` denies this call."),
            Self::NoGrant => f.write_str("Denied: no grant allows this call."),
            Self::Person { reason } if reason.is_empty() => f.write_str("Denied: a person said no."),
            Self::Person { reason } => write!(f, "Denied: a person said no: {reason}"),
            Self::Proof { refusal } => write!(f, "Denied: the proof was refused: {}.", refusal.sentence()),
            Self::Reviewer { reason } => write!(f, "Denied: the automatic reviewer said no: {reason}"),
            Self::Overloaded => {
                f.write_str("Unavailable: too many calls wait for a decision; try again later.")
            }
            Self::Unavailable { detail } => {
                write!(f, "Unavailable: the call was not decided, because {detail}. This is not a refusal.")
            }
            Self::UnknownTool => f.write_str("Denied: there is no such tool."),
        }
    }
}
