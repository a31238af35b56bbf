//! The end of the undo window: a batch's proof is released to its executors, once, and never while the hub is paused.

use proto::{HubEvent, Status, Timestamp, api::BatchStatus};
use sqlx::{Row, SqlitePool};

use super::{
    batches::{self, batch_columns, labels},
    connect::Work,
    items::{Members, earliest},
    rows,
};
use crate::{Result, Settled, StoredBatch};

/// Batches released by one call: a transaction stays short, the rest is due at once.
const SETTLE_AT_ONCE: i64 = 50;

/// How far a batch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Persons are missing.
    Collecting,
    /// In its undo window, or held by a pause.
    Settling(Timestamp),
    /// Released; the moment it settled at.
    Settled(Timestamp),
}

impl Stage {
    pub(super) const fn status(self) -> BatchStatus {
        match self {
            Self::Collecting => BatchStatus::Collecting,
            Self::Settling(_) => BatchStatus::Settling,
            Self::Settled(_) => BatchStatus::Settled,
        }
    }

    pub(super) const fn settles(self) -> Option<Timestamp> {
        match self {
            Self::Collecting => None,
            Self::Settling(settles) | Self::Settled(settles) => Some(settles),
        }
    }
}

/// Where a batch stands that has all its signatures now: where nothing is to be waited for, released here and now.
pub(super) async fn stage(work: &mut Work<'_>, not_before: Timestamp, undo_ms: i64) -> Result<Stage> {
    let settles = not_before.max(work.now.plus(undo_ms));
    let at_once = settles <= work.now && !paused(work).await?;
    Ok(if at_once { Stage::Settled(settles) } else { Stage::Settling(settles) })
}

/// Moves the items of a batch to where the batch, already written, stands, and tells of it.
pub(super) async fn enter(
    work: &mut Work<'_>,
    batch: &StoredBatch,
    members: &Members,
    stage: Stage,
) -> Result<()> {
    if let Some(settles) = stage.settles() {
        let labels = labels(&batch.signers);
        let event =
            |ids| HubEvent::Approved { batch: batch.id.clone(), ids, labels: labels.clone(), settles };
        members.tell(work, event).await?;
    }
    let status = match stage {
        Stage::Collecting => Status::Collecting,
        Stage::Settling(_) => Status::Settling,
        Stage::Settled(_) => return allow(work, batch, members).await,
    };
    sqlx::query("UPDATE items SET status = ?, batch = ? WHERE seq IN (SELECT value FROM json_each(?))")
        .bind(status.as_str())
        .bind(&batch.id)
        .bind(rows::to_json(members.seqs())?)
        .execute(work.db())
        .await?;
    Ok(())
}

async fn paused(work: &mut Work<'_>) -> Result<bool> {
    Ok(sqlx::query("SELECT 1 FROM pause WHERE one = 1").fetch_optional(work.db()).await?.is_some())
}

pub(super) const ALLOW: &str = "UPDATE items SET status = 'allowed', batch = ?, answered_by = 'person', who = ?, closed = ?, \
     ended = place.n + (SELECT COALESCE(MAX(ended), 0) FROM items) \
     FROM (SELECT value AS of, row_number() OVER (ORDER BY value) AS n FROM json_each(?)) AS place \
     WHERE items.seq = place.of";

async fn allow(work: &mut Work<'_>, batch: &StoredBatch, members: &Members) -> Result<()> {
    let now = work.now.as_millis();
    sqlx::query(ALLOW)
        .bind(&batch.id)
        .bind(labels(&batch.signers).join(", "))
        .bind(now)
        .bind(rows::to_json(members.seqs())?)
        .execute(work.db())
        .await?;
    members.tell(work, |ids| HubEvent::Allowed { batch: batch.id.clone(), ids }).await
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
            sqlx::query("UPDATE batches SET status = 'settled' WHERE id = ?")
                .bind(id)
                .execute(work.db())
                .await?;
            allow(&mut work, &batch.stored, &members).await?;
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
