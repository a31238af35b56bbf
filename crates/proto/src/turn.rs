//! What a turn of the agent loop tells whoever drives it. The turn itself is `loopd`'s.

use serde::{Deserialize, Serialize};

use crate::{audit::DenyReason, broker::Assurance};

/// Something happened in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A piece of what the model says.
    Text {
        /// The piece.
        delta: String,
    },
    /// A piece of what the model thinks.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// The model wants a tool called.
    ToolCalled {
        /// The call's id.
        call: String,
        /// The tool.
        name: String,
        /// The exact text of its arguments.
        arguments: String,
    },
    /// The broker allowed it.
    ToolAllowed {
        /// The tool.
        name: String,
    },
    /// The broker denied it; the turn goes on.
    ToolDenied {
        /// The tool.
        name: String,
        /// Why.
        reason: DenyReason,
    },
    /// A piece of a running tool's output.
    ToolOutput {
        /// The tool.
        name: String,
        /// The piece.
        text: String,
    },
    /// What the model reads as the call's result.
    ToolResult {
        /// The tool.
        name: String,
        /// The text.
        text: String,
    },
    /// A call waits for a person.
    WaitingForPerson {
        /// The tool.
        name: String,
        /// What the person's yes must be.
        assurance: Assurance,
    },
    /// An automatic review of a call began.
    ReviewStarted {
        /// Its id.
        review: String,
        /// Whether it is a strict one.
        strict: bool,
    },
    /// An automatic review of a call ended.
    ReviewCompleted {
        /// Its id.
        review: String,
        /// How.
        outcome: String,
    },
    /// The model server is not ready; the turn waits.
    WaitingForModel {
        /// Why.
        detail: String,
    },
    /// Older messages were left out so that the conversation fits.
    Compacted {
        /// How many.
        dropped: usize,
    },
    /// The turn is over.
    TurnDone {
        /// How, in one word: `done`, `stopped` or `cancelled`.
        outcome: String,
    },
}
