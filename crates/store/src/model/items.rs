//! Items: what is asked for, how it waits, how it was answered.

use proto::{Channel, Item, Status, Timestamp, api::Guard};

use super::denials::StoredDenial;

/// An item to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewItem {
    /// Exactly the hashed fields.
    pub item: Item,
    /// Name of the token that asks; its pending items count against [`Caps::per_owner`].
    pub owner: String,
    /// How many persons must sign, at least 1.
    pub quorum: u32,
    /// Shown only: the host.
    pub host: Option<String>,
    /// Shown only: the agent's thread.
    pub thread: Option<String>,
    /// Shown only: whether the agent's own user could go round the executor.
    pub guard: Guard,
    /// Shown only: the agent's own words.
    pub why: Option<String>,
    /// When it expires unanswered.
    pub expires: Timestamp,
}

/// How much may wait: items `pending` or `collecting`, that is, unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// For one owner.
    pub per_owner: u32,
    /// In all.
    pub total: u32,
}

/// What became of [`crate::Store::add_item`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Added {
    /// It waits; the row as stored.
    New(StoredItem),
    /// The same id with the same content by the same owner was there; its row as it stands, whatever its status.
    Same(StoredItem),
    /// The id is taken by other content or another owner.
    Conflict,
    /// A cap is reached; nothing was added.
    TooMany(TooMany),
}

/// Which cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooMany {
    /// [`Caps::per_owner`].
    Owner,
    /// [`Caps::total`].
    Total,
}

/// An item as it stands in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredItem {
    /// Its place in the inbox; the cursor of paging.
    pub seq: u64,
    /// The hashed fields, as the row holds them now.
    pub item: Item,
    /// Ids of further items that are equal but for id and times (only from [`crate::Store::inbox`]), oldest first.
    pub also: Vec<String>,
    /// Name of the token that asked.
    pub owner: String,
    /// Where it stands.
    pub status: Status,
    /// How many persons must sign.
    pub quorum: u32,
    /// How many have; 0 unless it is in a batch.
    pub have: u32,
    /// The batch it is in, or was released by.
    pub batch: Option<String>,
    /// See [`NewItem`].
    pub host: Option<String>,
    /// See [`NewItem`].
    pub thread: Option<String>,
    /// See [`NewItem`].
    pub guard: Guard,
    /// See [`NewItem`].
    pub why: Option<String>,
    /// When it came.
    pub created: Timestamp,
    /// When it lapses unanswered.
    pub expires: Timestamp,
    /// When it was answered, withdrawn or lapsed.
    pub closed: Option<Timestamp>,
}

/// What a poll for one item reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Who asked; the caller compares.
    pub owner: String,
    /// Where it stands.
    pub status: Status,
    /// When it lapses unanswered.
    pub expires: Timestamp,
    /// The proof's JSON text as stored; only once `allowed`.
    pub proof: Option<String>,
    /// Only once `denied`.
    pub denial: Option<StoredDenial>,
}

/// A page of the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbox {
    /// Oldest first.
    pub rows: Vec<StoredItem>,
    /// Cursor of the next page, if there is more.
    pub next: Option<u64>,
    /// How many items wait in all, those in `also` counted too.
    pub total: u64,
}

/// How an asker closes its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The asker withdrew.
    Cancelled,
    /// Answered at the agent's own terminal.
    Superseded,
}

/// What became of [`crate::Store::close_item`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Closed {
    /// Closed now, or in the same way before.
    Done,
    /// It had ended otherwise; the status it has.
    Ended(Status),
    /// No such item of this owner.
    NotFound,
}

/// Which page of history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryQuery {
    /// Only entries before this seq ([`HistoryPage::next`]); `None` for the newest.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: u32,
    /// Text to find in fields, owner, who or reason; empty for all. ASCII letters match in either case.
    pub text: String,
}

/// A page of history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPage {
    /// Newest first.
    pub entries: Vec<HistoryEntry>,
    /// `before` of the next page, if there may be more.
    pub next: Option<u64>,
}

/// An item that waits no more.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The item.
    pub item: StoredItem,
    /// Its place in the history: the cursor of paging, not a number of the log.
    pub seq: u64,
    /// Label of who answered (several joined by `, `); empty where nobody did.
    pub who: String,
    /// Channel of a denial.
    pub channel: Option<Channel>,
    /// Reason of a denial, may be empty.
    pub reason: String,
}

/// Answers of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TodayCounts {
    /// Allowed by a person's signature.
    pub allowed_by_person: u64,
    /// Allowed by a signed rule.
    pub allowed_by_rule: u64,
    /// Allowed by a delegated reviewer.
    pub allowed_by_reviewer: u64,
    /// Denied.
    pub denied: u64,
    /// Expired.
    pub expired: u64,
}
