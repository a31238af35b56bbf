//! The one writing connection, and the transaction ([`Work`]) that every change goes through.
//!
//! The connection is *taken out* of its slot for a transaction and put back only after a clean end. Whatever else happens (an
//! error, a dropped future) drops the connection; closing rolls back, and the next writer opens a fresh one. So no
//! half-open transaction can ever be met by the next caller. The end of the log is read inside each transaction and kept
//! nowhere else, because another process may write to the same file.

use std::{path::Path, time::Duration};

use proto::{Digest, Timestamp, chain::ChainWriter};
use sqlx::{
    ConnectOptions, Row, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::{Mutex, MutexGuard};

use crate::{Result, StoreError, sqlite::rows};

/// How long a writer waits for another process: a transaction takes milliseconds, a flush on a slow disk up to a second.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// What each reader keeps of the file, KiB (negative: as SQLite wants it): ten thousand waiting items with their indexes.
const READER_CACHE: &str = "-8192";

/// Rows that a reader's thread hands over without waiting: a whole page and the one that tells that there is more.
const READER_ROWS: usize = proto::limits::PAGE_ROWS_MAX + 1;

// A connection lives on a thread of its own, and each query is a turn to it and back: what always goes together is one.
const BEGIN: &str = "BEGIN IMMEDIATE; SELECT seq, hash FROM chain WHERE one = 1";
const END: &str = "UPDATE chain SET seq = ?, hash = ? WHERE one = 1; COMMIT";

/// The writing side: who holds the lock holds the only writing connection of this process.
#[derive(Debug)]
pub(super) struct Writer {
    options: SqliteConnectOptions,
    slot: Mutex<Slot>,
}

#[derive(Debug)]
struct Slot {
    state: State,
    /// A proof was destroyed, but its old pages may still stand in the journal file.
    scrub: bool,
}

#[derive(Debug)]
enum State {
    Idle(SqliteConnection),
    Empty,
    Closed,
}

/// Options of a connection that may write.
pub(super) fn writing(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        .pragma("secure_delete", "ON")
        .pragma("trusted_schema", "OFF")
        .statement_cache_capacity(200)
        .disable_statement_logging()
}

/// Options of a connection that only reads.
pub(super) fn reading(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY)
        .pragma("query_only", "ON")
        .pragma("cache_size", READER_CACHE)
        .row_buffer_size(READER_ROWS)
        .pragma("trusted_schema", "OFF")
        .statement_cache_capacity(200)
        .disable_statement_logging()
}

impl Writer {
    pub(super) fn new(options: SqliteConnectOptions, connection: SqliteConnection) -> Self {
        Self { options, slot: Mutex::new(Slot { state: State::Idle(connection), scrub: false }) }
    }

    async fn take(&self) -> Result<(MutexGuard<'_, Slot>, SqliteConnection)> {
        let mut slot = self.slot.lock().await;
        let connection = match std::mem::replace(&mut slot.state, State::Empty) {
            State::Idle(connection) => connection,
            State::Empty => self.options.connect().await?,
            State::Closed => {
                slot.state = State::Closed;
                return Err(StoreError::Closed);
            }
        };
        Ok((slot, connection))
    }

    /// Begins a transaction; it holds the write lock of the file from the start.
    pub(super) async fn begin(&self, now: Timestamp) -> Result<Work<'_>> {
        let (mut slot, mut connection) = self.take().await?;
        if slot.scrub {
            // What stands in the way of this is not for the next writer to hear; if it is more than that, its own commit says so.
            slot.scrub = !empty_journal(&mut connection).await.unwrap_or(false);
        }
        let row = sqlx::query(BEGIN).fetch_one(&mut connection).await?;
        let seq = rows::unsigned(&row, "seq")?;
        let hash: Digest = rows::digest(&row, "hash")?;
        let chain = ChainWriter::after(seq, hash);
        Ok(Work { slot, connection, chain, end: None, now })
    }

    /// Empties the journal, if a proof was destroyed since the last time.
    ///
    /// Not an error of the operation before it, which is on disk: a reader in the way or a full disk puts it off until
    /// the next write, and a close does it in any case.
    pub(super) async fn scrub(&self) {
        if !self.slot.lock().await.scrub {
            return;
        }
        let Ok((mut slot, mut connection)) = self.take().await else { return };
        if let Ok(emptied) = empty_journal(&mut connection).await {
            slot.scrub = !emptied;
            slot.state = State::Idle(connection);
        }
    }

    /// Waits for the running transaction, folds the journal into the file and closes for good.
    pub(super) async fn close(&self) -> Result<()> {
        let (mut slot, mut connection) = match self.take().await {
            Ok(taken) => taken,
            Err(StoreError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        };
        slot.state = State::Closed;
        empty_journal(&mut connection).await?;
        sqlx::Connection::close(connection).await?;
        Ok(())
    }
}

/// Folds the journal into the file and empties it. `false` when a reader is in the way: it waits only a moment for that,
/// because whoever undid something waits for its answer, and every writer behind it.
async fn empty_journal(connection: &mut SqliteConnection) -> Result<bool> {
    sqlx::query("PRAGMA busy_timeout = 100").execute(&mut *connection).await?;
    let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await;
    sqlx::query("PRAGMA busy_timeout = 5000").execute(connection).await?;
    let busy: i64 = row?.try_get(0)?;
    Ok(busy == 0)
}

/// One transaction: its rows and its events go to disk together or not at all.
#[derive(Debug)]
pub(super) struct Work<'s> {
    slot: MutexGuard<'s, Slot>,
    connection: SqliteConnection,
    pub(super) chain: ChainWriter,
    /// The end of the log after this transaction, if it appended.
    pub(super) end: Option<(u64, Digest)>,
    /// The caller's clock.
    pub(super) now: Timestamp,
}

impl Work<'_> {
    /// The connection, for statements.
    pub(super) fn db(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Has the journal emptied soon: a proof was destroyed here.
    pub(super) fn scrub_later(&mut self) {
        self.slot.scrub = true;
    }

    /// Ends well: after this returns, everything is on disk.
    pub(super) async fn commit(mut self) -> Result<()> {
        if let Some((seq, hash)) = self.end {
            sqlx::query(END)
                .bind(rows::signed(seq)?)
                .bind(hash.to_string())
                .execute(&mut self.connection)
                .await?;
        } else {
            sqlx::query("COMMIT").execute(&mut self.connection).await?;
        }
        self.slot.state = State::Idle(self.connection);
        Ok(())
    }

    /// Ends with nothing changed.
    pub(super) async fn abandon(mut self) -> Result<()> {
        sqlx::query("ROLLBACK").execute(&mut self.connection).await?;
        self.slot.state = State::Idle(self.connection);
        Ok(())
    }
}
