//! What machines fetch with every poll: denials meant for others than their asker, and the proofs that change whom to trust.
//! Both are only carried: a reader checks each proof against its own pins.

use axum::extract::State;
use proto::Urgency;
use proto::api::{Message, Messages, Trust, TrustProof};
use serde::Deserialize;
use store::TrustChange;

use crate::app::App;
use crate::asks::raw;
use crate::body::{Answer, Json, Query};
use crate::events::rows;
use crate::gate::{Caller, Machine};
use crate::problem::Problem;
use crate::wait::Waiter;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    since: Option<u64>,
    wait: Option<u64>,
}

/// `GET /api/messages`
pub(crate) async fn messages(
    State(app): State<App>,
    caller: Caller,
    machine: Machine,
    Query(Reading { since, wait }): Query<Reading>,
) -> Answer<Messages> {
    let since = since.unwrap_or(0);
    let mut waiter = Waiter::open(&app, &caller, wait)?;
    loop {
        waiter.mark();
        let found = app.store().messages(&machine.name, since, rows(None)?, app.now()).await?;
        if !found.is_empty() || !waiter.again().await? {
            let next = found.last().map_or(since, |last| last.seq);
            let messages = found.into_iter().map(message).collect::<Result<_, _>>()?;
            return Ok(Json(Messages { messages, next }));
        }
    }
}

fn message(stored: store::Message) -> Result<Message, Problem> {
    let store::Message { seq, pinned, expires: _, denial } = stored;
    Ok(Message {
        seq,
        proof: raw(denial.proof)?,
        channel: denial.channel,
        reason: denial.reason,
        label: denial.label,
        urgent: denial.channel.urgency() >= Urgency::Now,
        pinned,
    })
}

/// `GET /api/trust`
pub(crate) async fn trust(
    State(app): State<App>,
    caller: Caller,
    Query(Reading { since, wait }): Query<Reading>,
) -> Answer<Trust> {
    let since = since.unwrap_or(0);
    let mut waiter = Waiter::open(&app, &caller, wait)?;
    loop {
        waiter.mark();
        let found = app.store().trust(since, rows(None)?).await?;
        if !found.is_empty() || !waiter.again().await? {
            let next = found.last().map_or(since, |last| last.seq);
            let proofs = found.into_iter().map(trust_proof).collect::<Result<_, _>>()?;
            return Ok(Json(Trust { proofs, next }));
        }
    }
}

fn trust_proof(stored: store::StoredTrust) -> Result<TrustProof, Problem> {
    let store::StoredTrust { seq, change, proof } = stored;
    let verb = match change {
        TrustChange::Pin { .. } => "pin",
        TrustChange::Revoke { .. } => "revoke",
    };
    Ok(TrustProof { seq, verb: verb.to_owned(), proof: raw(proof)? })
}
