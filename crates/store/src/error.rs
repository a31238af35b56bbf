//! Why the store could not do what was asked. Refusals of the domain are not here: they are outcomes.

use std::path::PathBuf;

/// What went wrong below the domain. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk or the quota is full.
    #[error("the disk is full: nothing was stored; free some space, then do it again")]
    Full {
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// Another process held the database longer than the busy timeout.
    #[error("another process is writing to the database; do it again")]
    Busy {
        /// What SQLite said.
        #[source]
        source: sqlx::Error,
    },
    /// The file is not a database of ours any more, or a row cannot be read.
    #[error("the database is damaged ({what}); restore a backup")]
    Damaged {
        /// Which part.
        what: String,
        /// What the reader said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The file was written by a later version of this program.
    #[error("the database has schema {found}, this program knows up to {known}; use the newer program")]
    Newer {
        /// Schema number in the file.
        found: i64,
        /// Highest known number.
        known: i64,
    },
    /// The database cannot be opened.
    #[error("cannot open the database `{}`; check that the folder exists and is yours", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// [`crate::Store::close`] was called.
    #[error("the store is closed")]
    Closed,
    /// Anything else the disk or SQLite said.
    #[error("the database failed; nothing was stored")]
    Other {
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
