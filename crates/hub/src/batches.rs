//! Batches under way: how far they are, further persons' signatures, and undo.

use axum::extract::State;
use axum::http::StatusCode;
use proto::api::{BatchRow, BatchStatus};
use proto::b64;
use serde::Deserialize;
use serde_json::value::RawValue;
use store::{NewSignature, Signed, StoredBatch, Undone};

use crate::app::App;
use crate::asks::not_found;
use crate::body::{Answer, Body, Id, Json, Nothing};
use crate::gate::{Caller, Person};
use crate::problem::{Code, Problem};
use crate::seal;

/// One batch as the wire has it.
pub(crate) fn batch_row(batch: StoredBatch) -> BatchRow {
    let StoredBatch {
        id,
        status,
        payload,
        proof: _,
        entries,
        have,
        need,
        signers,
        created,
        settles,
        expires,
    } = batch;
    BatchRow {
        id,
        status,
        payload: b64::encode(&payload),
        entries,
        have,
        need,
        signers: signers.into_iter().map(|signer| signer.label).collect(),
        created,
        settles,
        expires,
    }
}

/// `GET /api/batches/{id}`
pub(crate) async fn read(State(app): State<App>, Id(id): Id) -> Answer<BatchRow> {
    let batch = app.store().batch(&id).await?.ok_or_else(not_found)?;
    Ok(Json(batch_row(batch)))
}

/// `POST /api/batches/{id}/signatures`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signatures {
    signatures: Vec<Box<RawValue>>,
}

/// `POST /api/batches/{id}/signatures`: every one must verify over the batch's payload before any is stored.
pub(crate) async fn sign(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Body(Signatures { signatures }): Body<Signatures>,
) -> Result<(StatusCode, Json<BatchRow>), Problem> {
    let mut batch = app.store().batch(&id).await?.ok_or_else(not_found)?;
    if batch.status != BatchStatus::Collecting {
        return Err(closed(&batch));
    }
    let signers = seal::check_signatures(&app, &caller, &batch, &signatures).await?;
    for (signature, signer) in signatures.iter().zip(signers) {
        let new = NewSignature { batch: id.clone(), signature: signature.get().to_owned(), signer };
        batch = match app.store().add_signature(&new, app.now()).await? {
            Signed::Done(batch) => batch,
            // A signature of this very request may have been the last one needed.
            Signed::NotCollecting(batch)
                if batch.signers.iter().any(|known| known.keyid == new.signer.keyid) =>
            {
                batch
            }
            Signed::NotCollecting(batch) => return Err(closed(&batch)),
            Signed::NotFound => return Err(not_found()),
        };
    }
    app.changed();
    Ok((StatusCode::ACCEPTED, Json(batch_row(batch))))
}

/// `POST /api/batches/{id}/undo`
pub(crate) async fn undo(
    State(app): State<App>,
    person: Person,
    Id(id): Id,
    Body(Nothing {}): Body<Nothing>,
) -> Answer<BatchRow> {
    match app.store().undo(&id, &person.label, app.now()).await? {
        Undone::Done(batch) => {
            app.changed();
            Ok(Json(batch_row(batch)))
        }
        Undone::Closed(batch) => Err(closed(&batch)),
        Undone::NotFound => Err(not_found()),
    }
}

fn closed(batch: &StoredBatch) -> Problem {
    let what = match batch.status {
        BatchStatus::Collecting => "still waits for other persons",
        BatchStatus::Settling => "has all its signatures",
        BatchStatus::Settled => "is released already",
        BatchStatus::Undone => "was undone",
        BatchStatus::Expired => "has expired",
    };
    Problem::new(Code::Closed, format!("this batch {what}; nothing was changed"))
}
