//! Waiting for a change: the long poll of every route that has `wait`, and the pulse of the event stream. No route polls the
//! store: it looks once, then again when something changed.

use std::time::Duration;

use proto::limits;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::app::App;
use crate::gate::Caller;
use crate::problem::{Code, Problem};
use crate::rates::Place;

/// One open poll. Holds its place among the polls of its caller.
#[derive(Debug)]
pub(crate) struct Waiter {
    app: App,
    caller: Caller,
    changes: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    until: Instant,
    _place: Option<Place>,
}

impl Waiter {
    /// A poll that may take `wait_s` seconds (none: it looks once).
    pub(crate) fn open(app: &App, caller: &Caller, wait_s: Option<u64>) -> Result<Self, Problem> {
        let wait_s = wait_s.unwrap_or(0);
        if wait_s > limits::WAIT_S_MAX {
            return Err(Problem::new(
                Code::Malformed,
                format!("`wait` is at most {} seconds; ask again after them", limits::WAIT_S_MAX),
            ));
        }
        let place = if wait_s == 0 { None } else { Some(place(app, caller)?) };
        Ok(Self {
            app: app.clone(),
            caller: caller.clone(),
            changes: app.changes(),
            stopping: app.stopping(),
            until: Instant::now() + Duration::from_secs(wait_s),
            _place: place,
        })
    }

    /// Call before each look: a change after it is not missed.
    pub(crate) fn mark(&mut self) {
        self.changes.mark_unchanged();
    }

    /// Waits for the next change. False when the time is up or the hub stops: answer with what there is. A caller whose
    /// credential ended meanwhile gets nothing more.
    pub(crate) async fn again(&mut self) -> Result<bool, Problem> {
        if self.until <= Instant::now() || *self.stopping.borrow() {
            return Ok(false);
        }
        let changed = tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            () = sleep_until(self.until) => false,
            _ = self.stopping.wait_for(|stop| *stop) => false,
        };
        self.caller.still_valid(&self.app).await?;
        Ok(changed)
    }
}

/// A place among the open polls of a caller.
pub(crate) fn place(app: &App, caller: &Caller) -> Result<Place, Problem> {
    let most = app.config().caps.polls_per_token;
    app.counters().polls.take(&caller.key(), most).ok_or_else(|| {
        Problem::too_many(format!("{most} polls of this credential are open already; close one first"), 1)
    })
}
