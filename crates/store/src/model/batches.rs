//! Batches: entries sealed by one payload, on their way to being released.

use proto::{
    Item, Timestamp,
    api::{BatchStatus, Entry},
};
use serde::{Deserialize, Serialize};

/// A checked approval to take.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBatch {
    /// Fresh id, made by the caller.
    pub id: String,
    /// The payload's exact bytes; their SHA-256 is what makes a proof "the same".
    pub payload: Vec<u8>,
    /// The whole proof, JSON text, as received.
    pub proof: String,
    /// 1 to 256, no id twice.
    pub entries: Vec<BatchEntry>,
    /// The payload's `not_before`.
    pub not_before: Timestamp,
    /// The payload's `expires`; past it nothing is released.
    pub expires: Timestamp,
    /// The undo window, milliseconds.
    pub undo_ms: i64,
    /// How many persons must sign.
    pub need: u32,
    /// How many distinct persons have, as the caller counted by its pins.
    pub have: u32,
    /// Who signed, in order of signatures.
    pub signers: Vec<Signer>,
}

/// One entry of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchEntry {
    /// The item as the caller read it when it checked the proof. A row that differs now makes the batch stale.
    pub item: Item,
    /// For decisions, else empty.
    pub choice: String,
    /// For commands, else empty.
    pub sha256: String,
}

/// Whose key made a signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    /// Credential id.
    pub keyid: String,
    /// The person the key counts for (its own id where the pin names none).
    pub person: String,
    /// The pin's label.
    pub label: String,
}

/// What became of [`crate::Store::accept_batch`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Accepted {
    /// Taken.
    New(StoredBatch),
    /// The same payload with the same entries came before; that batch as it stands (perhaps undone: it stays so).
    Same(StoredBatch),
    /// The payload was used with other entries.
    Used,
    /// These are not pending, or not what the caller saw; nothing changed.
    Stale(Vec<String>),
}

/// One more signature for a collecting batch.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSignature {
    /// Which batch.
    pub batch: String,
    /// The signature object, JSON text; appended to the stored proof's `signatures`.
    pub signature: String,
    /// Whose.
    pub signer: Signer,
}

/// What became of [`crate::Store::add_signature`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Signed {
    /// Added (or there before); the batch as it stands, perhaps settling or settled now.
    Done(StoredBatch),
    /// It does not collect any more; the batch as it stands.
    NotCollecting(StoredBatch),
    /// No such batch.
    NotFound,
}

/// What became of [`crate::Store::undo`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Undone {
    /// Undone now or before.
    Done(StoredBatch),
    /// Too late: it settled (or expired).
    Closed(StoredBatch),
    /// No such batch.
    NotFound,
}

/// What [`crate::Store::settle_due`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Settled {
    /// Ids of items released now.
    pub released: Vec<String>,
    /// Ids of items back to pending, because their payload expired before it could be released.
    pub returned: Vec<String>,
}

/// A batch as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredBatch {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: BatchStatus,
    /// The payload's exact bytes.
    pub payload: Vec<u8>,
    /// The proof's JSON text as stored; gone once undone or expired. For the hub's own check of a further signature:
    /// do not hand it out before `Settled`.
    pub proof: Option<String>,
    /// What it covers, as accepted.
    pub entries: Vec<Entry>,
    /// Persons who signed.
    pub have: u32,
    /// Persons needed.
    pub need: u32,
    /// Who signed, in order.
    pub signers: Vec<Signer>,
    /// When it was accepted.
    pub created: Timestamp,
    /// When it settles or settled; `None` while collecting.
    pub settles: Option<Timestamp>,
    /// When its payload expires.
    pub expires: Timestamp,
}
