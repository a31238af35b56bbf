//! Machines' tokens, known by their SHA-256 only.

use proto::{Digest, HubEvent, Timestamp};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{SqliteStore, connect::Work, rows};
use crate::{Audience, NewToken, Result, SEEN_STEP_MS, StoredToken, TokenAdded, TokenRevoked};

/// See [`crate::Store::add_token`].
pub(super) async fn add(mut work: Work<'_>, new: &NewToken) -> Result<TokenAdded> {
    let NewToken { name, hash, role, executors } = new;
    let taken = sqlx::query("SELECT 1 FROM tokens WHERE (name = ? AND revoked IS NULL) OR hash = ?")
        .bind(name)
        .bind(hash.to_string())
        .fetch_optional(work.db())
        .await?;
    if taken.is_some() {
        work.abandon().await?;
        return Ok(TokenAdded::NameTaken);
    }
    let role = rows::to_word(role)?;
    let now = work.now.as_millis();
    sqlx::query("INSERT INTO tokens (hash, name, role, executors, created) VALUES (?, ?, ?, ?, ?)")
        .bind(hash.to_string())
        .bind(name)
        .bind(&role)
        .bind(rows::to_json(executors)?)
        .bind(now)
        .execute(work.db())
        .await?;
    let event = HubEvent::AgentAdded { name: name.clone(), role, executors: executors.clone() };
    work.append(&event, &Audience::Persons, &[]).await?;
    work.commit().await?;
    Ok(TokenAdded::New)
}

/// See [`crate::Store::revoke_token`].
pub(super) async fn revoke(mut work: Work<'_>, name: &str) -> Result<TokenRevoked> {
    let now = work.now.as_millis();
    let changed = sqlx::query("UPDATE tokens SET revoked = ? WHERE name = ? AND revoked IS NULL")
        .bind(now)
        .bind(name)
        .execute(work.db())
        .await?;
    if changed.rows_affected() == 0 {
        work.abandon().await?;
        return Ok(TokenRevoked::NotFound);
    }
    work.append(&HubEvent::AgentRevoked { name: name.to_owned() }, &Audience::Persons, &[]).await?;
    work.commit().await?;
    Ok(TokenRevoked::Done)
}

fn stored(row: &SqliteRow) -> Result<StoredToken> {
    Ok(StoredToken {
        name: rows::column(row, "name")?,
        role: rows::serde_word(row, "role")?,
        executors: rows::json(row, "executors")?,
        created: rows::time(row, "created")?,
        seen: rows::maybe_time(row, "seen")?,
        revoked: rows::maybe_time(row, "revoked")?,
    })
}

/// See [`crate::Store::tokens`]. A scan: there are as many rows as machines.
pub(super) async fn all(readers: &SqlitePool) -> Result<Vec<StoredToken>> {
    let found = sqlx::query(
        "SELECT name, role, executors, created, seen, revoked FROM tokens ORDER BY name, created",
    )
    .fetch_all(readers)
    .await?;
    found.iter().map(stored).collect()
}

pub(super) const BY_HASH: &str =
    "SELECT name, role, executors, created, seen, revoked FROM tokens WHERE hash = ?";

/// See [`crate::Store::token`].
pub(super) async fn by_hash(readers: &SqlitePool, hash: &Digest) -> Result<Option<StoredToken>> {
    let row = sqlx::query(BY_HASH).bind(hash.to_string()).fetch_optional(readers).await?;
    row.as_ref().map(stored).transpose()
}

pub(super) const STALE: &str =
    "SELECT 1 FROM tokens WHERE name = ? AND revoked IS NULL AND COALESCE(seen, 0) < ?";

/// See [`crate::Store::saw_token`].
pub(super) async fn saw(store: &SqliteStore, name: &str, now: Timestamp) -> Result<()> {
    let before = now.plus(-SEEN_STEP_MS).as_millis();
    let stale = sqlx::query(STALE).bind(name).bind(before).fetch_optional(store.readers()).await?;
    if stale.is_none() {
        return Ok(());
    }
    let mut work = store.begin(now).await?;
    sqlx::query("UPDATE tokens SET seen = ? WHERE name = ? AND revoked IS NULL AND COALESCE(seen, 0) < ?")
        .bind(now.as_millis())
        .bind(name)
        .bind(before)
        .execute(work.db())
        .await?;
    work.commit().await
}
