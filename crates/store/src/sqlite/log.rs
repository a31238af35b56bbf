//! The log: lines appended inside the transaction that they tell of, read back by number, and the check of the chain.
//!
//! The chain covers the lines. The index of topics beside them is not chained: whoever edits it can hide an event from a
//! machine's own view, never from the log.

use proto::{
    Digest, HubEvent,
    chain::{ChainVerifier, Record},
};
use serde::Deserialize;
use sqlx::{SqliteConnection, SqlitePool, sqlite::SqliteRow};

use super::{connect::Work, rows};
use crate::{Audience, EventLine, EventQuery, Head, LogReport, Result, VerifyDepth};

/// Topic of what every machine sees.
pub(super) const ALL_AGENTS: &str = "agents";

/// How many lines are read at once for a check: a few hundred KiB.
const VERIFY_PAGE: i64 = 500;

/// Topic of what one machine sees.
pub(super) fn agent_topic(name: &str) -> String {
    format!("agent/{name}")
}

const APPEND: &str = "INSERT INTO events (seq, kind, line) VALUES (?, ?, ?); \
     INSERT OR IGNORE INTO topics (topic, seq) SELECT value, ? FROM json_each(?)";

impl Work<'_> {
    /// Appends an event that concerns `ids`. Returns its number.
    pub(super) async fn append(
        &mut self,
        event: &HubEvent,
        audience: &Audience,
        ids: &[String],
    ) -> Result<u64> {
        let line = self.chain.append(self.now, event).map_err(rows::other)?;
        self.end = Some((line.seq, line.hash));
        let seq = rows::signed(line.seq)?;
        let reader = match audience {
            Audience::Persons => None,
            Audience::Agent(name) => Some(agent_topic(name)),
            Audience::AllAgents => Some(ALL_AGENTS.to_owned()),
        };
        let topics: Vec<String> =
            reader.into_iter().chain(ids.iter().map(|id| format!("item/{id}"))).collect();
        sqlx::query(APPEND)
            .bind(seq)
            .bind(event.kind())
            .bind(line.text)
            .bind(seq)
            .bind(rows::to_json(&topics)?)
            .execute(self.db())
            .await?;
        Ok(line.seq)
    }
}

fn line(row: &SqliteRow) -> Result<EventLine> {
    Ok(EventLine {
        seq: rows::unsigned(row, "seq")?,
        kind: rows::column(row, "kind")?,
        line: rows::column(row, "line")?,
    })
}

fn lines(found: &[SqliteRow]) -> Result<Vec<EventLine>> {
    found.iter().map(line).collect()
}

pub(super) const ALL: &str = "SELECT seq, kind, line FROM events WHERE seq > ? ORDER BY seq LIMIT ?";
pub(super) const OF_KIND: &str =
    "SELECT seq, kind, line FROM events WHERE kind = ? AND seq > ? ORDER BY seq LIMIT ?";
pub(super) const OF_TOPIC: &str = "SELECT e.seq, e.kind, e.line FROM topics t CROSS JOIN events e ON e.seq = t.seq \
     WHERE t.topic = ?1 AND t.seq > ?2 AND (?3 IS NULL OR e.kind IN (SELECT value FROM json_each(?3))) \
     ORDER BY t.seq LIMIT ?4";

/// See [`crate::Store::events`].
pub(super) async fn events(readers: &SqlitePool, query: &EventQuery) -> Result<Vec<EventLine>> {
    let EventQuery { since, kinds, agent, limit } = query;
    let (since, limit) = (rows::cursor(*since), rows::page(*limit));
    let mut db = readers.acquire().await?;
    let mut found = Vec::new();
    if let Some(name) = agent {
        let kinds = if kinds.is_empty() { None } else { Some(rows::to_json(kinds)?) };
        for topic in [agent_topic(name), ALL_AGENTS.to_owned()] {
            found.extend(of_topic(&mut db, &topic, since, kinds.as_deref(), limit).await?);
        }
    } else if kinds.is_empty() {
        let all = sqlx::query(ALL).bind(since).bind(limit).fetch_all(&mut *db).await?;
        found.extend(lines(&all)?);
    } else {
        for kind in kinds {
            let some = sqlx::query(OF_KIND).bind(kind).bind(since).bind(limit).fetch_all(&mut *db).await?;
            found.extend(lines(&some)?);
        }
    }
    found.sort_unstable_by_key(|line| line.seq);
    found.dedup_by_key(|line| line.seq);
    found.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(found)
}

async fn of_topic(
    db: &mut SqliteConnection,
    topic: &str,
    since: i64,
    kinds: Option<&str>,
    limit: i64,
) -> Result<Vec<EventLine>> {
    let found = sqlx::query(OF_TOPIC).bind(topic).bind(since).bind(kinds).bind(limit).fetch_all(db).await?;
    lines(&found)
}

/// See [`crate::Store::item_events`].
pub(super) async fn item_events(readers: &SqlitePool, id: &str) -> Result<Vec<EventLine>> {
    let mut db = readers.acquire().await?;
    of_topic(&mut db, &format!("item/{id}"), 0, None, rows::page(u32::MAX)).await
}

async fn end(db: &mut SqliteConnection) -> Result<Head> {
    let row = sqlx::query("SELECT seq, hash FROM chain WHERE one = 1").fetch_one(db).await?;
    Ok(Head { seq: rows::unsigned(&row, "seq")?, hash: rows::digest(&row, "hash")? })
}

/// See [`crate::Store::head`].
pub(super) async fn head(readers: &SqlitePool) -> Result<Head> {
    end(&mut *readers.acquire().await?).await
}

/// Up to where the chain was found whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verified {
    seq: u64,
    hash: Digest,
}

impl Verified {
    /// Nothing was checked yet.
    pub(super) const NOTHING: Self = Self { seq: 0, hash: Digest::ZERO };
}

#[derive(Deserialize)]
struct Tag {
    kind: String,
}

/// See [`crate::Store::verify_log`]. Reads one snapshot, so that lines written meanwhile are the next check's.
pub(super) async fn verify(
    readers: &SqlitePool,
    verified: &mut Verified,
    depth: VerifyDepth,
) -> Result<LogReport> {
    let mut snapshot = readers.begin().await?;
    let head = end(&mut snapshot).await?;
    let start = match depth {
        VerifyDepth::New => *verified,
        VerifyDepth::Whole => Verified::NOTHING,
    };
    let mut verifier = ChainVerifier::after(start.seq, start.hash);
    let mut last = start.seq;
    let mut mislabelled = None;
    loop {
        let page =
            sqlx::query(ALL).bind(rows::signed(last)?).bind(VERIFY_PAGE).fetch_all(&mut *snapshot).await?;
        if page.is_empty() {
            break;
        }
        for found in lines(&page)? {
            verifier.feed("log", found.line.as_bytes());
            verifier.feed("log", b"\n");
            if mislabelled.is_none() && !labelled(&found, last.saturating_add(1)) {
                mislabelled = Some(found.seq);
            }
            last = found.seq;
        }
    }
    let report = verifier.finish();
    let failure = if let Some(failure) = report.failure {
        Some(format!("line {}: {}", start.seq.saturating_add(failure.line), failure.reason))
    } else if let Some(seq) = mislabelled {
        Some(format!("line {seq}: its row is not labelled as the line says"))
    } else if (report.seq, report.head) != (head.seq, head.hash) {
        Some(format!("line {}: the log ends here, but {} lines were written", report.seq, head.seq))
    } else {
        *verified = Verified { seq: report.seq, hash: report.head };
        None
    };
    Ok(LogReport { records: start.seq.saturating_add(report.records), head, failure })
}

/// Whether the columns beside a line, by which readers find it, say what the line says.
fn labelled(found: &EventLine, expected: u64) -> bool {
    let kind = serde_json::from_str::<Record>(&found.line)
        .and_then(|record| serde_json::from_str::<Tag>(record.event.get()));
    found.seq == expected && kind.is_ok_and(|tag| tag.kind == found.kind)
}
