//! Taking a signed proof: entries first, then the signatures, then one transaction. Nothing is stored that did not pass the
//! checker on the hub's own pins, and what was refused is told in the log. What a proof is worth at its executor is decided there.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use proof::hub::{Checked, Covered, HubVerdict, check_entries, check_signature, check_standing};
use proof::trust::TrustError;
use proof::{Approvers, Body as Says, Payload, Verb};
use proto::api::{BatchStatus, Entry, Sealing};
use proto::{HubEvent, Refusal, Timestamp, b64};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Accepted, Audience, BatchEntry, Denied, NewBatch, NewDenial, NewTrust, Signer, StoredBatch};
use store::{TrustAdded, TrustChange};

use crate::app::App;
use crate::body::{Body, Json};
use crate::chance;
use crate::entries::{Named, Use};
use crate::gate::Caller;
use crate::problem::{Code, Problem};

/// Answer to an approval.
#[derive(Debug, Serialize)]
struct InBatch {
    batch: String,
}

/// Answer to every other verb.
#[derive(Debug, Serialize)]
struct Done {
    id: String,
}

/// `POST /api/proofs`
pub(crate) async fn proofs(
    State(app): State<App>,
    caller: Caller,
    Body(Sealing { proof, entries }): Body<Sealing>,
) -> Result<Response, Problem> {
    let proof = proof.get();
    let claimed = Claimed::peek(proof);
    let sealed = match claimed.verb {
        Some(Verb::Deny) => deny(&app, proof, entries).await,
        // Also one that cannot be read: the checker says what is wrong with it.
        Some(Verb::Pin | Verb::Revoke | Verb::Rule | Verb::Delegate) | None if entries.is_empty() => {
            standing(&app, proof).await
        }
        // Whatever else it is goes the way of an approval: entries first, then the checker says what is wrong with it.
        Some(Verb::Approve | Verb::Vouch | Verb::Pin | Verb::Revoke | Verb::Rule | Verb::Delegate) | None => {
            approve(&app, proof, entries, &claimed).await
        }
    };
    match sealed {
        Ok(response) => Ok(response),
        Err(Refused::Request(problem)) => Err(problem),
        Err(Refused::Proof(refusal)) => {
            record_refusal(&app, refusal, caller.label()).await;
            Err(Problem::refused(refusal))
        }
    }
}

/// Why nothing was sealed.
enum Refused {
    /// The checker said no; that is told in the log.
    Proof(Refusal),
    /// The request does not fit what is there now.
    Request(Problem),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Proof(refusal)
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Request(problem)
    }
}

impl From<store::StoreError> for Refused {
    fn from(error: store::StoreError) -> Self {
        Self::Request(error.into())
    }
}

/// What a proof claims to be before anything is believed: only to know which questions to ask.
struct Claimed {
    payload: Vec<u8>,
    verb: Option<Verb>,
}

impl Claimed {
    fn peek(proof: &str) -> Self {
        #[derive(Deserialize)]
        struct Outer {
            payload: String,
        }
        let outer: Option<Outer> = serde_json::from_str(proof).ok();
        let payload = outer.and_then(|outer| b64::decode(&outer.payload).ok()).unwrap_or_default();
        let verb = Payload::parse(&payload).ok().map(|payload| payload.verb());
        Self { payload, verb }
    }
}

async fn approve(
    app: &App,
    proof: &str,
    entries: Vec<Entry>,
    claimed: &Claimed,
) -> Result<Response, Refused> {
    if let Some(batch) = app.store().batch_of_payload(&claimed.payload).await? {
        return came_before(&batch, &entries);
    }
    let named = Named::read(app, entries, Use::Approve).await?;
    named.fresh()?;
    named.may_be_approved()?;
    let now = app.now();
    let verdict = check_entries(&app.pins()?, proof.as_bytes(), &named.covered(), now)?;
    let new = new_batch(app, proof, named, verdict)?;
    match app.store().accept_batch(&new, now).await? {
        Accepted::New(batch) => {
            app.changed();
            Ok(in_batch(batch.id))
        }
        Accepted::Same(batch) => came_before(&batch, &batch.entries),
        Accepted::Used => Err(Refusal::AlreadyUsed.into()),
        Accepted::Stale(ids) => Err(Problem::stale(ids).into()),
    }
}

fn in_batch(batch: String) -> Response {
    (StatusCode::ACCEPTED, Json(InBatch { batch })).into_response()
}

/// The same payload again: the same batch, unless it is over or something else was meant.
fn came_before(batch: &StoredBatch, entries: &[Entry]) -> Result<Response, Refused> {
    let sorted = |entries: &[Entry]| {
        let mut entries = entries.to_vec();
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        entries
    };
    if sorted(&batch.entries) != sorted(entries) {
        return Err(Refusal::AlreadyUsed.into());
    }
    match batch.status {
        BatchStatus::Collecting | BatchStatus::Settling | BatchStatus::Settled => {
            Ok(in_batch(batch.id.clone()))
        }
        BatchStatus::Undone | BatchStatus::Expired => {
            Err(Problem::new(Code::Closed, "this approval was undone or has expired; sign again").into())
        }
    }
}

fn new_batch(app: &App, proof: &str, named: Named, verdict: HubVerdict) -> Result<NewBatch, Refused> {
    let (HubVerdict::Complete(checked) | HubVerdict::Collecting(checked)) = verdict;
    let Checked { payload, bytes, signers, have, need } = checked;
    let Says::Approve(_) = &payload.body else { return Err(Refusal::WrongVerb.into()) };
    let entry = |row: crate::entries::NamedRow| BatchEntry {
        item: row.stored.item,
        choice: row.entry.choice,
        sha256: row.entry.sha256,
    };
    Ok(NewBatch {
        id: format!("bat-{}", chance::hex()),
        payload: bytes,
        proof: proof.to_owned(),
        entries: named.rows.into_iter().map(entry).collect(),
        not_before: payload.not_before(),
        expires: payload.common.expires,
        undo_ms: app.config().undo_ms,
        need,
        have,
        signers: signers.into_iter().map(stored_signer).collect(),
    })
}

fn stored_signer(signer: proof::Signer) -> Signer {
    Signer { person: signer.person.name().to_owned(), keyid: signer.keyid, label: signer.label }
}

async fn deny(app: &App, proof: &str, entries: Vec<Entry>) -> Result<Response, Refused> {
    let named = Named::read(app, entries, Use::Deny).await?;
    named.fresh()?;
    let now = app.now();
    let verdict = check_entries(&app.pins()?, proof.as_bytes(), &named.covered(), now)?;
    let (HubVerdict::Complete(checked) | HubVerdict::Collecting(checked)) = verdict;
    let label = label(&checked);
    let Checked { payload, bytes, .. } = checked;
    let Says::Deny(says) = payload.body else { return Err(Refusal::WrongVerb.into()) };
    let nonce = payload.common.nonce;
    let new = NewDenial {
        nonce: nonce.clone(),
        payload: bytes,
        proof: proof.to_owned(),
        items: named.rows.into_iter().map(|row| row.stored.item).collect(),
        channel: says.channel,
        reason: says.reason,
        label,
        expires: payload.common.expires,
    };
    match app.store().deny(&new, now).await? {
        Denied::Done => {
            app.changed();
            Ok(done(nonce))
        }
        Denied::Same => Ok(done(nonce)),
        Denied::Used => Err(Refusal::AlreadyUsed.into()),
        Denied::Stale(ids) => Err(Problem::stale(ids).into()),
    }
}

fn done(id: String) -> Response {
    (StatusCode::CREATED, Json(Done { id })).into_response()
}

/// Everybody who signed, as people read it.
fn label(checked: &Checked) -> String {
    checked.signers.iter().map(|signer| signer.label.as_str()).collect::<Vec<_>>().join(", ")
}

/// `pin` and `revoke`: stored for every executor to fetch, and applied to the hub's own file.
async fn standing(app: &App, proof: &str) -> Result<Response, Refused> {
    let now = app.now();
    let checked = match check_standing(&app.pins()?, proof.as_bytes(), now)? {
        HubVerdict::Complete(checked) => checked,
        // Nothing collects for these: all signatures come in one proof.
        HubVerdict::Collecting(_) => return Err(Refusal::Quorum.into()),
    };
    let label = label(&checked);
    let (id, change) = match &checked.payload.body {
        Says::Pin(pin) => {
            (pin.key.id.clone(), TrustChange::Pin { key: pin.key.id.clone(), executor: pin.executor.clone() })
        }
        Says::Revoke(revoke) => {
            let what = revoke.what.as_str().to_owned();
            (revoke.id.clone(), TrustChange::Revoke { what, id: revoke.id.clone() })
        }
        Says::Rule(_) | Says::Delegate(_) => {
            let detail = "this hub takes no rules and delegations yet; nothing was stored";
            return Err(Problem::new(Code::Malformed, detail).into());
        }
        Says::Approve(_) | Says::Deny(_) | Says::Vouch(_) => return Err(Refusal::WrongVerb.into()),
    };
    let nonce = checked.payload.common.nonce;
    let new = NewTrust { change, nonce, payload: checked.bytes, proof: proof.to_owned(), label };
    // The own file first: what is stored is told to everybody, and must then hold here too.
    apply(app, proof)?;
    match app.store().add_trust(&new, now).await? {
        TrustAdded::New(_) => {
            app.changed();
            Ok(done(id))
        }
        TrustAdded::Duplicate => {
            Err(Problem::new(Code::Duplicate, "this very proof was taken before; nothing was changed").into())
        }
    }
}

/// The hub's own file follows the same proofs as every executor's.
fn apply(app: &App, proof: &str) -> Result<(), Problem> {
    let (pins, identity) = (app.config().pins(), app.config().identity());
    match proof::trust::apply(&pins, proof.as_bytes(), &identity, app.now()) {
        Ok(applied) => {
            tracing::info!(?applied, "a trust proof was applied to the hub's own pin file");
            Ok(())
        }
        // The proof is good for others; this file does not speak for this hub, and its owner is told.
        Err(TrustError::Refused(refusal)) => {
            tracing::warn!(%refusal, identity, "a trust proof does not apply to the hub's own pin file");
            Ok(())
        }
        Err(error @ (TrustError::Pins(_) | TrustError::Write(_))) => {
            tracing::error!(%error, "the hub's own pin file cannot be changed");
            Err(Problem::new(Code::Unavailable, "the hub cannot change its own pin file; nothing was stored"))
        }
    }
}

/// Further signatures for a batch: each must verify over its payload, and with those that are there already the whole must
/// still be a proof for its items: a key that was revoked since it signed counts no more.
pub(crate) async fn check_signatures(
    app: &App,
    caller: &Caller,
    batch: &StoredBatch,
    signatures: &[Box<RawValue>],
) -> Result<Vec<Signer>, Problem> {
    let covered = Named::of_batch(app, &batch.entries).await?.covered();
    let pins = app.pins()?;
    match join(&pins, batch, signatures, &covered, app.now()) {
        Ok(signers) => Ok(signers),
        Err(refusal) => {
            record_refusal(app, refusal, caller.label()).await;
            Err(Problem::refused(refusal))
        }
    }
}

fn join(
    pins: &Approvers,
    batch: &StoredBatch,
    signatures: &[Box<RawValue>],
    covered: &[Covered],
    now: Timestamp,
) -> Result<Vec<Signer>, Refusal> {
    #[derive(Deserialize)]
    struct Stored<'a> {
        #[serde(borrow)]
        signatures: Vec<&'a RawValue>,
    }
    if signatures.is_empty() {
        return Err(Refusal::NoSignature);
    }
    let stored = batch.proof.as_deref().unwrap_or_default();
    let stored: Stored<'_> = serde_json::from_str(stored).map_err(|_| Refusal::Malformed)?;
    let mut all: Vec<&str> = stored.signatures.into_iter().map(RawValue::get).collect();
    let mut signers = Vec::with_capacity(signatures.len());
    for signature in signatures {
        signers.push(stored_signer(check_signature(pins, &batch.payload, signature.get().as_bytes(), now)?));
        all.push(signature.get());
    }
    let whole = proof::assemble(&batch.payload, &all)?;
    let (HubVerdict::Complete(checked) | HubVerdict::Collecting(checked)) =
        check_entries(pins, whole.as_bytes(), covered, now)?;
    if checked.payload.verb() == Verb::Approve { Ok(signers) } else { Err(Refusal::WrongVerb) }
}

/// Tells the log that a proof was refused. That this fails changes nothing: the proof is refused all the same.
pub(crate) async fn record_refusal(app: &App, refusal: Refusal, by: &str) {
    tracing::warn!(code = refusal.code(), by, "a proof was refused");
    let event = HubEvent::ProofRefused { code: refusal.code().to_owned(), by: by.to_owned() };
    match app.store().record(&event, &Audience::Persons, app.now()).await {
        Ok(_) => app.changed(),
        Err(error) => tracing::error!(%error, "a refused proof could not be recorded"),
    }
}
