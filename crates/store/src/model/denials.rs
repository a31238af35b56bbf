//! Denials and the messages that carry them to other agents.

use proto::{Channel, Item, Timestamp};

/// A checked denial to take.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDenial {
    /// The payload's nonce: its id.
    pub nonce: String,
    /// The payload's exact bytes.
    pub payload: Vec<u8>,
    /// The whole proof, JSON text.
    pub proof: String,
    /// The items as the caller read them; a row that differs now makes the denial stale.
    pub items: Vec<Item>,
    /// Signed channel.
    pub channel: Channel,
    /// Signed reason, may be empty.
    pub reason: String,
    /// Label of who denied.
    pub label: String,
    /// The payload's `expires`.
    pub expires: Timestamp,
}

/// What became of [`crate::Store::deny`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Denied {
    /// Denied now.
    Done,
    /// The same payload for the same items came before.
    Same,
    /// The payload or its nonce was used with other items.
    Used,
    /// These are not waiting, or not what the caller saw; nothing changed.
    Stale(Vec<String>),
}

/// A denial as its asker gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDenial {
    /// Nonce of its payload.
    pub nonce: String,
    /// Channel.
    pub channel: Channel,
    /// Reason, may be empty.
    pub reason: String,
    /// Who denied.
    pub label: String,
    /// The proof's JSON text.
    pub proof: String,
}

/// A denial on its way to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place; the cursor of [`crate::Store::messages`].
    pub seq: u64,
    /// Stays until it expires or is revoked.
    pub pinned: bool,
    /// When it lapses.
    pub expires: Timestamp,
    /// What it says.
    pub denial: StoredDenial,
}
