//! The inbox as the page and a terminal show it: rows as data, batches under way, who may sign, how the log stands.
//! The reader hashes and shows what it gets; nothing here is asked to be believed.

use axum::extract::State;
use proto::api::{AgentRow, Head, Inbox, PinRow, PinnedMessage, Row, Today};
use proto::{Item, Kind, limits, sha256};
use serde::Deserialize;
use store::{Message, StoredItem, StoredToken, TodayCounts, VerifyDepth};

use crate::app::App;
use crate::batches::batch_row;
use crate::body::{Answer, Json, Query};
use crate::events::rows;
use crate::human;
use crate::problem::{Code, Problem};

/// A day, for the counts since midnight UTC.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /api/snapshot`
pub(crate) async fn snapshot(
    State(app): State<App>,
    Query(Page { after, limit }): Query<Page>,
) -> Answer<Inbox> {
    let after = after
        .map(|cursor| {
            cursor
                .parse::<u64>()
                .map_err(|_| Problem::new(Code::Malformed, "`after` is not a cursor of ours"))
        })
        .transpose()?;
    let now = app.now();
    let store = app.store();
    let waiting = waiting(&app, after, rows(limit)?).await?;
    let mut inbox = Vec::with_capacity(waiting.rows.len());
    for stored in waiting.rows {
        inbox.push(row(&app, stored).await);
    }
    let midnight = now.plus(-now.as_millis().rem_euclid(DAY_MS));
    let messages = store.pinned_messages(now).await?;
    let batches = store.open_batches().await?;
    Ok(Json(Inbox {
        inbox,
        next: waiting.next.map(|cursor| cursor.to_string()),
        total: waiting.total,
        jobs: Vec::new(),
        rules: Vec::new(),
        delegations: Vec::new(),
        batches: batches.into_iter().map(batch_row).collect(),
        agents: store.tokens().await?.into_iter().map(agent_row).collect(),
        messages: messages.into_iter().map(pinned_message).collect(),
        head: head(&app).await?,
        hub: app.config().name.clone(),
        paused: store.paused().await?.is_some(),
        undo_ms: app.config().undo_ms,
        now,
        pins: pins(&app)?,
        today: today(store.today(midnight).await?),
    }))
}

/// A page of what waits, read in steps and ended by its size too: a full inbox of the largest inputs is half a gigabyte.
async fn waiting(app: &App, after: Option<u64>, limit: u32) -> Result<store::Inbox, Problem> {
    let (mut left, mut bytes) = (limit, 0_usize);
    let mut page = store::Inbox { rows: Vec::new(), next: after, total: 0 };
    while left > 0 {
        let step = app.store().inbox(page.next, left.min(limits::PAGE_STEP)).await?;
        (page.next, page.total) = (step.next, step.total);
        for stored in step.rows {
            bytes = bytes.saturating_add(size(&stored));
            if bytes > limits::PAGE_BYTES && !page.rows.is_empty() {
                page.next = page.rows.last().map(|row| row.seq);
                return Ok(page);
            }
            left = left.saturating_sub(1);
            page.rows.push(stored);
        }
        if page.next.is_none() {
            break;
        }
    }
    Ok(page)
}

/// About how large an item is on the wire, with the ids of its equals.
pub(crate) fn size(stored: &StoredItem) -> usize {
    human::size(&stored.item).saturating_add(stored.also.len().saturating_mul(48))
}

/// One item as a row.
pub(crate) async fn row(app: &App, stored: StoredItem) -> Row {
    let StoredItem {
        seq: _,
        item,
        also,
        owner,
        status,
        quorum,
        have,
        batch,
        host,
        thread,
        guard,
        why,
        created,
        expires,
        closed: _,
    } = stored;
    let (task, command) = match &item {
        Item::Command(command) => {
            (Some(command.task.clone()), sha256(command.command.as_bytes()).to_string())
        }
        Item::Ask(_) | Item::Call(_) | Item::Review(_) | Item::Decision(_) => (None, String::new()),
    };
    Row {
        kind: item.kind(),
        id: item.id().to_owned(),
        also,
        status,
        agent: owner,
        executor: item.executor().to_owned(),
        host,
        thread,
        guard,
        why,
        created,
        expires,
        quorum,
        have,
        batch,
        human_only: app.held(&item).await.map(|held| held.sentence().to_owned()),
        runnable: item.kind() == Kind::Command,
        task,
        sha256: command,
        job: None,
        item,
    }
}

fn agent_row(token: StoredToken) -> AgentRow {
    let StoredToken { name, role, executors, created, seen, revoked } = token;
    AgentRow { name, role, executors, created, seen, revoked: revoked.is_some() }
}

fn pinned_message(message: Message) -> PinnedMessage {
    let Message { seq, pinned: _, expires, denial } = message;
    PinnedMessage {
        seq,
        nonce: denial.nonce,
        channel: denial.channel,
        reason: denial.reason,
        label: denial.label,
        expires,
    }
}

/// Where the log ends, and whether it verifies up to there.
pub(crate) async fn head(app: &App) -> Result<Head, Problem> {
    let report = app.store().verify_log(VerifyDepth::New).await?;
    Ok(Head { seq: report.head.seq, hash: report.head.hash, verified: report.failure.is_none() })
}

fn pins(app: &App) -> Result<Vec<PinRow>, Problem> {
    let approvers = app.pins()?;
    let row = |entry: &proto::api::PinEntry| PinRow {
        id: entry.id.clone(),
        label: entry.label.clone(),
        person: entry.person.clone(),
        alg: entry.alg,
        fingerprint: proof::fingerprint(entry).unwrap_or_default(),
        since: entry.since,
        revoked: approvers.is_revoked(&entry.id),
    };
    Ok(approvers.keys().iter().map(|key| row(key.entry())).collect())
}

fn today(counts: TodayCounts) -> Today {
    let TodayCounts { allowed_by_person, allowed_by_rule, allowed_by_reviewer, denied, expired } = counts;
    Today { allowed_by_you: allowed_by_person, allowed_by_rule, allowed_by_reviewer, denied, expired }
}
