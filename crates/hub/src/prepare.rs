//! Help for whoever signs: a payload that would be taken now, the keys that may sign it, and what to think about first.
//! Never trusted: the page builds its own payload from what it shows, and the checker decides.

use axum::extract::State;
use proof::Verb;
use proto::api::{Cover, Guard, Prepare, Prepared};
use proto::{Channel, Digest, Refusal, Timestamp, b64, limits};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::App;
use crate::body::{Answer, Body, Json};
use crate::chance;
use crate::entries::{Named, Use, malformed};
use crate::problem::{Code, Problem};

/// Members every payload has, in the order in which people read them.
#[derive(Debug, Serialize)]
struct Draft<T> {
    v: u32,
    verb: &'static str,
    nonce: String,
    issued: Timestamp,
    expires: Timestamp,
    #[serde(flatten)]
    says: T,
}

#[derive(Debug, Serialize)]
struct Approve {
    not_before: Timestamp,
    items: Vec<Digest>,
}

#[derive(Debug, Serialize)]
struct Deny {
    channel: Channel,
    reason: String,
    items: Vec<Digest>,
}

#[derive(Debug, Serialize)]
struct Pin {
    key: proto::api::PinEntry,
    executor: String,
}

#[derive(Debug, Serialize)]
struct Revoke {
    what: &'static str,
    id: String,
}

/// `POST /api/prepare`
pub(crate) async fn prepare(State(app): State<App>, Body(asked): Body<Prepare>) -> Answer<Prepared> {
    let verb = Verb::ALL.into_iter().find(|verb| verb.as_str() == asked.verb);
    match verb {
        Some(Verb::Approve) => approve(&app, asked).await,
        Some(Verb::Deny) => deny(&app, asked).await,
        Some(Verb::Pin) => pin(&app, asked),
        Some(Verb::Revoke) => revoke(&app, asked),
        Some(Verb::Rule | Verb::Delegate) => {
            Err(malformed("this hub takes no rules and delegations yet".to_owned()))
        }
        Some(Verb::Vouch) | None => Err(Problem::refused(Refusal::WrongVerb)),
    }
}

async fn approve(app: &App, asked: Prepare) -> Answer<Prepared> {
    let Prepare { verb: _, entries, channel, reason, key, executor, what, id } = asked;
    only((&channel, &reason, &key), (&executor, &what, &id))?;
    let named = Named::read(app, entries.unwrap_or_default(), Use::Approve).await?;
    named.fresh()?;
    named.may_be_approved()?;
    let now = app.now();
    let pins = app.pins()?;
    let quorum =
        named.covered().iter().map(|item| item.quorum.max(pins.quorum(item.kind))).max().unwrap_or(1);
    // Persons after the first sign when they get to it: the window then runs from the last signature.
    let not_before = if quorum > 1 { now } else { now.plus(app.config().undo_ms) };
    let lifetime_ends = named.rows.iter().map(|row| row.stored.expires).max().unwrap_or(now);
    // An answer in the last moment must still reach its executor.
    let expires = lifetime_ends.max(not_before.plus(limits::SKEW_MS)).min(now.plus(limits::APPROVE_LIFE_MS));
    let mut warnings: Vec<String> = Vec::new();
    for row in &named.rows {
        if let Some(held) = row.held {
            warnings.push(format!("only a person may allow this: {}", held.sentence()));
        }
        if row.stored.guard == Guard::User {
            warnings.push(format!("{}: its guard is cooperative", row.stored.item.executor()));
        }
    }
    warnings.sort_unstable();
    warnings.dedup();
    let covers = named.covers();
    let says = Approve { not_before, items: covers.iter().map(|cover| cover.hash).collect() };
    prepared(app, &draft(Verb::Approve, now, expires, says), covers, warnings)
}

async fn deny(app: &App, asked: Prepare) -> Answer<Prepared> {
    let Prepare { verb: _, entries, channel, reason, key, executor, what, id } = asked;
    only((&None, &None, &key), (&executor, &what, &id))?;
    let named = Named::read(app, entries.unwrap_or_default(), Use::Deny).await?;
    named.fresh()?;
    let reason = reason.unwrap_or_default();
    if reason.len() > limits::REASON_BYTES {
        return Err(Problem::new(
            Code::TooLarge,
            format!("a reason is at most {} bytes", limits::REASON_BYTES),
        ));
    }
    let channel = channel.unwrap_or(Channel::Post);
    let now = app.now();
    let life = if channel.pinned() { limits::SECURITY_LIFE_MS } else { limits::APPROVE_LIFE_MS };
    let covers = named.covers();
    let says = Deny { channel, reason, items: covers.iter().map(|cover| cover.hash).collect() };
    prepared(app, &draft(Verb::Deny, now, now.plus(life), says), covers, Vec::new())
}

fn pin(app: &App, asked: Prepare) -> Answer<Prepared> {
    let Prepare { verb: _, entries, channel, reason, key, executor, what, id } = asked;
    only((&channel, &reason, &None), (&None, &what, &id))?;
    let (Some(key), Some(executor), None) = (key, executor, entries) else {
        return Err(malformed("a pin needs `key` and `executor`".to_owned()));
    };
    proof::check_entry(&key).map_err(|error| malformed(format!("this key cannot be pinned: {error}")))?;
    let now = app.now();
    let draft = draft(Verb::Pin, now, now.plus(limits::PIN_LIFE_MS), Pin { key, executor });
    prepared(app, &draft, Vec::new(), Vec::new())
}

fn revoke(app: &App, asked: Prepare) -> Answer<Prepared> {
    let Prepare { verb: _, entries, channel, reason, key, executor, what, id } = asked;
    only((&channel, &reason, &key), (&executor, &None, &None))?;
    let what = what.and_then(|what| proof::What::ALL.into_iter().find(|known| known.as_str() == what));
    let (Some(what), Some(id), None) = (what, id, entries) else {
        return Err(malformed(
            "a revocation needs `what` (rule, delegation, key, warning) and `id`".to_owned(),
        ));
    };
    let now = app.now();
    let says = Revoke { what: what.as_str(), id };
    let draft = draft(Verb::Revoke, now, now.plus(limits::RULE_LIFE_MS), says);
    prepared(app, &draft, Vec::new(), Vec::new())
}

/// Members that another verb has are refused, as everywhere: half of them would mean something nobody sees.
fn only(
    (channel, reason, key): (&Option<Channel>, &Option<String>, &Option<proto::api::PinEntry>),
    (executor, what, id): (&Option<String>, &Option<String>, &Option<String>),
) -> Result<(), Problem> {
    let none = channel.is_none()
        && reason.is_none()
        && key.is_none()
        && executor.is_none()
        && what.is_none()
        && id.is_none();
    if none { Ok(()) } else { Err(malformed("this verb does not take one of the given members".to_owned())) }
}

fn draft<T>(verb: Verb, issued: Timestamp, expires: Timestamp, says: T) -> Draft<T> {
    Draft { v: 1, verb: verb.as_str(), nonce: b64::encode(&chance::bytes::<16>()), issued, expires, says }
}

fn prepared<T: Serialize>(
    app: &App,
    draft: &Draft<T>,
    covers: Vec<Cover>,
    warnings: Vec<String>,
) -> Answer<Prepared> {
    let payload: Box<RawValue> = serde_json::value::to_raw_value(draft).map_err(|error| {
        tracing::error!(%error, "a payload cannot be written");
        Problem::new(Code::Internal, "the payload could not be written")
    })?;
    let credentials = app.pins()?.may_sign(app.now()).into_iter().map(|entry| entry.id.clone()).collect();
    let rp_id = app.config().origin.host().to_owned();
    Ok(Json(Prepared { payload, credentials, rp_id, covers, warnings }))
}
