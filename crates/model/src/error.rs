//! How asking a model can end without an answer, sorted by who must act.

use std::io;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The model's output does not parse as the template demands. Asking again may help.
    #[error("the model produced output that its own template does not allow: {detail}")]
    BadOutput {
        /// The server's words.
        detail: String,
    },
    /// Whoever asked withdrew.
    #[error("cancelled")]
    Cancelled,
    /// The stream ended before it said that it ends.
    #[error("the model server went away in the middle of an answer")]
    Died(#[source] Option<io::Error>),
    /// The server answers something that is not its protocol.
    #[error("the model server answered something that is no answer: {detail}")]
    Garbage {
        /// What was wrong with it.
        detail: String,
    },
    /// The model is still loading.
    #[error("the model is still loading")]
    Loading,
    /// The conversation does not fit the context.
    #[error("the conversation needs {needed} tokens and the model's context holds {context}")]
    Overflow {
        /// Tokens of the request.
        needed: u64,
        /// Tokens of the context.
        context: u64,
    },
    /// The server refused the request.
    #[error("the model server refused the request with status {status}: {detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// Nothing came for too long.
    #[error("the model server said nothing for {seconds} s")]
    Silent {
        /// How long was waited, seconds.
        seconds: u64,
    },
    /// The answer is over a limit.
    #[error("the model's answer is over the limit of {limit} bytes")]
    TooLarge {
        /// The limit, bytes.
        limit: usize,
    },
    /// The server cannot be reached.
    #[error("the model server at `{endpoint}` cannot be reached")]
    Unreachable {
        /// Where it was looked for.
        endpoint: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ModelError {
    /// Whether nothing was answered and the same request may simply be sent again.
    #[must_use]
    pub const fn may_retry(&self) -> bool {
        match self {
            Self::Loading | Self::Unreachable { .. } | Self::Died(_) | Self::Silent { .. } => true,
            Self::BadOutput { .. }
            | Self::Cancelled
            | Self::Garbage { .. }
            | Self::Overflow { .. }
            | Self::Refused { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}
