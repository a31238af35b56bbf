//! Reading the log: lines as JSON with a long poll, and as a stream of server-sent events that goes on where it stopped.
//! People see all lines, a machine its own. Writing lines is the store's, in the transaction of the change they tell of.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use proto::api::Events;
use proto::limits;
use serde::Deserialize;
use store::{EventLine, EventQuery};
use tokio::sync::watch;

use crate::app::App;
use crate::asks::raw;
use crate::body::{Answer, Json, Query};
use crate::gate::Caller;
use crate::problem::{Code, Problem};
use crate::rates::Place;
use crate::wait::{Waiter, place};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    kinds: Option<String>,
    since: Option<u64>,
    wait: Option<u64>,
    limit: Option<u32>,
}

/// `GET /api/events`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(reading): Query<Reading>,
) -> Answer<Events> {
    let Reading { kinds, since, wait, limit } = reading;
    let query = EventQuery {
        since: since.unwrap_or(0),
        kinds: kinds.as_deref().map(split).unwrap_or_default(),
        agent: caller.own_events(),
        limit: rows(limit)?,
    };
    let mut waiter = Waiter::open(&app, &caller, wait)?;
    loop {
        waiter.mark();
        let lines = app.store().events(&query).await?;
        if !lines.is_empty() || !waiter.again().await? {
            let events = lines.into_iter().map(|line| raw(line.line)).collect::<Result<_, _>>()?;
            return Ok(Json(Events { events }));
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Since {
    since: Option<u64>,
}

/// `GET /api/stream`
pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(Since { since }): Query<Since>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let last = headers.get("last-event-id");
    let last = last.map(|value| value.to_str().ok().and_then(|text| text.parse::<u64>().ok()));
    let since = match (last, since) {
        (Some(Some(seen)), _) | (None, Some(seen)) => seen,
        (Some(None), _) => {
            return Err(Problem::new(Code::Malformed, "`Last-Event-ID` must be a line's number"));
        }
        (None, None) => app.store().head().await?.seq,
    };
    let query = EventQuery { since, kinds: Vec::new(), agent: caller.own_events(), limit: rows(None)? };
    let reader = Reader {
        place: place(&app, &caller)?,
        changes: app.changes(),
        stopping: app.stopping(),
        app,
        caller,
        query,
        ready: VecDeque::new(),
        opened: false,
    };
    Ok(Sse::new(stream::unfold(reader, Reader::next)))
}

/// One open stream.
struct Reader {
    app: App,
    caller: Caller,
    query: EventQuery,
    ready: VecDeque<EventLine>,
    changes: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    opened: bool,
    #[expect(dead_code, reason = "held until the stream ends")]
    place: Place,
}

impl Reader {
    /// The next event, or a comment when nothing happened for a while; ends when the hub stops, the store fails or the
    /// credential ended. The reader connects again and goes on after the last number it saw.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if !self.opened {
            // Some word at once, so that a reader knows it is connected before anything happens.
            self.opened = true;
            return Some((Ok(Event::default().comment("open")), self));
        }
        loop {
            if let Some(line) = self.ready.pop_front() {
                self.query.since = line.seq;
                let event = Event::default().id(line.seq.to_string()).event(line.kind).data(line.line);
                return Some((Ok(event), self));
            }
            if *self.stopping.borrow() || self.caller.still_valid(&self.app).await.is_err() {
                return None;
            }
            self.changes.mark_unchanged();
            match self.app.store().events(&self.query).await {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => {
                    self.ready = lines.into();
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "a stream ends: the log cannot be read");
                    return None;
                }
            }
            let idle = Duration::from_millis(limits::STREAM_IDLE_MS);
            let quiet = tokio::select! {
                changed = self.changes.changed() => changed.is_err(),
                _ = self.stopping.wait_for(|stop| *stop) => continue,
                // Another process may have written meanwhile; the next look finds that too.
                () = tokio::time::sleep(idle) => true,
            };
            if quiet {
                return Some((Ok(Event::default().comment("idle")), self));
            }
        }
    }
}

fn split(kinds: &str) -> Vec<String> {
    kinds.split(',').filter(|kind| !kind.is_empty()).map(str::to_owned).collect()
}

/// How many rows to answer with.
pub(crate) fn rows(limit: Option<u32>) -> Result<u32, Problem> {
    let most = u32::try_from(limits::PAGE_ROWS_MAX).unwrap_or(u32::MAX);
    let usual = u32::try_from(limits::PAGE_ROWS).unwrap_or(u32::MAX);
    match limit.unwrap_or(usual) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        _ => Err(Problem::new(Code::Malformed, format!("`limit` lies between 1 and {most}"))),
    }
}
