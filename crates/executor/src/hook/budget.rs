//! How long this hook still has: everything it does ends before the agent stops listening, because an agent that
//! hears nothing goes on.

use std::time::Duration;

use crate::clock::Clock;

/// The hook's own end lies this long before the agent's, or half of a wait that is shorter than twice that.
const MARGIN: Duration = Duration::from_secs(5);
/// Whatever still runs this long before the agent's end is given up from outside; of a short wait, a quarter.
const LAST_MARGIN: Duration = Duration::from_secs(2);
/// The shortest time-out with which a hook can work.
pub const WAIT_S_MIN: u64 = 2;

/// When the hook ends by itself, counted from its start.
fn own_end(wait: Duration) -> Duration {
    wait.saturating_sub(MARGIN.min(wait / 2))
}

/// When it is ended from outside, counted from its start: after its own end and before the agent's.
pub(super) fn last_end(wait: Duration) -> Duration {
    wait.saturating_sub(LAST_MARGIN.min(wait / 4))
}

/// Any one call to the hub but the long poll: a hub on the same machine answers in milliseconds.
const CALL: Duration = Duration::from_secs(10);
/// A call made at the very end still gets this.
const LAST_CALL: Duration = Duration::from_millis(500);

/// The time of one hook.
#[derive(Clone, Copy)]
pub(super) struct Budget<'a> {
    pub(super) clock: &'a dyn Clock,
    end: Duration,
}

impl<'a> Budget<'a> {
    /// From now until shortly before `wait` is over.
    pub(super) fn new(clock: &'a dyn Clock, wait: Duration) -> Self {
        Self { clock, end: own_end(wait) }
    }

    /// What is left of it.
    pub(super) fn left(&self) -> Duration {
        self.end.saturating_sub(self.clock.elapsed())
    }

    pub(super) fn spent(&self) -> bool {
        self.left().is_zero()
    }

    /// How long one call to the hub may take.
    pub(super) fn call(&self) -> Duration {
        self.left().clamp(LAST_CALL, CALL)
    }

    /// Whole seconds a long poll may wait, and how long the call around it may take.
    pub(super) fn poll(&self) -> (u64, Duration) {
        let wait_s = self.left().as_secs().min(proto::limits::WAIT_S_MAX);
        (wait_s, (Duration::from_secs(wait_s) + CALL).min(self.left() + LAST_CALL))
    }

    /// Lets at most `span` pass.
    pub(super) fn pause(&self, span: Duration) {
        self.clock.pause(span.min(self.left()));
    }
}
