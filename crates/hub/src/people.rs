//! Who the caller is, the list of logins, and the pause: everything about people and programs that signs nothing.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use proto::api::MachineMe;
use proto::{Kind, Timestamp};
use serde::Serialize;
use store::StoredSession;

use crate::app::App;
use crate::asks::not_found;
use crate::body::{Answer, Body, Id, Json, Nothing};
use crate::gate::{Caller, Person};
use crate::login::{self, LoginAnswer, cleared_cookie};
use crate::problem::Problem;

/// `GET /api/me` of a person.
#[derive(Debug, Serialize)]
struct PersonMe {
    audience: &'static str,
    label: String,
    person: String,
    keyid: String,
    hub: String,
    origin: String,
    rp_id: String,
    quorum: BTreeMap<Kind, u32>,
    undo_ms: i64,
    paused: bool,
    now: Timestamp,
}

/// `GET /api/me`
pub(crate) async fn me(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let paused = app.store().paused().await?.is_some();
    let config = app.config();
    match caller {
        Caller::Person(person) => {
            let pins = app.pins()?;
            Ok(Json(PersonMe {
                audience: "browser",
                label: person.label,
                person: person.person,
                keyid: person.keyid,
                hub: config.name.clone(),
                origin: config.origin.as_str().to_owned(),
                rp_id: config.origin.host().to_owned(),
                quorum: Kind::ALL.into_iter().map(|kind| (kind, pins.quorum(kind))).collect(),
                undo_ms: config.undo_ms,
                paused,
                now: app.now(),
            })
            .into_response())
        }
        Caller::Machine(machine) => Ok(Json(MachineMe {
            audience: "machine".to_owned(),
            name: machine.name,
            role: machine.role,
            executors: machine.executors,
            hub: config.name.clone(),
            origin: config.origin.as_str().to_owned(),
            paused,
            now: app.now(),
        })
        .into_response()),
        Caller::Nobody => Err(crate::gate::forbidden("no credential")),
    }
}

/// `GET /api/sessions`
#[derive(Debug, Serialize)]
pub(crate) struct Sessions {
    sessions: Vec<Session>,
}

#[derive(Debug, Serialize)]
struct Session {
    id: String,
    label: String,
    created: Timestamp,
    seen: Timestamp,
    current: bool,
}

/// `GET /api/sessions`: every open login of everybody.
pub(crate) async fn sessions(State(app): State<App>, person: Person) -> Answer<Sessions> {
    let open = app.store().sessions(app.now()).await?;
    let row = |session: StoredSession| Session {
        current: session.id == person.session,
        id: session.id,
        label: session.label,
        created: session.created,
        seen: session.seen,
    };
    Ok(Json(Sessions { sessions: open.into_iter().map(row).collect() }))
}

/// `POST /api/sessions/{id}/end`: anybody who is logged in may end any login; it only tightens.
pub(crate) async fn end_session(
    State(app): State<App>,
    Id(id): Id,
    Body(Nothing {}): Body<Nothing>,
) -> Result<StatusCode, Problem> {
    if !app.store().end_session(&id, app.now()).await? {
        return Err(not_found());
    }
    app.changed();
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /api/logout`
pub(crate) async fn logout(
    State(app): State<App>,
    person: Person,
    Body(Nothing {}): Body<Nothing>,
) -> Result<(StatusCode, HeaderMap), Problem> {
    app.store().end_session(&person.session, app.now()).await?;
    app.changed();
    Ok((StatusCode::NO_CONTENT, cleared_cookie(&app)))
}

/// `POST /api/pause` and `…/resume`
#[derive(Debug, Serialize)]
pub(crate) struct Paused {
    paused: bool,
}

/// `POST /api/pause`: one tap, or any machine. It only tightens.
pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Body(Nothing {}): Body<Nothing>,
) -> Answer<Paused> {
    if app.store().pause(caller.label(), app.now()).await? {
        tracing::warn!(by = caller.label(), "the hub is paused");
        app.changed();
    }
    Ok(Json(Paused { paused: true }))
}

/// `POST /api/resume`: a person with a fresh answer of their passkey.
pub(crate) async fn resume(
    State(app): State<App>,
    person: Person,
    Body(answer): Body<LoginAnswer>,
) -> Answer<Paused> {
    let signer = login::check(&app, &answer).await?;
    if app.store().resume(&signer.label, app.now()).await? {
        tracing::warn!(by = person.label, "the hub goes on");
        app.changed();
    }
    Ok(Json(Paused { paused: false }))
}
