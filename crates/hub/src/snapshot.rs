//! The inbox as the page and a terminal show it: rows as data, batches under way, who may sign, how the log stands.
//! The reader hashes and shows what it gets; nothing here is asked to be believed.

use axum::extract::State;
use proto::api::{AgentRow, Head, Inbox, PinRow, PinnedMessage, Row, Today};
use proto::{Item, Kind, sha256};
use serde::Deserialize;
use store::{Message, StoredItem, StoredToken, TodayCounts, VerifyDepth};

use crate::app::App;
use crate::batches::batch_row;
use crate::body::{Answer, Json, Query};
use crate::events::rows;
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
    let inbox = store.inbox(after, rows(limit)).await?;
    let midnight = now.plus(-now.as_millis().rem_euclid(DAY_MS));
    let messages = store.pinned_messages(now).await?;
    let batches = store.open_batches().await?;
    Ok(Json(Inbox {
        inbox: inbox.rows.into_iter().map(row).collect(),
        next: inbox.next.map(|cursor| cursor.to_string()),
        total: inbox.total,
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

/// One item as a row.
pub(crate) fn row(stored: StoredItem) -> Row {
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
        human_only: policy::human_only(&item).map(|held| held.sentence().to_owned()),
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
