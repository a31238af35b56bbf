//! Asks and calls: an executor puts one in, waits for its answer, takes it back. Who may answer, and how, is in `seal`.

use axum::extract::State;
use axum::http::StatusCode;
use proto::api::{AskState, Asked, Close, Denial, Guard, NewAsk};
use proto::{AskItem, CallItem, Item, ItemId, Kind, Status, json_text, limits};
use serde::Deserialize;
use serde_json::value::RawValue;
use store::{Added, Answer as Stored, Caps, Closed, Closing, NewItem, TooMany};

use crate::app::App;
use crate::body::{Answer, Body, Id, Json, Query};
use crate::gate::{Caller, Machine, forbidden};
use crate::problem::{Code, Problem};
use crate::wait::Waiter;

/// `POST /api/asks`
pub(crate) async fn create(
    State(app): State<App>,
    machine: Machine,
    Body(ask): Body<NewAsk>,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    let new = new_item(&app, &machine, ask)?;
    let now = app.now();
    // The same ask again is no new one, and must be answered also when the minute is full.
    if app.store().answer(new.item.id()).await?.is_none() {
        let most = app.config().caps.asks_per_minute;
        app.counters().asks.take(&machine.name, most, now).map_err(|wait_s| {
            Problem::too_many(format!("over {most} new asks in a minute; nothing was stored"), wait_s)
        })?;
    }
    let caps = app.config().caps;
    let caps = Caps { per_owner: caps.pending_per_agent, total: caps.pending };
    let (status, row) = match app.store().add_item(&new, caps, now).await? {
        Added::New(row) => {
            app.changed();
            // Looked at beforehand, so that the page need not wait for it.
            let (app, item) = (app.clone(), row.item.clone());
            tokio::spawn(async move { app.held(&item).await });
            (StatusCode::CREATED, row)
        }
        Added::Same(row) => (StatusCode::OK, row),
        Added::Conflict => {
            return Err(Problem::new(Code::Duplicate, "this id is taken by another ask; make a new id"));
        }
        Added::TooMany(TooMany::Owner) => {
            return Err(Problem::too_many(
                "too many asks of this agent wait; answer or cancel some first",
                10,
            ));
        }
        Added::TooMany(TooMany::Total) => {
            return Err(Problem::too_many("the inbox is full; answer or cancel some asks first", 10));
        }
    };
    let expires = row.status.waits().then_some(row.expires);
    Ok((status, Json(Asked { id: row.item.id().to_owned(), status: row.status, expires })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    wait: Option<u64>,
}

/// `GET /api/asks/{id}`: the answer as soon as there is one, or where it stands when the wait ends.
pub(crate) async fn poll(
    State(app): State<App>,
    caller: Caller,
    machine: Machine,
    Id(id): Id,
    Query(Wait { wait }): Query<Wait>,
) -> Answer<AskState> {
    let mut waiter = Waiter::open(&app, &caller, wait)?;
    loop {
        waiter.mark();
        let state = state(&app, &machine, &id).await?;
        if !state.status.waits() || !waiter.again().await? {
            return Ok(Json(state));
        }
    }
}

async fn state(app: &App, machine: &Machine, id: &str) -> Result<AskState, Problem> {
    let stored = app.store().answer(id).await?;
    let Stored { status, proof, denial, .. } =
        stored.filter(|stored| stored.owner == machine.name).ok_or_else(not_found)?;
    // A pause stops what was released but not yet fetched, too: for its executor it is still under way.
    if status == Status::Allowed && app.store().paused().await?.is_some() {
        return Ok(AskState { status: Status::Settling, proof: None, denial: None });
    }
    let proof = proof.map(raw).transpose()?;
    let denial = denial
        .map(|denial| {
            let proof = raw(denial.proof)?;
            Ok::<_, Problem>(Denial {
                channel: denial.channel,
                reason: denial.reason,
                label: denial.label,
                proof,
            })
        })
        .transpose()?;
    Ok(AskState { status, proof, denial })
}

/// `POST /api/asks/{id}/close`
pub(crate) async fn close(
    State(app): State<App>,
    machine: Machine,
    Id(id): Id,
    Body(Close { status }): Body<Close>,
) -> Answer<Asked> {
    let how = match status {
        Status::Cancelled => Closing::Cancelled,
        Status::Superseded => Closing::Superseded,
        Status::Allowed
        | Status::Collecting
        | Status::Denied
        | Status::Expired
        | Status::Pending
        | Status::Settling => {
            return Err(Problem::new(Code::Malformed, "an asker may set `cancelled` or `superseded` only"));
        }
    };
    match app.store().close_item(&id, &machine.name, how, app.now()).await? {
        Closed::Done => {
            app.changed();
            Ok(Json(Asked { id, status, expires: None }))
        }
        Closed::Ended(status) => {
            Err(Problem::new(Code::Closed, format!("it is already {status}; nothing was changed")))
        }
        Closed::NotFound => Err(not_found()),
    }
}

/// JSON text that was stored, on its way out as it stands.
pub(crate) fn raw(text: String) -> Result<Box<RawValue>, Problem> {
    RawValue::from_string(text).map_err(|error| {
        tracing::error!(%error, "a stored text is no JSON: the database was changed");
        Problem::new(Code::Internal, "the database is damaged here; nothing was allowed")
    })
}

pub(crate) fn not_found() -> Problem {
    Problem::new(Code::NotFound, "there is nothing of that id, or not for you")
}

/// Checks shape and sizes; what stands in the fields is shown, never interpreted.
fn new_item(app: &App, machine: &Machine, ask: NewAsk) -> Result<NewItem, Problem> {
    let NewAsk { kind, quorum, id, executor, session, tool, input, cwd, arguments, why, host, thread, guard } =
        ask;
    if ItemId::parse(&id).ok().and_then(|id| id.kind()) != Some(kind) {
        return Err(unprocessable("`id` must be the kind's prefix and 32 hex digits of fresh randomness"));
    }
    let persons_max = u32::try_from(limits::PROOF_SIGNATURES).unwrap_or(u32::MAX);
    if quorum == 0 || quorum > persons_max {
        return Err(unprocessable(format!("`quorum` must be between 1 and {persons_max}")));
    }
    for (name, text, most) in [
        ("executor", Some(&executor), limits::NAME_BYTES),
        ("session", Some(&session), limits::NAME_BYTES),
        ("tool", Some(&tool), limits::NAME_BYTES),
        ("why", why.as_ref(), limits::WHY_BYTES),
        ("host", host.as_ref(), limits::NAME_BYTES),
        ("thread", thread.as_ref(), limits::NAME_BYTES),
    ] {
        if text.is_some_and(|text| text.len() > most) {
            return Err(Problem::new(
                Code::TooLarge,
                format!("`{name}` is over {most} bytes; nothing was stored"),
            ));
        }
    }
    if tool.is_empty() {
        return Err(unprocessable("`tool` is empty"));
    }
    if !machine.executors.contains(&executor) {
        return Err(forbidden(format!("this token may not ask for executor `{executor}`")));
    }
    let item = match (kind, input, cwd, arguments) {
        (Kind::Ask, Some(input), Some(cwd), None) => {
            json_value("input", &input)?;
            if !cwd.starts_with('/') || cwd.len() > limits::PATH_BYTES {
                return Err(unprocessable("`cwd` must be an absolute path"));
            }
            Item::Ask(AskItem { id, executor, agent: machine.name.clone(), session, tool, input, cwd })
        }
        (Kind::Call, None, None, Some(arguments)) => {
            json_value("arguments", &arguments)?;
            Item::Call(CallItem { id, executor, session, tool, arguments })
        }
        (Kind::Ask, ..) => return Err(unprocessable("an ask has `input` and `cwd`, and no `arguments`")),
        (Kind::Call, ..) => return Err(unprocessable("a call has `arguments`, and no `input` or `cwd`")),
        (Kind::Review | Kind::Decision | Kind::Command, ..) => {
            return Err(unprocessable("`kind` must be `ask` or `call` here"));
        }
    };
    Ok(NewItem {
        item,
        owner: machine.name.clone(),
        quorum,
        host,
        thread,
        guard: guard.unwrap_or(Guard::User),
        why,
        expires: app.now().plus(app.config().lifetime_ms),
    })
}

fn json_value(name: &str, text: &str) -> Result<(), Problem> {
    if text.len() > limits::INPUT_BYTES {
        let most = limits::INPUT_BYTES / 1024;
        return Err(Problem::new(
            Code::TooLarge,
            format!("`{name}` is over {most} KiB and could not be shown whole; nothing was stored"),
        ));
    }
    json_text::check(text, limits::INPUT_DEPTH)
        .map_err(|error| unprocessable(format!("`{name}` {error}; nothing was stored")))
}

fn unprocessable(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(Code::Unprocessable, detail)
}
