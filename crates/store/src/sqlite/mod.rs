//! The store on SQLite: WAL, `synchronous=FULL`, one writing connection and a few readers.
//!
//! WAL with a flush at each commit: what an operation reports is on disk, and readers never wait for the writer. One
//! writing connection, because SQLite has one write lock anyway and queueing for it here is fair. Another process may
//! write to the same file (`sealward agents add`): every transaction takes the write lock before it reads, and nothing that
//! the file holds is kept in memory, but for how far the chain was verified.

mod batches;
mod connect;
mod denials;
mod items;
mod log;
mod migrate;
mod pages;
mod pause;
mod rows;
mod sessions;
mod settle;
mod tokens;
mod trust;

#[cfg(test)]
mod tests;

use std::{
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use proto::{Digest, HubEvent, Timestamp};
use sqlx::{ConnectOptions, SqlitePool, sqlite::SqlitePoolOptions};
use tokio::sync::Mutex;

use self::{
    connect::{Work, Writer},
    log::Verified,
};
use crate::{
    Accepted, Added, Answer, Audience, Caps, Closed, Closing, Denied, EventLine, EventQuery, Head,
    HistoryPage, HistoryQuery, Inbox, LogReport, Message, NewBatch, NewDenial, NewItem, NewSession,
    NewSignature, NewToken, NewTrust, Paused, Result, Settled, Signed, Store, StoreError, StoredBatch,
    StoredItem, StoredSession, StoredToken, StoredTrust, TodayCounts, TokenAdded, TokenRevoked, TrustAdded,
    Undone, VerifyDepth,
};

/// Reading connections: a read takes well under a millisecond, so four serve a thousand polls a second with room.
const READERS: u32 = 4;

/// How long a read waits for a connection before it answers that the store is busy.
const READER_WAIT: Duration = Duration::from_secs(10);

/// A [`Store`] in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    readers: SqlitePool,
    verified: Mutex<Verified>,
}

impl SqliteStore {
    /// Opens the database at `path`, makes it (mode 0600) where there is none, and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`] when the file cannot be made or opened, [`StoreError::Damaged`] when it is no database of
    /// ours, [`StoreError::Newer`] when a later version wrote it.
    pub async fn open(path: &Path) -> Result<Self> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| failed(error.into()))?;
        let options = connect::writing(path);
        let mut connection = match options.connect().await.map_err(StoreError::from) {
            Ok(connection) => connection,
            Err(StoreError::Other { source }) => return Err(failed(source)),
            Err(error) => return Err(error),
        };
        migrate::run(&mut connection).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(READER_WAIT)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_lazy_with(connect::reading(path));
        Ok(Self {
            path: path.to_owned(),
            writer: Writer::new(options, connection),
            readers,
            verified: Mutex::new(Verified::NOTHING),
        })
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    async fn begin(&self, now: Timestamp) -> Result<Work<'_>> {
        self.writer.begin(now).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn add_item(&self, new: &NewItem, caps: Caps, now: Timestamp) -> Result<Added> {
        items::add(self.begin(now).await?, new, caps).await
    }

    async fn item(&self, id: &str) -> Result<Option<StoredItem>> {
        items::item(&self.readers, id).await
    }

    async fn answer(&self, id: &str) -> Result<Option<Answer>> {
        items::answer(&self.readers, id).await
    }

    async fn inbox(&self, after: Option<u64>, limit: u32) -> Result<Inbox> {
        pages::inbox(&self.readers, after, limit).await
    }

    async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage> {
        pages::history(&self.readers, query).await
    }

    async fn close_item(&self, id: &str, owner: &str, how: Closing, now: Timestamp) -> Result<Closed> {
        let closed = items::close(self.begin(now).await?, id, owner, how).await?;
        self.writer.scrub().await;
        Ok(closed)
    }

    async fn expire_due(&self, now: Timestamp) -> Result<Vec<String>> {
        let expired = items::expire_due(self.begin(now).await?).await?;
        self.writer.scrub().await;
        Ok(expired)
    }

    async fn today(&self, since: Timestamp) -> Result<TodayCounts> {
        pages::today(&self.readers, since).await
    }

    async fn accept_batch(&self, new: &NewBatch, now: Timestamp) -> Result<Accepted> {
        batches::accept(self.begin(now).await?, new).await
    }

    async fn add_signature(&self, new: &NewSignature, now: Timestamp) -> Result<Signed> {
        batches::add_signature(self.begin(now).await?, new).await
    }

    async fn undo(&self, batch: &str, label: &str, now: Timestamp) -> Result<Undone> {
        let undone = batches::undo(self.begin(now).await?, batch, label).await?;
        self.writer.scrub().await;
        Ok(undone)
    }

    async fn settle_due(&self, now: Timestamp) -> Result<Settled> {
        let settled = settle::settle_due(self.begin(now).await?).await?;
        self.writer.scrub().await;
        Ok(settled)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        settle::next_due(&self.readers).await
    }

    async fn batch(&self, id: &str) -> Result<Option<StoredBatch>> {
        batches::batch(&self.readers, id).await
    }

    async fn batch_of_payload(&self, payload: &[u8]) -> Result<Option<StoredBatch>> {
        batches::of_payload(&self.readers, payload).await
    }

    async fn open_batches(&self) -> Result<Vec<StoredBatch>> {
        batches::open(&self.readers).await
    }

    async fn deny(&self, new: &NewDenial, now: Timestamp) -> Result<Denied> {
        let denied = denials::deny(self.begin(now).await?, new).await?;
        self.writer.scrub().await;
        Ok(denied)
    }

    async fn messages(&self, agent: &str, since: u64, limit: u32, now: Timestamp) -> Result<Vec<Message>> {
        denials::messages(&self.readers, agent, since, limit, now).await
    }

    async fn pinned_messages(&self, now: Timestamp) -> Result<Vec<Message>> {
        denials::pinned(&self.readers, now).await
    }

    async fn add_trust(&self, new: &NewTrust, now: Timestamp) -> Result<TrustAdded> {
        trust::add(self.begin(now).await?, new).await
    }

    async fn trust(&self, since: u64, limit: u32) -> Result<Vec<StoredTrust>> {
        trust::since(&self.readers, since, limit).await
    }

    async fn add_token(&self, new: &NewToken, now: Timestamp) -> Result<TokenAdded> {
        tokens::add(self.begin(now).await?, new).await
    }

    async fn tokens(&self) -> Result<Vec<StoredToken>> {
        tokens::all(&self.readers).await
    }

    async fn revoke_token(&self, name: &str, now: Timestamp) -> Result<TokenRevoked> {
        tokens::revoke(self.begin(now).await?, name).await
    }

    async fn token(&self, hash: &Digest) -> Result<Option<StoredToken>> {
        tokens::by_hash(&self.readers, hash).await
    }

    async fn saw_token(&self, name: &str, now: Timestamp) -> Result<()> {
        tokens::saw(self, name, now).await
    }

    async fn add_session(&self, new: &NewSession, now: Timestamp) -> Result<()> {
        sessions::add(self.begin(now).await?, new).await
    }

    async fn session(&self, cookie_hash: &Digest, now: Timestamp) -> Result<Option<StoredSession>> {
        sessions::by_cookie(&self.readers, cookie_hash, now).await
    }

    async fn sessions(&self, now: Timestamp) -> Result<Vec<StoredSession>> {
        sessions::all(&self.readers, now).await
    }

    async fn end_session(&self, id: &str, now: Timestamp) -> Result<bool> {
        sessions::end(self.begin(now).await?, id).await
    }

    async fn saw_session(&self, id: &str, now: Timestamp) -> Result<()> {
        sessions::saw(self, id, now).await
    }

    async fn paused(&self) -> Result<Option<Paused>> {
        pause::paused(&self.readers).await
    }

    async fn pause(&self, by: &str, now: Timestamp) -> Result<bool> {
        pause::pause(self.begin(now).await?, by).await
    }

    async fn resume(&self, label: &str, now: Timestamp) -> Result<bool> {
        pause::resume(self.begin(now).await?, label).await
    }

    async fn record(&self, event: &HubEvent, audience: &Audience, now: Timestamp) -> Result<u64> {
        let mut work = self.begin(now).await?;
        let seq = work.append(event, audience, &[]).await?;
        work.commit().await?;
        Ok(seq)
    }

    async fn events(&self, query: &EventQuery) -> Result<Vec<EventLine>> {
        log::events(&self.readers, query).await
    }

    async fn item_events(&self, id: &str) -> Result<Vec<EventLine>> {
        log::item_events(&self.readers, id).await
    }

    async fn head(&self) -> Result<Head> {
        log::head(&self.readers).await
    }

    async fn verify_log(&self, depth: VerifyDepth) -> Result<LogReport> {
        log::verify(&self.readers, &mut *self.verified.lock().await, depth).await
    }

    async fn check(&self) -> Result<()> {
        log::head(&self.readers).await?;
        // The moment is for events, and none is written.
        self.begin(Timestamp::from_millis(0)).await?.abandon().await
    }

    async fn close(&self) -> Result<()> {
        self.readers.close().await;
        self.writer.close().await
    }
}
