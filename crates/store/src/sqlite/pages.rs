//! Pages of many items: the inbox and the history, by key and never by offset, and the day's counts.

use sqlx::SqlitePool;

use super::{
    items::{self, item_columns},
    rows,
};
use crate::{HISTORY_SCAN, HistoryEntry, HistoryPage, HistoryQuery, Inbox, Result, StoredItem, TodayCounts};

/// A row's twins are compared field by field, not by their digest: a row that was edited stands alone.
macro_rules! twin_of_i {
    () => {
        "j.twin = i.twin AND j.status IN ('pending', 'collecting', 'settling') AND j.status = i.status \
         AND j.batch IS i.batch AND j.kind = i.kind AND j.owner = i.owner AND j.fields = i.fields"
    };
}

pub(super) const INBOX: &str = concat!(
    "SELECT ",
    item_columns!(),
    ", (SELECT json_group_array(id) FROM (SELECT j.id FROM items j WHERE ",
    twin_of_i!(),
    " AND j.seq > i.seq ORDER BY j.seq)) AS also \
     FROM items i WHERE i.status IN ('pending', 'collecting', 'settling') AND i.seq > ? \
     AND NOT EXISTS (SELECT 1 FROM items j WHERE ",
    twin_of_i!(),
    " AND j.seq < i.seq) ORDER BY i.seq LIMIT ?"
);

/// See [`crate::Store::inbox`].
pub(super) async fn inbox(readers: &SqlitePool, after: Option<u64>, limit: u32) -> Result<Inbox> {
    let limit = rows::page(limit);
    let mut db = readers.acquire().await?;
    let mut found = sqlx::query(INBOX)
        .bind(after.map_or(0, rows::cursor))
        .bind(limit.saturating_add(1))
        .fetch_all(&mut *db)
        .await?;
    let more = found.len() > usize::try_from(limit).unwrap_or(0);
    if more {
        found.pop();
    }
    let mut page = Vec::with_capacity(found.len());
    for row in &found {
        page.push(StoredItem { also: rows::json(row, "also")?, ..items::stored(row)? });
    }
    let total = sqlx::query("SELECT waiting FROM waiting WHERE owner = ''").fetch_one(&mut *db).await?;
    Ok(Inbox {
        next: if more { page.last().map(|row| row.seq) } else { None },
        rows: page,
        total: rows::unsigned(&total, "waiting")?,
    })
}

macro_rules! history_columns {
    () => {
        concat!(item_columns!(), ", i.ended, i.who, d.channel, d.reason")
    };
}

pub(super) const HISTORY: &str = concat!(
    "SELECT ",
    history_columns!(),
    " FROM items i LEFT JOIN denials d ON d.nonce = i.denial WHERE i.ended < ? ORDER BY i.ended DESC LIMIT ?"
);

/// Looks through a window of fixed size, so that a text that is nowhere costs no more than one that is.
pub(super) const SEARCH: &str = concat!(
    "SELECT ",
    history_columns!(),
    " FROM (SELECT seq FROM items WHERE ended < ?1 ORDER BY ended DESC LIMIT ?4) w \
     CROSS JOIN items i ON i.seq = w.seq LEFT JOIN denials d ON d.nonce = i.denial \
     WHERE i.fields LIKE ?6 ESCAPE '\\' OR i.fields LIKE ?3 ESCAPE '\\' OR i.owner LIKE ?2 ESCAPE '\\' \
     OR i.id LIKE ?2 ESCAPE '\\' OR i.who LIKE ?2 ESCAPE '\\' OR d.reason LIKE ?2 ESCAPE '\\' \
     ORDER BY i.ended DESC LIMIT ?5"
);

/// The oldest entry of a search's window, if the window is full.
pub(super) const WINDOW_END: &str =
    "SELECT ended FROM items WHERE ended < ? ORDER BY ended DESC LIMIT 1 OFFSET ?";

/// See [`crate::Store::history`].
pub(super) async fn history(readers: &SqlitePool, query: &HistoryQuery) -> Result<HistoryPage> {
    let HistoryQuery { before, limit, text } = query;
    let before = before.map_or(i64::MAX, rows::cursor);
    let limit = rows::page(*limit);
    let mut db = readers.acquire().await?;
    let found = if text.is_empty() {
        sqlx::query(HISTORY).bind(before).bind(limit).fetch_all(&mut *db).await?
    } else {
        sqlx::query(SEARCH)
            .bind(before)
            .bind(pattern(text))
            .bind(pattern(&escaped(text)?))
            .bind(HISTORY_SCAN)
            .bind(limit)
            .bind(pattern(&escaped(&escaped(text)?)?))
            .fetch_all(&mut *db)
            .await?
    };
    let full = i64::try_from(found.len()).unwrap_or(i64::MAX) >= limit;
    let mut entries = Vec::with_capacity(found.len());
    for row in &found {
        entries.push(HistoryEntry {
            item: items::stored(row)?,
            seq: rows::unsigned(row, "ended")?,
            who: rows::column(row, "who")?,
            channel: match rows::column::<Option<&str>>(row, "channel")? {
                Some(_) => Some(rows::word(row, "channel")?),
                None => None,
            },
            reason: rows::column::<Option<String>>(row, "reason")?.unwrap_or_default(),
        });
    }
    let next = if full {
        entries.last().map(|entry| entry.seq)
    } else if text.is_empty() {
        None
    } else {
        let end = sqlx::query(WINDOW_END)
            .bind(before)
            .bind(HISTORY_SCAN.saturating_sub(1))
            .fetch_optional(&mut *db)
            .await?;
        end.as_ref().map(|row| rows::unsigned(row, "ended")).transpose()?
    };
    Ok(HistoryPage { entries, next })
}

/// `LIKE` pattern that finds `text` anywhere.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// As the text stands inside JSON: what a person reads as `say "hi"` is stored escaped, in an input even twice.
fn escaped(text: &str) -> Result<String> {
    let quoted = rows::to_json(text)?;
    Ok(quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted).to_owned())
}

pub(super) const TODAY: &str = "SELECT status, answered_by, COUNT(*) AS n FROM items \
     WHERE closed >= ? GROUP BY status, answered_by";

/// See [`crate::Store::today`].
pub(super) async fn today(readers: &SqlitePool, since: proto::Timestamp) -> Result<TodayCounts> {
    let found = sqlx::query(TODAY).bind(since.as_millis()).fetch_all(readers).await?;
    let mut counts = TodayCounts::default();
    for row in &found {
        let n = rows::unsigned(row, "n")?;
        match (rows::column::<&str>(row, "status")?, rows::column::<&str>(row, "answered_by")?) {
            ("allowed", "person") => counts.allowed_by_person = n,
            ("allowed", "rule") => counts.allowed_by_rule = n,
            ("allowed", "reviewer") => counts.allowed_by_reviewer = n,
            ("denied", _) => counts.denied = counts.denied.saturating_add(n),
            ("expired", _) => counts.expired = counts.expired.saturating_add(n),
            _ => {}
        }
    }
    Ok(counts)
}
