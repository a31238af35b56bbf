//! Batches on their way: accepted, signed further, undone, lapsed. Releasing them is `settle`.

use proto::{
    HubEvent, Status,
    api::{BatchStatus, Entry},
    sha256,
};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{
    connect::Work,
    items::{self, ByOwner},
    rows, settle,
};
use crate::{
    Accepted, Audience, BatchEntry, NewBatch, NewSignature, Result, Signed, Signer, StoreError, StoredBatch,
    Undone,
};

macro_rules! batch_columns {
    () => {
        "seq, id, status, need, have, undo_ms, not_before, created, settles, expires, signers, payload, entries, proof"
    };
}
pub(super) use batch_columns;

/// A batch with what only the store needs of it.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) stored: StoredBatch,
    pub(super) not_before: proto::Timestamp,
    pub(super) undo_ms: i64,
}

pub(super) fn batch_of(row: &SqliteRow) -> Result<Batch> {
    let stored = StoredBatch {
        id: rows::column(row, "id")?,
        status: rows::serde_word(row, "status")?,
        payload: rows::column(row, "payload")?,
        proof: rows::column(row, "proof")?,
        entries: rows::json(row, "entries")?,
        have: rows::count(row, "have")?,
        need: rows::count(row, "need")?,
        signers: rows::json(row, "signers")?,
        created: rows::time(row, "created")?,
        settles: rows::maybe_time(row, "settles")?,
        expires: rows::time(row, "expires")?,
    };
    Ok(Batch { stored, not_before: rows::time(row, "not_before")?, undo_ms: rows::column(row, "undo_ms")? })
}

pub(super) const BY_ID: &str = concat!("SELECT ", batch_columns!(), " FROM batches WHERE id = ?");
pub(super) const BY_DIGEST: &str = concat!("SELECT ", batch_columns!(), " FROM batches WHERE digest = ?");
pub(super) const OPEN: &str = concat!(
    "SELECT ",
    batch_columns!(),
    " FROM batches WHERE status IN ('collecting', 'settling') ORDER BY seq LIMIT ?"
);

/// See [`crate::Store::batch`].
pub(super) async fn batch(readers: &SqlitePool, id: &str) -> Result<Option<StoredBatch>> {
    let row = sqlx::query(BY_ID).bind(id).fetch_optional(readers).await?;
    Ok(row.as_ref().map(batch_of).transpose()?.map(|batch| batch.stored))
}

/// See [`crate::Store::batch_of_payload`].
pub(super) async fn of_payload(readers: &SqlitePool, payload: &[u8]) -> Result<Option<StoredBatch>> {
    let row = sqlx::query(BY_DIGEST).bind(sha256(payload).to_string()).fetch_optional(readers).await?;
    Ok(row.as_ref().map(batch_of).transpose()?.map(|batch| batch.stored))
}

/// See [`crate::Store::open_batches`].
pub(super) async fn open(readers: &SqlitePool) -> Result<Vec<StoredBatch>> {
    let found = sqlx::query(OPEN).bind(rows::page(u32::MAX)).fetch_all(readers).await?;
    found.iter().map(|row| Ok(batch_of(row)?.stored)).collect()
}

pub(super) async fn load(work: &mut Work<'_>, id: &str) -> Result<Option<Batch>> {
    let row = sqlx::query(BY_ID).bind(id).fetch_optional(work.db()).await?;
    row.as_ref().map(batch_of).transpose()
}

async fn reload(work: &mut Work<'_>, id: &str) -> Result<StoredBatch> {
    Ok(batch_of(&sqlx::query(BY_ID).bind(id).fetch_one(work.db()).await?)?.stored)
}

/// How many distinct persons signed.
fn persons(signers: &[Signer]) -> usize {
    let mut persons: Vec<&str> = signers.iter().map(|signer| signer.person.as_str()).collect();
    persons.sort_unstable();
    persons.dedup();
    persons.len()
}

pub(super) fn labels(signers: &[Signer]) -> Vec<String> {
    signers.iter().map(|signer| signer.label.clone()).collect()
}

fn entries_of(entries: &[BatchEntry]) -> Vec<Entry> {
    let entry = |entry: &BatchEntry| Entry {
        kind: entry.item.kind(),
        id: entry.item.id().to_owned(),
        choice: entry.choice.clone(),
        sha256: entry.sha256.clone(),
    };
    entries.iter().map(entry).collect()
}

/// Whether two lists name the same entries, in any order.
fn same_entries(one: &[Entry], other: &[Entry]) -> bool {
    let sorted = |entries: &[Entry]| {
        let mut entries = entries.to_vec();
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        entries
    };
    sorted(one) == sorted(other)
}

/// See [`crate::Store::accept_batch`].
pub(super) async fn accept(mut work: Work<'_>, new: &NewBatch) -> Result<Accepted> {
    let entries = entries_of(&new.entries);
    let digest = sha256(&new.payload).to_string();
    if let Some(row) = sqlx::query(BY_DIGEST).bind(&digest).fetch_optional(work.db()).await? {
        let found = batch_of(&row)?.stored;
        work.abandon().await?;
        let same = same_entries(&found.entries, &entries);
        return Ok(if same { Accepted::Same(found) } else { Accepted::Used });
    }
    let (mut covered, mut seqs, mut stale) = (ByOwner::default(), Vec::new(), Vec::new());
    for entry in &new.entries {
        let found = items::current(&mut work, &entry.item, &[Status::Pending]).await?;
        match found {
            Some(row) if !seqs.contains(&row.seq) => {
                seqs.push(row.seq);
                covered.add(row.owner, entry.item.id().to_owned());
            }
            Some(_) | None => stale.push(entry.item.id().to_owned()),
        }
    }
    if !stale.is_empty() {
        work.abandon().await?;
        return Ok(Accepted::Stale(stale));
    }
    insert(&mut work, new, &digest, &entries).await?;
    sqlx::query(
        "UPDATE items SET status = 'collecting', batch = ? WHERE seq IN (SELECT value FROM json_each(?))",
    )
    .bind(&new.id)
    .bind(rows::to_json(&seqs)?)
    .execute(work.db())
    .await?;
    if new.have < new.need {
        let label = labels(&new.signers).join(", ");
        let event = |ids| HubEvent::Collecting { batch: new.id.clone(), ids, label: label.clone() };
        covered.tell(&mut work, event).await?;
    } else {
        settle::complete(&mut work, &new.id, &covered).await?;
    }
    let batch = reload(&mut work, &new.id).await?;
    work.commit().await?;
    Ok(Accepted::New(batch))
}

async fn insert(work: &mut Work<'_>, new: &NewBatch, digest: &str, entries: &[Entry]) -> Result<()> {
    let now = work.now.as_millis();
    sqlx::query(
        "INSERT INTO batches (id, digest, status, need, have, undo_ms, not_before, created, expires, signers, payload, \
         entries, proof) VALUES (?, ?, 'collecting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&new.id)
    .bind(digest)
    .bind(new.need)
    .bind(new.have)
    .bind(new.undo_ms)
    .bind(new.not_before.as_millis())
    .bind(now)
    .bind(new.expires.as_millis())
    .bind(rows::to_json(&new.signers)?)
    .bind(&new.payload)
    .bind(rows::to_json(entries)?)
    .bind(&new.proof)
    .execute(work.db())
    .await?;
    Ok(())
}

pub(super) const MEMBERS: &str = "SELECT id, owner FROM items WHERE batch = ? ORDER BY seq";

/// Ids of the items that are in a batch now, by owner.
pub(super) async fn members(work: &mut Work<'_>, batch: &str) -> Result<ByOwner> {
    let found = sqlx::query(MEMBERS).bind(batch).fetch_all(work.db()).await?;
    let mut members = ByOwner::default();
    for row in &found {
        members.add(rows::column(row, "owner")?, rows::column(row, "id")?);
    }
    Ok(members)
}

/// See [`crate::Store::add_signature`].
pub(super) async fn add_signature(mut work: Work<'_>, new: &NewSignature) -> Result<Signed> {
    let Some(Batch { stored: batch, .. }) = load(&mut work, &new.batch).await? else {
        work.abandon().await?;
        return Ok(Signed::NotFound);
    };
    if batch.status != BatchStatus::Collecting || batch.expires <= work.now {
        work.abandon().await?;
        return Ok(Signed::NotCollecting(batch));
    }
    if batch.signers.iter().any(|signer| signer.keyid == new.signer.keyid) {
        work.abandon().await?;
        return Ok(Signed::Done(batch));
    }
    let mut signers = batch.signers;
    signers.push(new.signer.clone());
    let have = u32::try_from(persons(&signers)).map_err(rows::other)?;
    sqlx::query("UPDATE batches SET signers = ?, have = ?, proof = ? WHERE id = ?")
        .bind(rows::to_json(&signers)?)
        .bind(have)
        .bind(with_signature(batch.proof.as_deref(), &new.signature)?)
        .bind(&new.batch)
        .execute(work.db())
        .await?;
    let (label, need) = (new.signer.label.clone(), batch.need);
    let event = HubEvent::Signed { batch: new.batch.clone(), label, have, need };
    let members = members(&mut work, &new.batch).await?;
    work.append(&event, &Audience::Persons, &members.ids()).await?;
    if have >= need {
        settle::complete(&mut work, &new.batch, &members).await?;
    }
    let batch = reload(&mut work, &new.batch).await?;
    work.commit().await?;
    Ok(Signed::Done(batch))
}

/// The stored proof with one more signature at the end.
fn with_signature(proof: Option<&str>, signature: &str) -> Result<String> {
    let damaged = || StoreError::Damaged { what: "the proof of a collecting batch".to_owned(), source: None };
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text);
    let mut proof = read(proof.ok_or_else(damaged)?).map_err(|error| rows::damaged("a proof", error))?;
    let signature = read(signature).map_err(rows::other)?;
    proof.get_mut("signatures").and_then(|all| all.as_array_mut()).ok_or_else(damaged)?.push(signature);
    rows::to_json(&proof)
}

/// See [`crate::Store::undo`].
pub(super) async fn undo(mut work: Work<'_>, id: &str, label: &str) -> Result<Undone> {
    let Some(Batch { stored: batch, .. }) = load(&mut work, id).await? else {
        work.abandon().await?;
        return Ok(Undone::NotFound);
    };
    if !items::open(batch.status) {
        work.abandon().await?;
        return Ok(if batch.status == BatchStatus::Undone {
            Undone::Done(batch)
        } else {
            Undone::Closed(batch)
        });
    }
    withdraw(&mut work, id, BatchStatus::Undone, label).await?;
    let batch = reload(&mut work, id).await?;
    work.commit().await?;
    Ok(Undone::Done(batch))
}

/// Ends an open batch without release: its items wait again, its proof is gone. Returns the ids.
pub(super) async fn withdraw(
    work: &mut Work<'_>,
    id: &str,
    status: BatchStatus,
    label: &str,
) -> Result<Vec<String>> {
    let members = members(work, id).await?;
    sqlx::query("UPDATE items SET status = 'pending', batch = NULL WHERE batch = ?")
        .bind(id)
        .execute(work.db())
        .await?;
    destroy(work, id, status).await?;
    members.tell(work, |ids| HubEvent::Undone { batch: id.to_owned(), ids, label: label.to_owned() }).await?;
    Ok(members.ids())
}

async fn destroy(work: &mut Work<'_>, id: &str, status: BatchStatus) -> Result<()> {
    sqlx::query("UPDATE batches SET status = ?, proof = NULL WHERE id = ?")
        .bind(rows::to_word(&status)?)
        .bind(id)
        .execute(work.db())
        .await?;
    work.scrub_later();
    Ok(())
}

/// A batch that has lost its last item is undone: there is nothing to release.
pub(super) async fn end_if_empty(work: &mut Work<'_>, id: &str, label: &str) -> Result<()> {
    if members(work, id).await?.ids().is_empty() {
        destroy(work, id, BatchStatus::Undone).await?;
        let event = HubEvent::Undone { batch: id.to_owned(), ids: Vec::new(), label: label.to_owned() };
        work.append(&event, &Audience::Persons, &[]).await?;
    }
    Ok(())
}

pub(super) const LAPSED: &str =
    "SELECT id FROM batches WHERE status = 'collecting' AND expires <= ? ORDER BY expires LIMIT ?";

/// Ends collecting batches whose payload expired. Returns the ids of their items.
pub(super) async fn lapse_collecting(work: &mut Work<'_>, limit: i64) -> Result<Vec<String>> {
    let now = work.now.as_millis();
    let due = sqlx::query(LAPSED).bind(now).bind(limit).fetch_all(work.db()).await?;
    let mut returned = Vec::new();
    for row in &due {
        let id: String = rows::column(row, "id")?;
        returned.extend(withdraw(work, &id, BatchStatus::Expired, "").await?);
    }
    Ok(returned)
}
