//! The one set of statuses that every kind of item has. How an item moves between them is the store's business.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Released to its executor.
    Allowed,
    /// The asker withdrew.
    Cancelled,
    /// Sealed by some persons, but not yet by enough.
    Collecting,
    /// A person said no, signed.
    Denied,
    /// Nobody answered.
    Expired,
    /// Waits for a person.
    Pending,
    /// Sealed; the undo window is open.
    Settling,
    /// Answered at the agent's own terminal.
    Superseded,
}

/// The text names no status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no status")]
pub struct BadStatus(pub String);

impl Status {
    /// Every status, in the order of the words.
    pub const ALL: [Self; 8] = [
        Self::Allowed,
        Self::Cancelled,
        Self::Collecting,
        Self::Denied,
        Self::Expired,
        Self::Pending,
        Self::Settling,
        Self::Superseded,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Cancelled => "cancelled",
            Self::Collecting => "collecting",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Pending => "pending",
            Self::Settling => "settling",
            Self::Superseded => "superseded",
        }
    }

    /// Whether the item still waits for somebody or something.
    #[must_use]
    pub const fn waits(self) -> bool {
        match self {
            Self::Collecting | Self::Pending | Self::Settling => true,
            Self::Allowed | Self::Cancelled | Self::Denied | Self::Expired | Self::Superseded => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = BadStatus;

    fn from_str(text: &str) -> Result<Self, BadStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| BadStatus(text.to_owned()))
    }
}
