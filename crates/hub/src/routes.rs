//! The one table of routes. Router, description (`/api/openapi.json`) and the golden table of the tests are made from it, so that
//! a route which is not in it cannot be reached, and one that is has its audience checked.

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::Response;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use proto::api::Role;
use proto::limits;
use std::time::Duration;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::app::App;
use crate::gate::gate;
use crate::problem::{Code, Problem};
use crate::{
    asks, batches, enrol, events, health, history, login, messages, openapi, page, people, prepare, seal,
    snapshot,
};

/// Whose route it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Anybody under a name of ours; says nothing that is worth a credential.
    Open,
    /// The page's files: no credential, the page's host only.
    Page,
    /// Logging in and enrolling: no credential yet, the page's host and origin only.
    Door,
    /// A person's browser after a login.
    Browser,
    /// A program with a token of one of the route's roles.
    Machine,
    /// A person's browser, or a program with a token of one of the route's roles.
    Both,
}

/// How a route is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Changes something.
    Post,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// How it is called.
    pub verb: Verb,
    /// Its path; `{id}` stands for one segment.
    pub path: &'static str,
    /// Whose it is.
    pub audience: Audience,
    /// Roles of tokens that may use it, where machines may.
    pub roles: &'static [Role],
    /// What it does, in a line.
    pub about: &'static str,
    /// Names of the query's members.
    pub query: &'static [&'static str],
    /// The body it takes, a name of [`openapi`]'s shapes.
    pub(crate) takes: Option<&'static str>,
    /// The status of success and the body it answers with.
    pub(crate) gives: (u16, Option<&'static str>),
    handler: fn() -> MethodRouter<App>,
}

const ALL: &[Role] = &Role::ALL;
const APPROVER: &[Role] = &[Role::Approver];
const HOOK: &[Role] = &[Role::Hook];
const READERS: &[Role] = &[Role::Agent, Role::Hook];

impl Route {
    const fn get(path: &'static str, about: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self {
            verb: Verb::Get,
            path,
            audience: Audience::Browser,
            roles: &[],
            about,
            query: &[],
            takes: None,
            gives: (200, None),
            handler,
        }
    }

    const fn post(path: &'static str, about: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self { verb: Verb::Post, takes: Some("Nothing"), ..Self::get(path, about, handler) }
    }

    const fn open_to(self, audience: Audience, roles: &'static [Role]) -> Self {
        Self { audience, roles, ..self }
    }

    const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    const fn takes(self, shape: &'static str) -> Self {
        Self { takes: Some(shape), ..self }
    }

    const fn gives(self, status: u16, shape: &'static str) -> Self {
        Self { gives: (status, Some(shape)), ..self }
    }

    const fn gives_nothing(self) -> Self {
        Self { gives: (204, None), ..self }
    }

    /// The method, in capitals.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self.verb {
            Verb::Get => "GET",
            Verb::Post => "POST",
        }
    }
}

/// Every route of the hub.
pub static ROUTES: &[Route] = &[
    Route::get("/healthz", "Whether the hub can do its work", || get(health::healthz))
        .open_to(Audience::Open, &[])
        .gives(200, "Health"),
    Route::get("/api/openapi.json", "This description", || get(openapi::serve)).open_to(Audience::Open, &[]),
    Route::get("/", "The page", || get(page::index)).open_to(Audience::Page, &[]),
    Route::get("/{asset}", "A file of the page", || get(page::asset)).open_to(Audience::Page, &[]),
    Route::post("/api/login/start", "A nonce for a passkey login", || post(login::start))
        .open_to(Audience::Door, &[])
        .gives(200, "LoginStarted"),
    Route::post("/api/login/finish", "Opens a session for a signed login", || post(login::finish))
        .open_to(Audience::Door, &[])
        .takes("LoginAnswer")
        .gives(200, "LoginFinished"),
    Route::post("/api/enrol", "Proposes a key with the terminal's code", || post(enrol::propose))
        .open_to(Audience::Door, &[])
        .takes("Enrol")
        .gives(202, "Proposed"),
    Route::get("/api/me", "Who the credential says you are", || get(people::me))
        .open_to(Audience::Both, ALL)
        .gives(200, "Me"),
    Route::post("/api/logout", "Ends this session", || post(people::logout)).gives_nothing(),
    Route::get("/api/sessions", "Open sessions", || get(people::sessions)).gives(200, "Sessions"),
    Route::post("/api/sessions/{id}/end", "Ends a session", || post(people::end_session)).gives_nothing(),
    Route::post("/api/asks", "Asks for a decision on a tool call", || post(asks::create))
        .open_to(Audience::Machine, HOOK)
        .takes("NewAsk")
        .gives(201, "Asked"),
    Route::get("/api/asks/{id}", "Where an ask stands; waits for its answer", || get(asks::poll))
        .open_to(Audience::Machine, HOOK)
        .query(&["wait"])
        .gives(200, "AskState"),
    Route::post("/api/asks/{id}/close", "Takes an ask back", || post(asks::close))
        .open_to(Audience::Machine, HOOK)
        .takes("Close")
        .gives(200, "Asked"),
    Route::get("/api/messages", "Denials meant for this agent too", || get(messages::messages))
        .open_to(Audience::Machine, READERS)
        .query(&["since", "wait"])
        .gives(200, "Messages"),
    Route::get("/api/trust", "Proofs that pin and revoke", || get(messages::trust))
        .open_to(Audience::Machine, ALL)
        .query(&["since", "wait"])
        .gives(200, "Trust"),
    Route::get("/api/snapshot", "The inbox", || get(snapshot::snapshot))
        .open_to(Audience::Both, APPROVER)
        .query(&["after", "limit"])
        .gives(200, "Inbox"),
    Route::post("/api/prepare", "A payload that would be taken now", || post(prepare::prepare))
        .open_to(Audience::Both, APPROVER)
        .takes("Prepare")
        .gives(200, "Prepared"),
    Route::post("/api/proofs", "Takes a signed proof", || post(seal::proofs))
        .open_to(Audience::Both, APPROVER)
        .takes("Sealing")
        .gives(202, "Sealed"),
    Route::get("/api/batches/{id}", "One batch", || get(batches::read))
        .open_to(Audience::Both, APPROVER)
        .gives(200, "Batch"),
    Route::post("/api/batches/{id}/signatures", "Further persons' signatures", || post(batches::sign))
        .open_to(Audience::Both, APPROVER)
        .takes("Signatures")
        .gives(202, "Batch"),
    Route::post("/api/batches/{id}/undo", "Withdraws a batch before it settles", || post(batches::undo))
        .gives(200, "Batch"),
    Route::get("/api/events", "Lines of the log; waits for the next", || get(events::list))
        .open_to(Audience::Both, ALL)
        .query(&["kinds", "since", "wait", "limit"])
        .gives(200, "Events"),
    Route::get("/api/stream", "Lines of the log as server-sent events", || get(events::stream))
        .open_to(Audience::Both, ALL)
        .query(&["since"]),
    Route::post("/api/pause", "Stops all releases", || post(people::pause))
        .open_to(Audience::Both, ALL)
        .gives(200, "Paused"),
    Route::post("/api/resume", "Lets releases go on, with a fresh login answer", || post(people::resume))
        .takes("LoginAnswer")
        .gives(200, "Paused"),
    Route::get("/api/history", "What was answered", || get(history::list))
        .query(&["before", "limit", "q"])
        .gives(200, "History"),
    Route::get("/api/items/{id}", "The whole story of one item", || get(history::story)).gives(200, "Story"),
];

/// The router: every line of the table behind its gate, and nothing else.
pub(crate) fn router(app: &App) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let gated = (route.handler)()
            .route_layer(from_fn_with_state((app.clone(), route), gate))
            .layer(DefaultBodyLimit::max(limits::BODY_BYTES));
        router = router.route(route.path, gated);
    }
    router
        .fallback(async || Problem::new(Code::NotFound, "there is nothing here"))
        .method_not_allowed_fallback(async || Problem::new(Code::Method, "this path takes another method"))
        .layer(RequestBodyTimeoutLayer::new(Duration::from_millis(limits::BODY_PAUSE_MS)))
        .layer(CatchPanicLayer::custom(|_| panicked()))
        .layer(from_fn_with_state(app.clone(), page::guard_headers))
        .with_state(app.clone())
}

/// A mistake of ours in one request must not take the hub down, nor say more than that it happened.
fn panicked() -> Response<Body> {
    tracing::error!("a handler panicked");
    Problem::new(Code::Internal, "the hub failed here; nothing was allowed").into_response()
}
