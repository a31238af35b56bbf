//! Why the store could not do what was asked. Refusals of the domain are not here: they are outcomes.

use std::path::PathBuf;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// What went wrong below the domain, sorted by what a person can do about it. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk or the quota is full.
    #[error("the disk is full: nothing was stored; free some space, then do it again")]
    Full {
        /// What the database said.
        #[source]
        source: Source,
    },
    /// Another process held the database longer than the busy timeout, or no reader came free in time.
    #[error("the database is busy: nothing was stored; do it again")]
    Busy {
        /// What the database said.
        #[source]
        source: Source,
    },
    /// The file is not a database of ours any more, or a row cannot be read.
    #[error("the database is damaged ({what}); restore a backup")]
    Damaged {
        /// Which part.
        what: String,
        /// What the reader said.
        #[source]
        source: Option<Source>,
    },
    /// The file was written by a later version of this program.
    #[error("the database has schema {found}, this program knows up to {known}; use the newer program")]
    Newer {
        /// Schema number in the file.
        found: i64,
        /// Highest known number.
        known: i64,
    },
    /// The file cannot be made or opened.
    #[error("cannot open the database `{}`; check that its folder exists and is yours", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Source,
    },
    /// [`crate::Store::close`] was called.
    #[error("the store is closed")]
    Closed,
    /// Anything else the disk or the database said.
    #[error("the database failed: nothing was stored")]
    Other {
        /// What it said.
        #[source]
        source: Source,
    },
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Database(database) = &error {
            return match primary(database.as_ref()) {
                Some(5 | 6) => Self::Busy { source: error.into() },
                Some(11 | 26) => Self::Damaged { what: "the file".to_owned(), source: Some(error.into()) },
                Some(13) => Self::Full { source: error.into() },
                _ => Self::Other { source: error.into() },
            };
        }
        if matches!(error, sqlx::Error::PoolTimedOut) {
            return Self::Busy { source: error.into() };
        }
        if matches!(error, sqlx::Error::PoolClosed) {
            return Self::Closed;
        }
        if let sqlx::Error::ColumnDecode { index, .. } = &error {
            return Self::Damaged { what: index.clone(), source: Some(error.into()) };
        }
        if matches!(error, sqlx::Error::RowNotFound) {
            return Self::Damaged { what: "a row is missing".to_owned(), source: Some(error.into()) };
        }
        Self::Other { source: error.into() }
    }
}

/// SQLite's primary result code: 5 busy, 6 locked, 11 corrupt, 13 full, 26 no database.
fn primary(error: &dyn sqlx::error::DatabaseError) -> Option<i32> {
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}
