//! Trust proofs: pins and revocations that every executor fetches, kept for ever.

use proto::{HubEvent, sha256};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{connect::Work, rows};
use crate::{Audience, NewTrust, Result, StoreError, StoredTrust, TrustAdded, TrustChange};

/// What a `revoke` names when it ends a pinned message.
const WARNING: &str = "warning";

/// See [`crate::Store::add_trust`].
pub(super) async fn add(mut work: Work<'_>, new: &NewTrust) -> Result<TrustAdded> {
    let digest = sha256(&new.payload).to_string();
    let used = sqlx::query("SELECT 1 FROM trust WHERE digest = ? OR nonce = ?")
        .bind(&digest)
        .bind(&new.nonce)
        .fetch_optional(work.db())
        .await?;
    if used.is_some() {
        work.abandon().await?;
        return Ok(TrustAdded::Duplicate);
    }
    let label = new.label.clone();
    let (verb, what, subject, executor, event) = match &new.change {
        TrustChange::Pin { key, executor } => {
            let event = HubEvent::Pinned { key: key.clone(), executor: executor.clone(), label };
            ("pin", "key", key.as_str(), executor.as_str(), event)
        }
        TrustChange::Revoke { what, id } => {
            let event = HubEvent::Revoked { what: what.clone(), id: id.clone(), label };
            ("revoke", what.as_str(), id.as_str(), "", event)
        }
    };
    let seq = work.append(&event, &Audience::AllAgents, &[]).await?;
    sqlx::query(
        "INSERT INTO trust (seq, digest, nonce, verb, what, subject, executor, label, proof) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(rows::signed(seq)?)
    .bind(digest)
    .bind(&new.nonce)
    .bind(verb)
    .bind(what)
    .bind(subject)
    .bind(executor)
    .bind(&new.label)
    .bind(&new.proof)
    .execute(work.db())
    .await?;
    if verb == "revoke" && what == WARNING {
        let now = work.now.as_millis();
        sqlx::query("UPDATE messages SET revoked = ? WHERE nonce = ? AND revoked IS NULL")
            .bind(now)
            .bind(subject)
            .execute(work.db())
            .await?;
    }
    work.commit().await?;
    Ok(TrustAdded::New(seq))
}

pub(super) const SINCE: &str =
    "SELECT seq, verb, what, subject, executor, proof FROM trust WHERE seq > ? ORDER BY seq LIMIT ?";

/// See [`crate::Store::trust`].
pub(super) async fn since(readers: &SqlitePool, since: u64, limit: u32) -> Result<Vec<StoredTrust>> {
    let found =
        sqlx::query(SINCE).bind(rows::cursor(since)).bind(rows::page(limit)).fetch_all(readers).await?;
    found.iter().map(stored).collect()
}

fn stored(row: &SqliteRow) -> Result<StoredTrust> {
    let subject: String = rows::column(row, "subject")?;
    let change = match rows::column::<&str>(row, "verb")? {
        "pin" => TrustChange::Pin { key: subject, executor: rows::column(row, "executor")? },
        "revoke" => TrustChange::Revoke { what: rows::column(row, "what")?, id: subject },
        verb => return Err(StoreError::Damaged { what: format!("trust verb `{verb}`"), source: None }),
    };
    Ok(StoredTrust { seq: rows::unsigned(row, "seq")?, change, proof: rows::column(row, "proof")? })
}
