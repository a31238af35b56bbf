//! Items: adding, reading one, closing by the asker, expiry. Pages of many are in `pages`.

use std::collections::BTreeMap;

use proto::{HubEvent, Item, Kind, Status, Timestamp, api::BatchStatus, sha256};
use sqlx::{Row, SqlitePool, sqlite::SqliteRow};

use super::{
    batches,
    connect::Work,
    denials::{self, denial_columns},
    rows,
};
use crate::{Added, Answer, Audience, Caps, Closed, Closing, NewItem, Result, StoredItem, TooMany};

/// The columns of a [`StoredItem`], from `items i`.
macro_rules! item_columns {
    () => {
        "i.seq, i.id, i.kind, i.owner, i.twin, i.quorum, i.guard, i.status, i.batch, i.created, i.expires, i.closed, \
         i.host, i.thread, i.why, i.fields, \
         (SELECT b.have FROM batches b WHERE b.id = i.batch) AS have"
    };
}
pub(super) use item_columns;

/// The JSON of an item's fields but `id`, which is a column of its own: one truth each.
fn stored_fields(item: &Item) -> Result<String> {
    let whole = rows::to_json(item)?;
    let head = format!("{{\"id\":{},", rows::to_json(item.id())?);
    match whole.strip_prefix(&head) {
        Some(rest) => Ok(format!("{{{rest}")),
        None => Err(rows::other("an item's JSON does not begin with its id")),
    }
}

/// The item as the row holds it now.
pub(super) fn item_of(row: &SqliteRow) -> Result<Item> {
    let id: &str = rows::column(row, "id")?;
    let kind: Kind = rows::word(row, "kind")?;
    let fields: &str = rows::column(row, "fields")?;
    let rest = fields.strip_prefix('{').unwrap_or(fields);
    let whole = format!("{{\"id\":{},{rest}", rows::to_json(id)?);
    Item::from_json(kind, whole.as_bytes()).map_err(|error| rows::damaged(&format!("item {id}"), error))
}

/// A whole row; `also` stays empty.
pub(super) fn stored(row: &SqliteRow) -> Result<StoredItem> {
    Ok(StoredItem {
        seq: rows::unsigned(row, "seq")?,
        item: item_of(row)?,
        also: Vec::new(),
        owner: rows::column(row, "owner")?,
        status: rows::word(row, "status")?,
        quorum: rows::count(row, "quorum")?,
        have: rows::column::<Option<i64>>(row, "have")?.map_or(Ok(0), |_| rows::count(row, "have"))?,
        batch: rows::column(row, "batch")?,
        host: rows::column(row, "host")?,
        thread: rows::column(row, "thread")?,
        guard: rows::serde_word(row, "guard")?,
        why: rows::column(row, "why")?,
        created: rows::time(row, "created")?,
        expires: rows::time(row, "expires")?,
        closed: rows::maybe_time(row, "closed")?,
    })
}

pub(super) const ONE: &str = concat!("SELECT ", item_columns!(), " FROM items i WHERE i.id = ?");

/// See [`crate::Store::item`].
pub(super) async fn item(readers: &SqlitePool, id: &str) -> Result<Option<StoredItem>> {
    sqlx::query(ONE).bind(id).fetch_optional(readers).await?.as_ref().map(stored).transpose()
}

pub(super) const ANSWER: &str = concat!(
    "SELECT i.owner, i.status, i.expires, ",
    denial_columns!(),
    ", CASE WHEN i.status = 'allowed' AND b.status = 'settled' THEN b.proof END AS released \
     FROM items i LEFT JOIN batches b ON b.id = i.batch LEFT JOIN denials d ON d.nonce = i.denial WHERE i.id = ?"
);

/// See [`crate::Store::answer`].
pub(super) async fn answer(readers: &SqlitePool, id: &str) -> Result<Option<Answer>> {
    let Some(row) = sqlx::query(ANSWER).bind(id).fetch_optional(readers).await? else {
        return Ok(None);
    };
    let status = rows::word(&row, "status")?;
    Ok(Some(Answer {
        owner: rows::column(&row, "owner")?,
        status,
        expires: rows::time(&row, "expires")?,
        proof: rows::column(&row, "released")?,
        denial: if status == Status::Denied { denials::maybe_stored(&row)? } else { None },
    }))
}

const ADD: &str = "INSERT INTO items \
     (id, kind, owner, twin, quorum, guard, status, created, expires, host, thread, why, fields) \
     VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)";

/// What makes two items one row of the inbox: everything but id and times.
fn twin(new: &NewItem, fields: &str) -> Result<Vec<u8>> {
    let NewItem { item, owner, quorum, host, thread, guard, why, expires: _ } = new;
    let same = (item.kind(), owner, quorum, host, thread, guard, why, fields);
    Ok(sha256(rows::to_json(&same)?.as_bytes()).as_bytes().to_vec())
}

/// See [`crate::Store::add_item`].
pub(super) async fn add(mut work: Work<'_>, new: &NewItem, caps: Caps) -> Result<Added> {
    let id = new.item.id();
    if let Some(row) = sqlx::query(ONE).bind(id).fetch_optional(work.db()).await? {
        let found = stored(&row)?;
        work.abandon().await?;
        let same = found.item == new.item && found.owner == new.owner;
        return Ok(if same { Added::Same(found) } else { Added::Conflict });
    }
    if let Some(cap) = full(&mut work, &new.owner, caps).await? {
        work.abandon().await?;
        return Ok(Added::TooMany(cap));
    }
    let fields = stored_fields(&new.item)?;
    let now = work.now;
    sqlx::query(ADD)
        .bind(id)
        .bind(new.item.kind().as_str())
        .bind(&new.owner)
        .bind(twin(new, &fields)?)
        .bind(new.quorum)
        .bind(rows::to_word(&new.guard)?)
        .bind(now.as_millis())
        .bind(new.expires.as_millis())
        .bind(&new.host)
        .bind(&new.thread)
        .bind(&new.why)
        .bind(fields)
        .execute(work.db())
        .await?;
    let row = sqlx::query(ONE).bind(id).fetch_one(work.db()).await?;
    let stored = stored(&row)?;
    let field = |name| new.item.fields().into_iter().find(|(found, _)| *found == name);
    let value = |name| field(name).map_or_else(String::new, |(_, value)| value.to_owned());
    let event = HubEvent::Asked {
        id: id.to_owned(),
        item_kind: new.item.kind(),
        agent: new.owner.clone(),
        executor: new.item.executor().to_owned(),
        session: value("session"),
        tool: value("tool"),
    };
    work.append(&event, &Audience::Agent(new.owner.clone()), &[id.to_owned()]).await?;
    work.commit().await?;
    Ok(Added::New(stored))
}

/// The cap that leaves no room for one more.
async fn full(work: &mut Work<'_>, owner: &str, caps: Caps) -> Result<Option<TooMany>> {
    let count = "SELECT COALESCE((SELECT unanswered FROM waiting WHERE owner = ?), 0)";
    let mut of = async |owner: &str| -> Result<i64> {
        Ok(sqlx::query(count).bind(owner.to_owned()).fetch_one(work.db()).await?.try_get(0)?)
    };
    if of(owner).await? >= i64::from(caps.per_owner) {
        return Ok(Some(TooMany::Owner));
    }
    Ok((of("").await? >= i64::from(caps.total)).then_some(TooMany::Total))
}

/// The place in the history of the item that ended last.
pub(super) const LAST_ENDED: &str = "SELECT COALESCE(MAX(ended), 0) AS last FROM items";

/// Ends one item that waits: it leaves its batch, if it is in one.
pub(super) async fn end(work: &mut Work<'_>, seq: i64, ending: &Ending<'_>) -> Result<()> {
    let now = work.now.as_millis();
    let row = sqlx::query("SELECT batch FROM items WHERE seq = ?").bind(seq).fetch_one(work.db()).await?;
    let batch: Option<String> = rows::column(&row, "batch")?;
    let last = sqlx::query(LAST_ENDED).fetch_one(work.db()).await?;
    sqlx::query(
        "UPDATE items SET status = ?, batch = NULL, denial = ?, answered_by = ?, who = ?, closed = ?, ended = ? + 1 \
         WHERE seq = ?",
    )
    .bind(ending.status.as_str())
    .bind(ending.denial)
    .bind(if ending.denial.is_some() { "person" } else { "" })
    .bind(ending.who)
    .bind(now)
    .bind(rows::column::<i64>(&last, "last")?)
    .bind(seq)
    .execute(work.db())
    .await?;
    if let Some(batch) = batch {
        batches::end_if_empty(work, &batch, ending.who).await?;
    }
    Ok(())
}

/// How an item ends without being allowed.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) status: Status,
    /// Nonce of the denial.
    pub(super) denial: Option<&'a str>,
    /// Who ended it, as shown; empty where nobody did.
    pub(super) who: &'a str,
}

/// See [`crate::Store::close_item`].
pub(super) async fn close(mut work: Work<'_>, id: &str, owner: &str, how: Closing) -> Result<Closed> {
    let wanted = match how {
        Closing::Cancelled => Status::Cancelled,
        Closing::Superseded => Status::Superseded,
    };
    let found = sqlx::query("SELECT seq, owner, status FROM items WHERE id = ?")
        .bind(id)
        .fetch_optional(work.db())
        .await?;
    let found = match found {
        Some(row) if rows::column::<&str>(&row, "owner")? == owner => {
            Some((rows::column::<i64>(&row, "seq")?, rows::word::<Status>(&row, "status")?))
        }
        Some(_) | None => None,
    };
    let refused = match found {
        None => Some(Closed::NotFound),
        Some((_, status)) if status == wanted => Some(Closed::Done),
        Some((_, status)) if !status.waits() => Some(Closed::Ended(status)),
        Some(_) => None,
    };
    let (None, Some((seq, _))) = (refused, found) else {
        work.abandon().await?;
        return Ok(refused.unwrap_or(Closed::NotFound));
    };
    end(&mut work, seq, &Ending { status: wanted, denial: None, who: "" }).await?;
    let (id, agent) = (id.to_owned(), owner.to_owned());
    let ids = [id.clone()];
    let event = match how {
        Closing::Cancelled => HubEvent::Cancelled { id, agent },
        Closing::Superseded => HubEvent::Superseded { id, agent },
    };
    work.append(&event, &Audience::Agent(owner.to_owned()), &ids).await?;
    work.commit().await?;
    Ok(Closed::Done)
}

/// Items and batches that one call expires: a transaction stays short, the rest is due at once.
const EXPIRE_AT_ONCE: i64 = 200;

pub(super) const LAPSED: &str = "SELECT seq, id, owner FROM items \
     WHERE status IN ('pending', 'collecting') AND expires <= ? ORDER BY expires LIMIT ?";

/// See [`crate::Store::expire_due`].
pub(super) async fn expire_due(mut work: Work<'_>) -> Result<Vec<String>> {
    let now = work.now.as_millis();
    let mut changed = batches::lapse_collecting(&mut work, EXPIRE_AT_ONCE).await?;
    let due = sqlx::query(LAPSED).bind(now).bind(EXPIRE_AT_ONCE).fetch_all(work.db()).await?;
    for row in &due {
        let id: String = rows::column(row, "id")?;
        let seq = rows::column(row, "seq")?;
        end(&mut work, seq, &Ending { status: Status::Expired, denial: None, who: "" }).await?;
        let owner = Audience::Agent(rows::column(row, "owner")?);
        work.append(&HubEvent::Expired { id: id.clone() }, &owner, std::slice::from_ref(&id)).await?;
        if !changed.contains(&id) {
            changed.push(id);
        }
    }
    if changed.is_empty() {
        work.abandon().await?;
    } else {
        work.commit().await?;
    }
    Ok(changed)
}

/// What a caller saw of an item, against the row as it is now.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) seq: i64,
    pub(super) owner: String,
}

/// The row of an item that is still what the caller saw, in one of the statuses, and not past its time; else `None`.
pub(super) async fn current(
    work: &mut Work<'_>,
    seen: &Item,
    statuses: &[Status],
) -> Result<Option<Current>> {
    let row = sqlx::query("SELECT seq, id, kind, owner, status, expires, fields FROM items WHERE id = ?")
        .bind(seen.id())
        .fetch_optional(work.db())
        .await?;
    let Some(row) = row else { return Ok(None) };
    let status: Status = rows::word(&row, "status")?;
    let in_time = rows::time(&row, "expires")? > work.now;
    if !statuses.contains(&status) || !in_time || item_of(&row)? != *seen {
        return Ok(None);
    }
    Ok(Some(Current { seq: rows::column(&row, "seq")?, owner: rows::column(&row, "owner")? }))
}

/// Items that move together, by owner, so that each event tells one machine of its own items only.
#[derive(Debug, Default)]
pub(super) struct Members {
    by_owner: BTreeMap<String, Vec<String>>,
    seqs: Vec<i64>,
}

impl Members {
    /// `false` when it is in already.
    pub(super) fn add(&mut self, seq: i64, owner: String, id: String) -> bool {
        if self.seqs.contains(&seq) {
            return false;
        }
        self.seqs.push(seq);
        self.by_owner.entry(owner).or_default().push(id);
        true
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = &String> {
        self.by_owner.keys()
    }

    /// Their rows.
    pub(super) fn seqs(&self) -> &[i64] {
        &self.seqs
    }

    /// All ids.
    pub(super) fn ids(&self) -> Vec<String> {
        self.by_owner.values().flatten().cloned().collect()
    }

    /// Appends one event an owner.
    pub(super) async fn tell(
        &self,
        work: &mut Work<'_>,
        event: impl Fn(Vec<String>) -> HubEvent,
    ) -> Result<()> {
        for (owner, ids) in &self.by_owner {
            work.append(&event(ids.clone()), &Audience::Agent(owner.clone()), ids).await?;
        }
        Ok(())
    }
}

/// Whether a batch in this status can still change.
pub(super) const fn open(status: BatchStatus) -> bool {
    match status {
        BatchStatus::Collecting | BatchStatus::Settling => true,
        BatchStatus::Expired | BatchStatus::Settled | BatchStatus::Undone => false,
    }
}

/// The earliest of some moments.
pub(super) fn earliest(moments: impl IntoIterator<Item = Option<Timestamp>>) -> Option<Timestamp> {
    moments.into_iter().flatten().min()
}
