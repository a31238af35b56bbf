//! The daemon's one clock. Pure code takes `now` as a parameter; this is where it comes from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proto::Timestamp;

/// A source of time that can also be waited on. Tests bring their own.
pub trait Time: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Completes once `now` is at or past `at`. May complete early: callers look at `now` again.
    fn until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The clock handed through the hub.
#[derive(Clone)]
pub struct Clock(Arc<dyn Time>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(SystemTimeSource))
    }

    /// A clock of the caller's.
    pub fn new(time: impl Time) -> Self {
        Self(Arc::new(time))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// Waits for `at`; see [`Time::until`].
    pub async fn until(&self, at: Timestamp) {
        self.0.until(at).await;
    }
}

struct SystemTimeSource;

/// A machine that slept, or whose clock was set, makes timers wrong: the wall clock is read again at least this often.
const REREAD: Duration = Duration::from_secs(60);

impl Time for SystemTimeSource {
    #[expect(clippy::disallowed_methods, reason = "the hub's one clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let left = at.since(self.now()).max(0);
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        Box::pin(tokio::time::sleep(left.min(REREAD)))
    }
}
