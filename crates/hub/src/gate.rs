//! The door of every route: Host, Origin, credential, audience, role, in this order. What a handler gets is a [`Caller`] that
//! passed. No handler looks at a header of its own.
//!
//! Two audiences never mix: a route is for machines, for a person's browser, or for both, and a credential of the other one,
//! valid or not, is 403. 401 says only that a credential of the right kind is unknown, expired or revoked.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use proto::api::Role;
use proto::{Digest, Timestamp, sha256};
use store::{StoredSession, StoredToken};

use crate::address::is_loopback_host;
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::{Audience, Route};

/// The header in which the page repeats the token it keeps in sessionStorage: cookies ignore ports, this does not.
pub(crate) const PAGE_TOKEN: HeaderName = HeaderName::from_static("x-sealward");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who is asking, checked.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// No credential was needed.
    Nobody,
    /// A person's browser after a passkey login.
    Person(Person),
    /// A program with a token.
    Machine(Machine),
}

/// A person's browser session.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    cookie: Digest,
    pub(crate) session: String,
    pub(crate) keyid: String,
    pub(crate) label: String,
    pub(crate) person: String,
}

/// A machine's token.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    token: Digest,
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) executors: Vec<String>,
}

impl Caller {
    /// How the log and other people read who this is.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Nobody => "nobody",
            Self::Person(person) => &person.label,
            Self::Machine(machine) => &machine.name,
        }
    }

    /// The key under which its open polls are counted.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Nobody => String::new(),
            Self::Person(person) => format!("session {}", person.session),
            Self::Machine(machine) => format!("token {}", machine.name),
        }
    }

    /// Looks again whether the credential is good: a poll or stream outlives the request's own check.
    pub(crate) async fn still_valid(&self, app: &App) -> Result<(), Problem> {
        match self {
            Self::Nobody => Ok(()),
            Self::Person(person) => live_session(app, &person.cookie).await.map(drop),
            Self::Machine(machine) => live_token(app, &machine.token).await.map(drop),
        }
    }

    /// The machine whose events it may see; `None` for a person, who sees all.
    pub(crate) fn own_events(&self) -> Option<String> {
        match self {
            Self::Nobody => Some(String::new()),
            Self::Person(_) => None,
            Self::Machine(machine) => Some(machine.name.clone()),
        }
    }
}

/// Lets a request through to its handler, or says why not.
pub(crate) async fn gate(
    State((app, route)): State<(App, &'static Route)>,
    mut request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match admit(&app, route, &parts).await {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    parts.extensions.insert(caller);
    request = Request::from_parts(parts, body);
    let response = next.run(request).await;
    // The table's path, not the request's: what a caller put into it is nobody's business in a log.
    tracing::debug!(
        method = route.method(),
        path = route.path,
        status = response.status().as_u16(),
        "answered"
    );
    response
}

async fn admit(app: &App, route: &Route, parts: &Parts) -> Result<Caller, Problem> {
    let headers = &parts.headers;
    let host = one(headers, &HOST)?.unwrap_or_default();
    // Only a proxy is asked for whole addresses; a peer that sends one could mean another host than it says.
    if parts.uri.authority().is_some() {
        return Err(wrong_host(app));
    }
    match route.audience {
        Audience::Open => machine_host(app, host).map(|()| Caller::Nobody),
        Audience::Page => page_host(app, host).map(|()| Caller::Nobody),
        Audience::Door => {
            page_host(app, host)?;
            same_origin(app, parts)?;
            Ok(Caller::Nobody)
        }
        Audience::Browser | Audience::Machine | Audience::Both => {
            let shown = Shown::read(app, headers)?;
            admit_with(app, route, parts, host, shown).await
        }
    }
}

async fn admit_with(
    app: &App,
    route: &Route,
    parts: &Parts,
    host: &str,
    shown: Shown<'_>,
) -> Result<Caller, Problem> {
    match (shown, route.audience) {
        (Shown::Browser { cookie, token }, Audience::Browser | Audience::Both) => {
            page_host(app, host)?;
            same_origin(app, parts)?;
            person(app, cookie, token).await.map(Caller::Person)
        }
        (Shown::Bearer(token), Audience::Machine | Audience::Both) => {
            machine_host(app, host)?;
            if one(&parts.headers, &ORIGIN)?.is_some_and(|origin| origin != app.config().origin.as_str()) {
                return Err(forbidden("a page of another origin may not use a machine's route"));
            }
            let machine = machine(app, token).await?;
            if !route.roles.contains(&machine.role) {
                return Err(forbidden("this token's role may not do this; see `sealward agents list`"));
            }
            Ok(Caller::Machine(machine))
        }
        (Shown::Nothing, Audience::Browser | Audience::Both) if origin_host(app, host) => {
            Err(forbidden("no credential: log in with your passkey"))
        }
        (Shown::Nothing, _) => Err(forbidden("no credential: send `Authorization: Bearer` and a token")),
        (Shown::Browser { .. } | Shown::Bearer(_), _) => {
            Err(forbidden("this credential is for another audience than this route"))
        }
    }
}

/// The credential a request shows, not yet looked up.
enum Shown<'a> {
    Nothing,
    Bearer(&'a str),
    Browser { cookie: &'a str, token: &'a str },
}

impl<'a> Shown<'a> {
    fn read(app: &App, headers: &'a HeaderMap) -> Result<Self, Problem> {
        let bearer = one(headers, &AUTHORIZATION)?;
        let token = one(headers, &PAGE_TOKEN)?;
        let cookie = session_cookie(app, headers)?;
        match (bearer, cookie, token) {
            (None, Some(cookie), Some(token)) => Ok(Self::Browser { cookie, token }),
            (Some(header), None, None) => {
                let scheme_and_token = header.split_once(' ');
                let token = scheme_and_token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
                Ok(Self::Bearer(token.map_or("", |(_, token)| token.trim())))
            }
            (None, None, None) => Ok(Self::Nothing),
            // Half a browser's credential is none: a cookie alone may come from another port of this host.
            (None, Some(_), None) | (None, None, Some(_)) => Ok(Self::Nothing),
            (Some(_), _, _) => Err(forbidden("one request shows credentials of two audiences")),
        }
    }
}

/// The name of the session cookie: with https the prefix makes browsers refuse one set by a neighbour.
pub(crate) fn cookie_name(app: &App) -> &'static str {
    if app.config().origin.is_https() { "__Host-sealward" } else { "sealward" }
}

fn session_cookie<'a>(app: &App, headers: &'a HeaderMap) -> Result<Option<&'a str>, Problem> {
    let name = cookie_name(app);
    let mut found = None;
    for header in headers.get_all(COOKIE) {
        // A neighbour's cookie that is no text is not ours.
        let Ok(text) = header.to_str() else { continue };
        for pair in text.split(';') {
            let Some((key, value)) = pair.trim().split_once('=') else { continue };
            if key == name && found.replace(value).is_some() {
                return Err(forbidden("the session cookie came twice; clear this site's cookies"));
            }
        }
    }
    Ok(found)
}

async fn person(app: &App, cookie: &str, token: &str) -> Result<Person, Problem> {
    let cookie = sha256(cookie.as_bytes());
    let session = live_session(app, &cookie).await?;
    if session.page_hash != sha256(token.as_bytes()) {
        return Err(no_login());
    }
    let StoredSession { id, keyid, label, person, seen, .. } = session;
    let now = app.now();
    if stale(seen, now) {
        note(app.store().saw_session(&id, now).await);
    }
    Ok(Person { cookie, session: id, keyid, label, person })
}

async fn live_session(app: &App, cookie: &Digest) -> Result<StoredSession, Problem> {
    let now = app.now();
    let session = app.store().session(cookie, now).await?.ok_or_else(no_login)?;
    if !app.pins()?.may_sign(now).iter().any(|key| key.id == session.keyid) {
        return Err(unauthorized("the key of this login is no longer pinned"));
    }
    Ok(session)
}

async fn machine(app: &App, token: &str) -> Result<Machine, Problem> {
    let token = sha256(token.as_bytes());
    let StoredToken { name, role, executors, seen, .. } = live_token(app, &token).await?;
    let now = app.now();
    if seen.is_none_or(|seen| stale(seen, now)) {
        note(app.store().saw_token(&name, now).await);
    }
    Ok(Machine { token, name, role, executors })
}

async fn live_token(app: &App, token: &Digest) -> Result<StoredToken, Problem> {
    let stored = app.store().token(token).await?;
    stored.filter(|stored| stored.revoked.is_none()).ok_or_else(no_token)
}

fn no_login() -> Problem {
    unauthorized("the login is unknown or has ended; log in again")
}

fn no_token() -> Problem {
    unauthorized("the token is unknown or revoked; make one with `sealward agents add`")
}

/// Whether the note of when a credential was last used is old enough to be worth a flush.
fn stale(seen: Timestamp, now: Timestamp) -> bool {
    now.since(seen) > store::SEEN_STEP_MS
}

/// Not knowing when a credential was last used must not keep anyone from using it: a full disk still shows the inbox.
fn note(result: store::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "cannot note when a credential was used");
    }
}

/// One value of a header, or none; twice is refused, because two readers could take two different ones.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(forbidden("a header that may come once came twice"));
    }
    first.to_str().map(Some).map_err(|_| forbidden("a header is not plain text"))
}

fn origin_host(app: &App, host: &str) -> bool {
    app.config().origin.is_host(host)
}

fn page_host(app: &App, host: &str) -> Result<(), Problem> {
    if origin_host(app, host) { Ok(()) } else { Err(wrong_host(app)) }
}

fn machine_host(app: &App, host: &str) -> Result<(), Problem> {
    if origin_host(app, host) || is_loopback_host(host, app.config().listen.port()) {
        Ok(())
    } else {
        Err(wrong_host(app))
    }
}

fn same_origin(app: &App, parts: &Parts) -> Result<(), Problem> {
    let origin = one(&parts.headers, &ORIGIN)?;
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let right = match origin {
        Some(origin) => origin == app.config().origin.as_str(),
        // Browsers leave Origin out of same-origin reads only; those they mark otherwise.
        None => reads,
    };
    let site = one(&parts.headers, &FETCH_SITE)?;
    if right && site.is_none_or(|site| site == "same-origin") {
        Ok(())
    } else {
        Err(forbidden("only the hub's own page may do this, from its own origin"))
    }
}

fn wrong_host(app: &App) -> Problem {
    forbidden(format!(
        "the hub does not answer under this name; the page lives at {}",
        app.config().origin.as_str()
    ))
}

pub(crate) fn forbidden(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(Code::Forbidden, detail)
}

fn unauthorized(detail: &'static str) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

/// A handler that asks for a caller on a route that has none is a mistake of ours, not of the peer.
fn no_caller() -> Problem {
    Problem::new(Code::Internal, "the route's table and its handler disagree; nothing was allowed")
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        std::future::ready(parts.extensions.get().cloned().ok_or_else(no_caller)).await
    }
}

impl<S: Sync> FromRequestParts<S> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Caller::from_request_parts(parts, state).await? {
            Caller::Person(person) => Ok(person),
            Caller::Nobody | Caller::Machine(_) => Err(no_caller()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Machine {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Caller::from_request_parts(parts, state).await? {
            Caller::Machine(machine) => Ok(machine),
            Caller::Nobody | Caller::Person(_) => Err(no_caller()),
        }
    }
}
