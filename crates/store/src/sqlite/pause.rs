//! The pause: one row while it lasts.

use proto::HubEvent;
use sqlx::SqlitePool;

use super::{connect::Work, rows};
use crate::{Audience, Paused, Result};

/// See [`crate::Store::paused`].
pub(super) async fn paused(readers: &SqlitePool) -> Result<Option<Paused>> {
    let row = sqlx::query("SELECT by, at FROM pause WHERE one = 1").fetch_optional(readers).await?;
    row.map(|row| Ok(Paused { by: rows::column(&row, "by")?, at: rows::time(&row, "at")? })).transpose()
}

/// See [`crate::Store::pause`].
pub(super) async fn pause(mut work: Work<'_>, by: &str) -> Result<bool> {
    let now = work.now.as_millis();
    let changed = sqlx::query("INSERT OR IGNORE INTO pause (one, by, at) VALUES (1, ?, ?)")
        .bind(by)
        .bind(now)
        .execute(work.db())
        .await?;
    finish(work, changed.rows_affected(), &HubEvent::Paused { by: by.to_owned() }).await
}

/// See [`crate::Store::resume`].
pub(super) async fn resume(mut work: Work<'_>, label: &str) -> Result<bool> {
    let changed = sqlx::query("DELETE FROM pause").execute(work.db()).await?;
    finish(work, changed.rows_affected(), &HubEvent::Resumed { label: label.to_owned() }).await
}

async fn finish(mut work: Work<'_>, changed: u64, event: &HubEvent) -> Result<bool> {
    if changed == 0 {
        work.abandon().await?;
        return Ok(false);
    }
    work.append(event, &Audience::AllAgents, &[]).await?;
    work.commit().await?;
    Ok(true)
}
