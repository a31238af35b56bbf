//! Browser sessions: known by the SHA-256 of their cookie, gone once ended.

use proto::{Digest, HubEvent, Timestamp};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{SqliteStore, connect::Work, rows};
use crate::{Audience, NewSession, Result, SEEN_STEP_MS, StoredSession};

/// See [`crate::Store::add_session`].
pub(super) async fn add(mut work: Work<'_>, new: &NewSession) -> Result<()> {
    let NewSession { id, cookie_hash, page_hash, keyid, label, person, expires } = new;
    let now = work.now.as_millis();
    sqlx::query("DELETE FROM sessions WHERE expires <= ?").bind(now).execute(work.db()).await?;
    sqlx::query(
        "INSERT INTO sessions (cookie_hash, id, page_hash, keyid, label, person, created, seen, expires) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)",
    )
    .bind(cookie_hash.to_string())
    .bind(id)
    .bind(page_hash.to_string())
    .bind(keyid)
    .bind(label)
    .bind(person)
    .bind(now)
    .bind(expires.as_millis())
    .execute(work.db())
    .await?;
    let event = HubEvent::Login { label: label.clone(), session: id.clone() };
    work.append(&event, &Audience::Persons, &[]).await?;
    work.commit().await
}

/// See [`crate::Store::end_session`].
pub(super) async fn end(mut work: Work<'_>, id: &str) -> Result<bool> {
    let now = work.now.as_millis();
    let ended = sqlx::query("DELETE FROM sessions WHERE id = ? AND expires > ? RETURNING label")
        .bind(id)
        .bind(now)
        .fetch_optional(work.db())
        .await?;
    let Some(row) = ended else {
        work.abandon().await?;
        return Ok(false);
    };
    let event = HubEvent::Logout { label: rows::column(&row, "label")?, session: id.to_owned() };
    work.append(&event, &Audience::Persons, &[]).await?;
    work.commit().await?;
    Ok(true)
}

fn stored(row: &SqliteRow) -> Result<StoredSession> {
    Ok(StoredSession {
        id: rows::column(row, "id")?,
        page_hash: rows::digest(row, "page_hash")?,
        keyid: rows::column(row, "keyid")?,
        label: rows::column(row, "label")?,
        person: rows::column(row, "person")?,
        created: rows::time(row, "created")?,
        seen: rows::time(row, "seen")?,
        expires: rows::time(row, "expires")?,
    })
}

pub(super) const BY_COOKIE: &str = "SELECT id, page_hash, keyid, label, person, created, seen, expires \
     FROM sessions WHERE cookie_hash = ? AND expires > ?";

/// See [`crate::Store::session`].
pub(super) async fn by_cookie(
    readers: &SqlitePool,
    cookie_hash: &Digest,
    now: Timestamp,
) -> Result<Option<StoredSession>> {
    let row = sqlx::query(BY_COOKIE)
        .bind(cookie_hash.to_string())
        .bind(now.as_millis())
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(stored).transpose()
}

/// See [`crate::Store::sessions`]. A scan: there are as many rows as open browsers.
pub(super) async fn all(readers: &SqlitePool, now: Timestamp) -> Result<Vec<StoredSession>> {
    let found = sqlx::query(
        "SELECT id, page_hash, keyid, label, person, created, seen, expires FROM sessions \
         WHERE expires > ? ORDER BY created, id",
    )
    .bind(now.as_millis())
    .fetch_all(readers)
    .await?;
    found.iter().map(stored).collect()
}

pub(super) const STALE: &str = "SELECT 1 FROM sessions WHERE id = ? AND seen < ?";

/// See [`crate::Store::saw_session`].
pub(super) async fn saw(store: &SqliteStore, id: &str, now: Timestamp) -> Result<()> {
    let before = now.plus(-SEEN_STEP_MS).as_millis();
    if sqlx::query(STALE).bind(id).bind(before).fetch_optional(store.readers()).await?.is_none() {
        return Ok(());
    }
    let mut work = store.begin(now).await?;
    sqlx::query("UPDATE sessions SET seen = ? WHERE id = ? AND seen < ?")
        .bind(now.as_millis())
        .bind(id)
        .bind(before)
        .execute(work.db())
        .await?;
    work.commit().await
}
