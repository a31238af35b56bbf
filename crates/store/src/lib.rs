//! What the hub keeps: items, batches, denials, trust, tokens, sessions and the log of events, behind one trait.
//!
//! [`Store`] is a list of *domain operations*. Each is one transaction that changes rows **and** appends the events which
//! tell of it, so a state change without its event, or an event without its change, cannot exist. [SqliteStore] is the
//! implementation on SQLite; a second backend joins by passing the conformance suite of the tests.
//!
//! Deliberately not here: checking of proofs (`proof`), deciding (`policy`), HTTP and waiting (`hub`), the clock and
//! randomness (parameters of every operation). The store heals nothing: a row that somebody changed in the file is handed
//! out as it stands, and the signature check of the reader fails.
//!
//! Invariant: nothing is reported done that is not on disk. A batch's proof leaves the store only once the batch is settled.
//! May be used by: `hub`, and `sealward` for `agents add|list|revoke` beside a running hub.
//! Threats answered: lost acknowledgements, half-done batches, a quietly edited log, a proof that outlives its undo.

mod error;
mod model;
mod sqlite;

pub use error::StoreError;
pub use model::batches::{
    Accepted, BatchEntry, NewBatch, NewSignature, Settled, Signed, Signer, StoredBatch, Undone,
};
pub use model::denials::{Denied, Message, NewDenial, StoredDenial};
pub use model::items::{
    Added, Answer, Caps, Closed, Closing, HistoryEntry, HistoryPage, HistoryQuery, Inbox, NewItem,
    StoredItem, TodayCounts, TooMany,
};
pub use model::log::{Audience, EventLine, EventQuery, Head, LogReport, VerifyDepth};
pub use model::people::{
    NewSession, NewToken, NewTrust, Paused, StoredSession, StoredToken, StoredTrust, TokenAdded,
    TokenRevoked, TrustAdded, TrustChange,
};
pub use sqlite::SqliteStore;

use async_trait::async_trait;
use proto::{Digest, HubEvent, Timestamp};

/// The result of every operation: an outcome of the domain (also "no", "stale", "too many"), or a store that could not.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Everything the hub keeps. Object safe; share it as `Arc<dyn Store>`.
///
/// Rules of every operation: one transaction with its events; `now` comes from the caller; domain refusals are values,
/// [`StoreError`] means that nothing was changed (or, where a commit was cut off, that the caller must ask again: all
/// operations may be repeated). Futures may be dropped at any point: the transaction is then rolled back or was committed whole.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync {
    // ---- items -------------------------------------------------------------------------------------------------------

    /// Adds a waiting item. Event `asked`, for its owner.
    async fn add_item(&self, new: &NewItem, caps: Caps, now: Timestamp) -> Result<Added>;

    /// One item with everything a row shows; `also` is empty here.
    async fn item(&self, id: &str) -> Result<Option<StoredItem>>;

    /// What a poll for one item needs, and no more: status, and the proof once released or the denial. Never writes.
    async fn answer(&self, id: &str) -> Result<Option<Answer>>;

    /// A page of what waits (`pending`, `collecting`, `settling`), oldest first, after the given cursor ([`Inbox::next`]).
    /// Items of one session that are equal but for id and times, in the same status and batch, are one row with `also`.
    /// Cost does not depend on how many wait. `limit` is at most [`proto::limits::PAGE_ROWS_MAX`].
    async fn inbox(&self, after: Option<u64>, limit: u32) -> Result<Inbox>;

    /// A page of answered items, newest first. With a text query a call looks at no more than [`HISTORY_SCAN`] items and
    /// may return fewer than asked for although `next` is set.
    async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage>;

    /// The asker takes its item back, or says that it was answered at its own terminal. Allowed while it waits; an item
    /// in a batch leaves it, and a batch that has lost its last item is undone. Event `cancelled` or `superseded`.
    async fn close_item(&self, id: &str, owner: &str, how: Closing, now: Timestamp) -> Result<Closed>;

    /// Expires what nobody answered in time: items `pending` or `collecting` past their time (event `expired` each), and
    /// collecting batches past their payload's (event `undone`, items back to pending). Returns the ids of changed items.
    async fn expire_due(&self, now: Timestamp) -> Result<Vec<String>>;

    /// Counts of answers at or after `since` (the start of the person's day).
    async fn today(&self, since: Timestamp) -> Result<TodayCounts>;

    // ---- batches -----------------------------------------------------------------------------------------------------

    /// Takes a checked `approve` proof for a set of pending items, all or nothing. With `have < need` it collects, else
    /// it settles at the later of `not_before` and `now + undo_ms`; when that is not after `now` and the hub is not paused,
    /// it is released in the same transaction. Events `collecting`, or `approved` (and `allowed`), one per owner.
    async fn accept_batch(&self, new: &NewBatch, now: Timestamp) -> Result<Accepted>;

    /// Adds a checked signature to a collecting batch; the same key twice changes nothing. Event `signed`, and on the
    /// last one `approved` as above.
    async fn add_signature(&self, new: &NewSignature, now: Timestamp) -> Result<Signed>;

    /// Withdraws a batch before it settles: its items wait again, its proof is destroyed (also in the journal files).
    /// `label` is who did it. Event `undone`, one per owner.
    async fn undo(&self, batch: &str, label: &str, now: Timestamp) -> Result<Undone>;

    /// Releases every batch whose time has come, unless paused; one whose payload expired meanwhile is undone instead.
    /// Event `allowed`, one per owner. Returns what was released.
    async fn settle_due(&self, now: Timestamp) -> Result<Settled>;

    /// When [`Store::settle_due`] or [`Store::expire_due`] has something to do next; `None` when nothing waits.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// One batch, whatever its status.
    async fn batch(&self, id: &str) -> Result<Option<StoredBatch>>;

    /// The batch that was made from these payload bytes, whatever its status: look here before calling entries stale.
    async fn batch_of_payload(&self, payload: &[u8]) -> Result<Option<StoredBatch>>;

    /// Batches that collect or settle, oldest first, at most [`proto::limits::PAGE_ROWS_MAX`].
    async fn open_batches(&self) -> Result<Vec<StoredBatch>>;

    // ---- denials and messages ----------------------------------------------------------------------------------------

    /// Takes a checked `deny` proof for `pending` or `collecting` items, all or nothing. Events `denied` (one per owner)
    /// and, where the channel has readers besides the answer, `message`.
    async fn deny(&self, new: &NewDenial, now: Timestamp) -> Result<Denied>;

    /// Messages for one agent (by token name) after `since`, oldest first: live ones only (not expired, not revoked).
    async fn messages(&self, agent: &str, since: u64, limit: u32, now: Timestamp) -> Result<Vec<Message>>;

    /// Live pinned messages, oldest first.
    async fn pinned_messages(&self, now: Timestamp) -> Result<Vec<Message>>;

    // ---- trust -------------------------------------------------------------------------------------------------------

    /// Takes a checked `pin` or `revoke` proof. Event `pinned` or `revoked`. Revoking a warning ends its message.
    async fn add_trust(&self, new: &NewTrust, now: Timestamp) -> Result<TrustAdded>;

    /// Trust proofs after `since`, oldest first.
    async fn trust(&self, since: u64, limit: u32) -> Result<Vec<StoredTrust>>;

    // ---- machines' tokens and browsers' sessions ---------------------------------------------------------------------

    /// Adds a machine. Event `agent_added`.
    async fn add_token(&self, new: &NewToken, now: Timestamp) -> Result<TokenAdded>;

    /// All tokens, revoked ones included, by name and time.
    async fn tokens(&self) -> Result<Vec<StoredToken>>;

    /// Revokes the live token of that name. Event `agent_revoked`.
    async fn revoke_token(&self, name: &str, now: Timestamp) -> Result<TokenRevoked>;

    /// The token with this SHA-256, revoked or not. Read only: call [`Store::saw_token`] now and then, it costs a flush.
    async fn token(&self, hash: &Digest) -> Result<Option<StoredToken>>;

    /// Notes that a token was used. Writes only when the last note is over [`SEEN_STEP_MS`] old.
    async fn saw_token(&self, name: &str, now: Timestamp) -> Result<()>;

    /// Opens a browser session after a login. Event `login`.
    async fn add_session(&self, new: &NewSession, now: Timestamp) -> Result<()>;

    /// The live session whose cookie has this SHA-256. The caller compares `page_hash` itself.
    async fn session(&self, cookie_hash: &Digest, now: Timestamp) -> Result<Option<StoredSession>>;

    /// Live sessions, oldest first.
    async fn sessions(&self, now: Timestamp) -> Result<Vec<StoredSession>>;

    /// Ends a live session; `false` when there is none of that id. Event `logout`.
    async fn end_session(&self, id: &str, now: Timestamp) -> Result<bool>;

    /// As [`Store::saw_token`].
    async fn saw_session(&self, id: &str, now: Timestamp) -> Result<()>;

    // ---- pause -------------------------------------------------------------------------------------------------------

    /// Since when and by whom the hub is paused.
    async fn paused(&self) -> Result<Option<Paused>>;

    /// Stops all releases; `false` when it was paused already. Event `paused`.
    async fn pause(&self, by: &str, now: Timestamp) -> Result<bool>;

    /// Lets releases go on; `false` when it was not paused. Event `resumed`. What is due settles with the next
    /// [`Store::settle_due`].
    async fn resume(&self, label: &str, now: Timestamp) -> Result<bool>;

    // ---- the log -----------------------------------------------------------------------------------------------------

    /// Appends an event that no operation above writes (`proof_refused`, `enrol_proposed`, `warning`). Returns its seq.
    async fn record(&self, event: &HubEvent, audience: &Audience, now: Timestamp) -> Result<u64>;

    /// Lines of the log after `since`, oldest first.
    async fn events(&self, query: &EventQuery) -> Result<Vec<EventLine>>;

    /// The lines that tell of one item, oldest first, at most [`proto::limits::PAGE_ROWS_MAX`].
    async fn item_events(&self, id: &str) -> Result<Vec<EventLine>>;

    /// Number and hash of the last line. Cheap; a changed head is how a waiting reader sees another process's write.
    async fn head(&self) -> Result<Head>;

    /// Checks the chain. See [`VerifyDepth`].
    async fn verify_log(&self, depth: VerifyDepth) -> Result<LogReport>;

    // ---- the end -----------------------------------------------------------------------------------------------------

    /// Whether the database answers and its write lock can be had (for `/healthz`); writes nothing.
    async fn check(&self) -> Result<()>;

    /// Waits for the running write, folds the journal into the file and closes. Later calls fail.
    async fn close(&self) -> Result<()>;
}

/// How many answered items one history call with a text query looks at.
pub const HISTORY_SCAN: u32 = 2_000;

/// Least time between two notes of "last seen": each costs a flush, and a hook asks often.
pub const SEEN_STEP_MS: i64 = 60_000;
