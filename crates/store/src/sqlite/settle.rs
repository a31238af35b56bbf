//! The end of the undo window: a batch's proof is released to its executors, once, and never while the hub is paused.

use proto::{HubEvent, Timestamp, api::BatchStatus};
use sqlx::{Row, SqlitePool};

use super::{
    batches::{self, Batch, batch_columns, labels},
    connect::Work,
    items::{ByOwner, LAST_ENDED, earliest},
};
use crate::{Result, Settled, StoreError};

/// Batches released by one call: a transaction stays short, the rest is due at once.
const SETTLE_AT_ONCE: i64 = 50;

/// A batch has all its signatures: it settles, and where nothing is to be waited for it is released here and now.
pub(super) async fn complete(work: &mut Work<'_>, id: &str, members: &ByOwner) -> Result<()> {
    let missing = || StoreError::Damaged { what: format!("batch {id}"), source: None };
    let batch = batches::load(work, id).await?.ok_or_else(missing)?;
    let settles = batch.not_before.max(work.now.plus(batch.undo_ms));
    sqlx::query("UPDATE batches SET status = 'settling', settles = ? WHERE id = ?")
        .bind(settles.as_millis())
        .bind(id)
        .execute(work.db())
        .await?;
    sqlx::query("UPDATE items SET status = 'settling' WHERE batch = ?").bind(id).execute(work.db()).await?;
    let labels = labels(&batch.stored.signers);
    let event = |ids| HubEvent::Approved { batch: id.to_owned(), ids, labels: labels.clone(), settles };
    members.tell(work, event).await?;
    if settles <= work.now && !paused(work).await? {
        release(work, &batch, members).await?;
    }
    Ok(())
}

async fn paused(work: &mut Work<'_>) -> Result<bool> {
    Ok(sqlx::query("SELECT 1 FROM pause WHERE one = 1").fetch_optional(work.db()).await?.is_some())
}

async fn release(work: &mut Work<'_>, batch: &Batch, members: &ByOwner) -> Result<()> {
    let id = &batch.stored.id;
    let now = work.now.as_millis();
    sqlx::query("UPDATE batches SET status = 'settled' WHERE id = ?").bind(id).execute(work.db()).await?;
    let last: i64 = sqlx::query(LAST_ENDED).fetch_one(work.db()).await?.try_get(0)?;
    sqlx::query(
        "UPDATE items SET status = 'allowed', answered_by = 'person', who = ?, closed = ?, ended = ? + place.n \
         FROM (SELECT seq AS of, row_number() OVER (ORDER BY seq) AS n FROM items WHERE batch = ?) AS place \
         WHERE items.seq = place.of",
    )
    .bind(labels(&batch.stored.signers).join(", "))
    .bind(now)
    .bind(last)
    .bind(id)
    .execute(work.db())
    .await?;
    members.tell(work, |ids| HubEvent::Allowed { batch: id.clone(), ids }).await
}

pub(super) const DUE: &str = concat!(
    "SELECT ",
    batch_columns!(),
    " FROM batches WHERE status = 'settling' AND settles <= ? ORDER BY settles LIMIT ?"
);

/// See [`crate::Store::settle_due`].
pub(super) async fn settle_due(mut work: Work<'_>) -> Result<Settled> {
    let mut settled = Settled::default();
    if paused(&mut work).await? {
        work.abandon().await?;
        return Ok(settled);
    }
    let now = work.now;
    let due = sqlx::query(DUE).bind(now.as_millis()).bind(SETTLE_AT_ONCE).fetch_all(work.db()).await?;
    for row in &due {
        let batch = batches::batch_of(row)?;
        let id = &batch.stored.id;
        if batch.stored.expires <= now {
            settled.returned.extend(batches::withdraw(&mut work, id, BatchStatus::Expired, "").await?);
        } else {
            let members = batches::members(&mut work, id).await?;
            release(&mut work, &batch, &members).await?;
            settled.released.extend(members.ids());
        }
    }
    if due.is_empty() {
        work.abandon().await?;
    } else {
        work.commit().await?;
    }
    Ok(settled)
}

pub(super) const NEXT: [&str; 3] = [
    "SELECT MIN(settles) FROM batches WHERE status = 'settling' AND NOT EXISTS (SELECT 1 FROM pause)",
    "SELECT MIN(expires) FROM batches WHERE status = 'collecting'",
    "SELECT MIN(expires) FROM items WHERE status IN ('pending', 'collecting')",
];

/// See [`crate::Store::next_due`].
pub(super) async fn next_due(readers: &SqlitePool) -> Result<Option<Timestamp>> {
    let mut db = readers.acquire().await?;
    let mut moments = Vec::new();
    for sql in NEXT {
        let moment: Option<i64> = sqlx::query(sql).fetch_one(&mut *db).await?.try_get(0)?;
        moments.push(moment.map(Timestamp::from_millis));
    }
    Ok(earliest(moments))
}
