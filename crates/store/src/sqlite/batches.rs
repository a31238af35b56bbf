//! Batches on their way: accepted, signed further, undone, lapsed. Releasing them is `settle`.

use proto::{
    HubEvent, Status, Timestamp,
    api::{BatchStatus, Entry},
    sha256,
};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use super::{
    connect::Work,
    items::{self, Members},
    rows,
    settle::{self, Stage},
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
    pub(super) not_before: Timestamp,
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
    let (mut members, mut stale) = (Members::default(), Vec::new());
    for entry in &new.entries {
        let id = entry.item.id();
        let found = items::current(&mut work, &entry.item, &[Status::Pending]).await?;
        if !found.is_some_and(|row| members.add(row.seq, row.owner, id.to_owned())) {
            stale.push(id.to_owned());
        }
    }
    if !stale.is_empty() {
        work.abandon().await?;
        return Ok(Accepted::Stale(stale));
    }
    let stage = if new.have < new.need {
        Stage::Collecting
    } else {
        settle::stage(&mut work, new.not_before, new.undo_ms).await?
    };
    let batch = StoredBatch {
        id: new.id.clone(),
        status: stage.status(),
        payload: new.payload.clone(),
        proof: Some(new.proof.clone()),
        entries,
        have: new.have,
        need: new.need,
        signers: new.signers.clone(),
        created: work.now,
        settles: stage.settles(),
        expires: new.expires,
    };
    insert(&mut work, new, &batch, &digest).await?;
    settle::enter(&mut work, &batch, &members, stage).await?;
    if stage == Stage::Collecting {
        let label = labels(&batch.signers).join(", ");
        let event = |ids| HubEvent::Collecting { batch: new.id.clone(), ids, label: label.clone() };
        members.tell(&mut work, event).await?;
    }
    work.commit().await?;
    Ok(Accepted::New(batch))
}

async fn insert(work: &mut Work<'_>, new: &NewBatch, batch: &StoredBatch, digest: &str) -> Result<()> {
    sqlx::query(
        "INSERT INTO batches (id, digest, status, need, have, undo_ms, not_before, created, settles, expires, signers, \
         payload, entries, proof) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&batch.id)
    .bind(digest)
    .bind(rows::to_word(&batch.status)?)
    .bind(batch.need)
    .bind(batch.have)
    .bind(new.undo_ms)
    .bind(new.not_before.as_millis())
    .bind(batch.created.as_millis())
    .bind(batch.settles.map(Timestamp::as_millis))
    .bind(batch.expires.as_millis())
    .bind(rows::to_json(&batch.signers)?)
    .bind(&batch.payload)
    .bind(rows::to_json(&batch.entries)?)
    .bind(&batch.proof)
    .execute(work.db())
    .await?;
    Ok(())
}

pub(super) const MEMBERS: &str = "SELECT seq, id, owner FROM items WHERE batch = ? ORDER BY seq";

/// The items that are in a batch now.
pub(super) async fn members(work: &mut Work<'_>, batch: &str) -> Result<Members> {
    let found = sqlx::query(MEMBERS).bind(batch).fetch_all(work.db()).await?;
    let mut members = Members::default();
    for row in &found {
        members.add(rows::column(row, "seq")?, rows::column(row, "owner")?, rows::column(row, "id")?);
    }
    Ok(members)
}

/// See [`crate::Store::add_signature`].
pub(super) async fn add_signature(mut work: Work<'_>, new: &NewSignature) -> Result<Signed> {
    let Some(Batch { stored: batch, not_before, undo_ms }) = load(&mut work, &new.batch).await? else {
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
    let members = members(&mut work, &new.batch).await?;
    let mut batch =
        StoredBatch { proof: Some(with_signature(batch.proof.as_deref(), &new.signature)?), ..batch };
    batch.signers.push(new.signer.clone());
    batch.have = u32::try_from(persons(&batch.signers)).map_err(rows::other)?;
    let stage = if batch.have < batch.need {
        Stage::Collecting
    } else {
        settle::stage(&mut work, not_before, undo_ms).await?
    };
    (batch.status, batch.settles) = (stage.status(), stage.settles());
    sqlx::query("UPDATE batches SET status = ?, settles = ?, signers = ?, have = ?, proof = ? WHERE id = ?")
        .bind(rows::to_word(&batch.status)?)
        .bind(batch.settles.map(Timestamp::as_millis))
        .bind(rows::to_json(&batch.signers)?)
        .bind(batch.have)
        .bind(&batch.proof)
        .bind(&batch.id)
        .execute(work.db())
        .await?;
    let (label, have, need) = (new.signer.label.clone(), batch.have, batch.need);
    let event = HubEvent::Signed { batch: new.batch.clone(), label, have, need };
    work.append(&event, &Audience::Persons, &members.ids()).await?;
    if stage != Stage::Collecting {
        settle::enter(&mut work, &batch, &members, stage).await?;
    }
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
