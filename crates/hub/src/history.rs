//! What was answered, and the whole story of one item. Read only.

use axum::extract::State;
use proto::api::Row;
use proto::{Channel, Item, Kind, Status, Timestamp, limits};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{HistoryEntry, HistoryQuery};

use crate::app::App;
use crate::asks::{not_found, raw};
use crate::body::{Answer, Id, Json, Query};
use crate::events::rows;
use crate::problem::Problem;
use crate::snapshot::{row, size};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    before: Option<u64>,
    limit: Option<u32>,
    q: Option<String>,
}

/// A page of history, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    entries: Vec<Entry>,
    next: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Entry {
    kind: Kind,
    id: String,
    status: Status,
    item: Item,
    agent: String,
    who: String,
    channel: Option<Channel>,
    reason: String,
    created: Timestamp,
    closed: Option<Timestamp>,
    seq: u64,
}

/// `GET /api/history`
pub(crate) async fn list(
    State(app): State<App>,
    Query(Search { before, limit, q }): Query<Search>,
) -> Answer<History> {
    let limit = rows(limit)?.min(limits::PAGE_STEP);
    let query = HistoryQuery { before, limit, text: q.unwrap_or_default() };
    let page = app.store().history(&query).await?;
    let (mut entries, mut next, mut bytes): (Vec<Entry>, _, _) = (Vec::new(), page.next, 0_usize);
    for stored in page.entries {
        bytes = bytes.saturating_add(size(&stored.item));
        // A page ends by its size too; the cursor leads to the rest.
        if let Some(last) = entries.last()
            && bytes > limits::PAGE_BYTES
        {
            next = Some(last.seq);
            break;
        }
        entries.push(entry(stored));
    }
    Ok(Json(History { entries, next }))
}

fn entry(stored: HistoryEntry) -> Entry {
    let HistoryEntry { item: stored, seq, who, channel, reason } = stored;
    Entry {
        kind: stored.item.kind(),
        id: stored.item.id().to_owned(),
        status: stored.status,
        item: stored.item,
        agent: stored.owner,
        who,
        channel,
        reason,
        created: stored.created,
        closed: stored.closed,
        seq,
    }
}

/// The whole story of one item.
#[derive(Debug, Serialize)]
pub(crate) struct Story {
    row: Row,
    events: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Box<RawValue>>,
}

/// `GET /api/items/{id}`
pub(crate) async fn story(State(app): State<App>, Id(id): Id) -> Answer<Story> {
    let store = app.store();
    let stored = store.item(&id).await?.ok_or_else(not_found)?;
    let answer = store.answer(&id).await?.ok_or_else(not_found)?;
    let proof = answer.proof.or(answer.denial.map(|denial| denial.proof));
    let lines = store.item_events(&id).await?;
    Ok(Json(Story {
        row: row(&app, stored).await,
        events: lines.into_iter().map(|line| raw(line.line)).collect::<Result<_, Problem>>()?,
        proof: proof.map(raw).transpose()?,
    }))
}
