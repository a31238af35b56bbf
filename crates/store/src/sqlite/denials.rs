//! Denials, and the messages that carry them to agents: which channel reaches whom is data of `proto::Channel`.

use proto::{Audience as Readers, HubEvent, Status, Timestamp, Urgency, sha256};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{
    connect::Work,
    items::{self, Ending, Members},
    log::{ALL_AGENTS, agent_topic},
    rows,
};
use crate::{Audience, Denied, Message, NewDenial, Result, StoredDenial};

/// The columns of a [`StoredDenial`], from `denials d`.
macro_rules! denial_columns {
    () => {
        "d.nonce, d.channel, d.reason, d.label, d.proof AS denial_proof"
    };
}
pub(super) use denial_columns;

fn stored(row: &SqliteRow) -> Result<StoredDenial> {
    Ok(StoredDenial {
        nonce: rows::column(row, "nonce")?,
        channel: rows::word(row, "channel")?,
        reason: rows::column(row, "reason")?,
        label: rows::column(row, "label")?,
        proof: rows::column(row, "denial_proof")?,
    })
}

/// From a left join.
pub(super) fn maybe_stored(row: &SqliteRow) -> Result<Option<StoredDenial>> {
    rows::column::<Option<String>>(row, "nonce")?.map(|_| stored(row)).transpose()
}

/// See [`crate::Store::deny`].
pub(super) async fn deny(mut work: Work<'_>, new: &NewDenial) -> Result<Denied> {
    let mut ids: Vec<&str> = new.items.iter().map(proto::Item::id).collect();
    ids.sort_unstable();
    let ids = rows::to_json(&ids)?;
    let digest = sha256(&new.payload).to_string();
    let used = sqlx::query("SELECT digest, ids FROM denials WHERE digest = ?1 OR nonce = ?2")
        .bind(&digest)
        .bind(&new.nonce)
        .fetch_optional(work.db())
        .await?;
    if let Some(row) = used {
        let same =
            rows::column::<&str>(&row, "digest")? == digest && rows::column::<&str>(&row, "ids")? == ids;
        work.abandon().await?;
        return Ok(if same { Denied::Same } else { Denied::Used });
    }
    let (mut covered, mut stale) = (Members::default(), Vec::new());
    for item in &new.items {
        let found = items::current(&mut work, item, &[Status::Pending, Status::Collecting]).await?;
        if !found.is_some_and(|row| covered.add(row.seq, row.owner, item.id().to_owned())) {
            stale.push(item.id().to_owned());
        }
    }
    if !stale.is_empty() {
        work.abandon().await?;
        return Ok(Denied::Stale(stale));
    }
    insert(&mut work, new, &digest, &ids).await?;
    for seq in covered.seqs() {
        let ending = Ending { status: Status::Denied, denial: Some(&new.nonce), who: &new.label };
        items::end(&mut work, *seq, &ending).await?;
    }
    let event = |ids| HubEvent::Denied {
        ids,
        nonce: new.nonce.clone(),
        channel: new.channel,
        reason: new.reason.clone(),
        label: new.label.clone(),
    };
    covered.tell(&mut work, event).await?;
    send(&mut work, new, &covered).await?;
    work.commit().await?;
    Ok(Denied::Done)
}

async fn insert(work: &mut Work<'_>, new: &NewDenial, digest: &str, ids: &str) -> Result<()> {
    let now = work.now.as_millis();
    sqlx::query(
        "INSERT INTO denials (nonce, digest, channel, label, created, expires, reason, ids, proof) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&new.nonce)
    .bind(digest)
    .bind(new.channel.as_str())
    .bind(&new.label)
    .bind(now)
    .bind(new.expires.as_millis())
    .bind(&new.reason)
    .bind(ids)
    .bind(&new.proof)
    .execute(work.db())
    .await?;
    Ok(())
}

/// Delivers a denial beyond its answer: to all agents, or at once to those that asked.
async fn send(work: &mut Work<'_>, new: &NewDenial, covered: &Members) -> Result<()> {
    let readers: Vec<(Audience, String)> = match (new.channel.audience(), new.channel.urgency()) {
        (Readers::All, _) => vec![(Audience::AllAgents, ALL_AGENTS.to_owned())],
        (Readers::Asker, Urgency::Answer) => Vec::new(),
        (Readers::Asker, Urgency::Digest | Urgency::Now | Urgency::Stop) => {
            covered.owners().map(|owner| (Audience::Agent(owner.clone()), agent_topic(owner))).collect()
        }
    };
    for (audience, topic) in readers {
        let event =
            HubEvent::Message { nonce: new.nonce.clone(), channel: new.channel, label: new.label.clone() };
        let seq = work.append(&event, &audience, &[]).await?;
        sqlx::query("INSERT INTO messages (seq, topic, nonce, pinned, expires) VALUES (?, ?, ?, ?, ?)")
            .bind(rows::signed(seq)?)
            .bind(topic)
            .bind(&new.nonce)
            .bind(new.channel.pinned())
            .bind(new.expires.as_millis())
            .execute(work.db())
            .await?;
    }
    Ok(())
}

pub(super) const FOR_READER: &str = concat!(
    "SELECT m.seq, m.pinned, m.expires, ",
    denial_columns!(),
    " FROM messages m CROSS JOIN denials d ON d.nonce = m.nonce \
     WHERE m.topic = ? AND m.revoked IS NULL AND m.seq > ? AND m.expires > ? ORDER BY m.seq LIMIT ?"
);
pub(super) const PINNED: &str = concat!(
    "SELECT m.seq, m.pinned, m.expires, ",
    denial_columns!(),
    " FROM messages m CROSS JOIN denials d ON d.nonce = m.nonce \
     WHERE m.pinned = 1 AND m.revoked IS NULL AND m.expires > ? ORDER BY m.seq LIMIT ?"
);

fn message(row: &SqliteRow) -> Result<Message> {
    Ok(Message {
        seq: rows::unsigned(row, "seq")?,
        pinned: rows::column::<i64>(row, "pinned")? != 0,
        expires: rows::time(row, "expires")?,
        denial: stored(row)?,
    })
}

/// See [`crate::Store::messages`].
pub(super) async fn messages(
    readers: &SqlitePool,
    agent: &str,
    since: u64,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<Message>> {
    let limit = rows::page(limit);
    let mut db = readers.acquire().await?;
    let mut found = Vec::new();
    for topic in [agent_topic(agent), ALL_AGENTS.to_owned()] {
        let some = sqlx::query(FOR_READER)
            .bind(topic)
            .bind(rows::cursor(since))
            .bind(now.as_millis())
            .bind(limit)
            .fetch_all(&mut *db)
            .await?;
        for row in &some {
            found.push(message(row)?);
        }
    }
    found.sort_unstable_by_key(|message| message.seq);
    found.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(found)
}

/// See [`crate::Store::pinned_messages`].
pub(super) async fn pinned(readers: &SqlitePool, now: Timestamp) -> Result<Vec<Message>> {
    let found =
        sqlx::query(PINNED).bind(now.as_millis()).bind(rows::page(u32::MAX)).fetch_all(readers).await?;
    found.iter().map(message).collect()
}
