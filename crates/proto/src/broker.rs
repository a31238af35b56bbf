//! Frames between an agent loop and the broker: one JSON object a line. Sockets, decisions and tools are not here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{SessionId, audit::DenyReason};

/// The version both sides name in their hello.
pub const VERSION: u32 = 1;

/// What a loop sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClientFrame {
    /// The first frame.
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// What tools are there?
    #[serde(rename = "tools/list")]
    ToolsList {
        /// Comes back in the answer.
        id: u64,
    },
    /// Do this.
    Call(Box<CallRequest>),
    /// A click in the program that drives the loop; only after [`CallEvent::WaitingForPerson`] with assurance `client`.
    Answer {
        /// The call's `id`.
        call: u64,
        /// What was clicked.
        decision: ClientDecision,
    },
    /// Withdraw a call.
    Cancel {
        /// The call's `id`.
        call: u64,
    },
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// Names the call on its connection.
    pub id: u64,
    /// The session it belongs to: the loop's own claim.
    pub session: SessionId,
    /// The thread it belongs to.
    pub thread: String,
    /// The call's id inside its session.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The exact text that the model produced.
    pub arguments: String,
    /// Tail of the transcript, for the reviewer only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// How the thread wants to be reviewed; the broker clamps it.
    #[serde(default)]
    pub settings: ThreadSettings,
}

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// What was said.
    pub text: String,
}

/// How a thread wants to be reviewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadSettings {
    /// The model of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `user` or `auto_review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<String>,
    /// `untrusted`, `on-request` or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<String>,
}

/// What a person clicked in the program that drives the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientDecision {
    /// Yes.
    Accept,
    /// Stop the turn.
    Cancel,
    /// No, go on.
    Decline,
}

/// What a person's yes must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// A click in the program that drives the loop.
    Client,
    /// A passkey.
    Passkey,
    /// The passkeys of so many persons.
    Quorum(u32),
}

/// What the broker sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BrokerFrame {
    /// The first frame.
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// The tools.
    Tools {
        /// From the question.
        id: u64,
        /// What a model may call.
        tools: Vec<ToolInfo>,
    },
    /// Something happened on the way to a result.
    Event {
        /// The call's `id`.
        id: u64,
        /// What.
        event: CallEvent,
    },
    /// How a call ended; exactly one for each.
    Result {
        /// The call's `id`.
        id: u64,
        /// How.
        result: CallResult,
    },
    /// The last frame was not understood; the connection ends.
    Error {
        /// What was wrong.
        detail: String,
    },
}

/// A tool as a model reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// Something on the way to a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallEvent {
    /// It was allowed and runs.
    Allowed,
    /// A review began.
    ReviewStarted {
        /// Its id.
        review: String,
    },
    /// The review that began is a strict one.
    StrictReviewRequired {
        /// Its id.
        review: String,
    },
    /// A review ended.
    ReviewCompleted {
        /// Its id.
        review: String,
        /// `approved`, `denied`, `timed_out`, `aborted` or `failed`.
        outcome: String,
    },
    /// It waits for a person.
    WaitingForPerson {
        /// What the person's yes must be.
        assurance: Assurance,
    },
    /// A piece of its output.
    Output {
        /// The text.
        text: String,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CallResult {
    /// It ran.
    Ok {
        /// What the model reads.
        content: String,
        /// Whether the middle was left out.
        truncated: bool,
    },
    /// It may not run.
    Denied {
        /// Why.
        reason: DenyReason,
        /// What the model reads.
        text: String,
    },
    /// It was allowed and went wrong.
    Failed {
        /// What the model reads.
        text: String,
    },
}
