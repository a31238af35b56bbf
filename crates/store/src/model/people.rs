//! Who may speak to the hub: trust proofs, machines' tokens, browsers' sessions; and the pause.

use proto::{Digest, Timestamp, api::Role};

/// A checked `pin` or `revoke` to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrust {
    /// What it changes.
    pub change: TrustChange,
    /// The payload's nonce.
    pub nonce: String,
    /// The payload's exact bytes; the same a second time is a duplicate.
    pub payload: Vec<u8>,
    /// The whole proof, JSON text.
    pub proof: String,
    /// Label of who signed.
    pub label: String,
}

/// What a trust proof changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustChange {
    /// A key for an executor.
    Pin {
        /// The pinned key's id.
        key: String,
        /// The identity it is pinned for.
        executor: String,
    },
    /// The end of a rule, delegation, key or warning.
    Revoke {
        /// `rule`, `delegation`, `key` or `warning`.
        what: String,
        /// Its id; for a warning the nonce of its denial.
        id: String,
    },
}

/// What became of [`crate::Store::add_trust`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TrustAdded {
    /// Stored; its seq.
    New(u64),
    /// The same payload or nonce was there.
    Duplicate,
}

/// A trust proof as machines fetch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTrust {
    /// Its place; the cursor of [`crate::Store::trust`].
    pub seq: u64,
    /// What it changes.
    pub change: TrustChange,
    /// The proof's JSON text.
    pub proof: String,
}

/// A machine to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Its name, one live token each.
    pub name: String,
    /// SHA-256 of the token; the token itself never comes here.
    pub hash: Digest,
    /// What it may do.
    pub role: Role,
    /// Identities it may name in asks.
    pub executors: Vec<String>,
}

/// What became of [`crate::Store::add_token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TokenAdded {
    /// Added.
    New,
    /// A live token of that name exists.
    NameTaken,
}

/// What became of [`crate::Store::revoke_token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TokenRevoked {
    /// Revoked now.
    Done,
    /// No live token of that name.
    NotFound,
}

/// A machine's token as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Identities it may name in asks.
    pub executors: Vec<String>,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last used, to about a minute.
    pub seen: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// A browser session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Public id, for the list of sessions.
    pub id: String,
    /// SHA-256 of the cookie.
    pub cookie_hash: Digest,
    /// SHA-256 of the token the page sends in `X-Sealward`.
    pub page_hash: Digest,
    /// The credential that signed the login.
    pub keyid: String,
    /// Its label.
    pub label: String,
    /// The person the key counts for.
    pub person: String,
    /// When the session ends by itself.
    pub expires: Timestamp,
}

/// A browser session as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Public id.
    pub id: String,
    /// SHA-256 of the page's token.
    pub page_hash: Digest,
    /// The credential that signed the login.
    pub keyid: String,
    /// Its label.
    pub label: String,
    /// The person the key counts for.
    pub person: String,
    /// When it was opened.
    pub created: Timestamp,
    /// When it was last used, to about a minute.
    pub seen: Timestamp,
    /// When it ends by itself.
    pub expires: Timestamp,
}

/// The pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// Who: a label or a token's name.
    pub by: String,
    /// Since when.
    pub at: Timestamp,
}
