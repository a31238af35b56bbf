//! The one clock of this binary. Everything else takes `now` as a parameter.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proto::Timestamp;

/// The wall clock, in milliseconds since 1970. A clock before 1970 reads as 0, which every check refuses as too old.
#[expect(clippy::disallowed_methods, reason = "this is the one clock of the binary")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The clock that executors are given: the wall clock, a stop watch since its start, and sleep.
#[derive(Debug)]
pub(crate) struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose stop watch starts now.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }
}

impl executor::Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the executors' one place where time may pass")]
    fn pause(&self, span: Duration) {
        thread::sleep(span);
    }
}
