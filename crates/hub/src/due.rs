//! The hub's one timer: releases batches whose undo window ended and expires what nobody answered. It sleeps until the next
//! moment at which the store says something is due; every change makes it ask again. Nothing is looked at in between.

use std::time::Duration;

use proto::Timestamp;
use tokio::time::sleep;

use crate::app::App;

/// How long to let a store be that failed, or that calls something due and then has nothing to do.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs until the hub stops.
pub(crate) async fn run(app: App) {
    let mut changes = app.changes();
    let mut stopping = app.stopping();
    while !*stopping.borrow() {
        changes.mark_unchanged();
        let next = match step(&app).await {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "the timer cannot use the database; it tries again");
                tokio::select! {
                    () = sleep(PAUSE) => {}
                    _ = stopping.wait_for(|stop| *stop) => {}
                }
                continue;
            }
        };
        let due = async {
            match next {
                Some(at) if at > app.now() => app.clock().until(at).await,
                Some(_) => sleep(PAUSE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            _ = changes.changed() => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }
}

/// Does what is due, and says when to look again.
async fn step(app: &App) -> store::Result<Option<Timestamp>> {
    let store = app.store();
    let now = app.now();
    let Some(next) = store.next_due().await? else { return Ok(None) };
    if next > now {
        return Ok(Some(next));
    }
    let settled = store.settle_due(now).await?;
    let expired = store.expire_due(now).await?;
    let moved = settled.released.len() + settled.returned.len() + expired.len();
    if moved > 0 {
        tracing::info!(released = settled.released.len(), expired = expired.len(), "what was due is done");
        app.changed();
    }
    store.next_due().await
}
