//! Waiting for something to become true: the one place in the tests that sleeps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Long enough for a loaded two-core machine, short enough to tell a hang from slowness.
const PATIENCE: Duration = Duration::from_secs(10);
/// A condition costs at most a small request, so twenty a second do not disturb what is being measured.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `cond` holds; panics after 10 s, naming `what` never came true.
#[track_caller]
pub fn until(what: &str, cond: impl FnMut() -> bool) {
    within(PATIENCE, what, cond);
}

/// As [`until`], with a patience of the caller's.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "this is the function that the others are told to call")]
pub fn within(patience: Duration, what: &str, mut cond: impl FnMut() -> bool) {
    let start = Instant::now();
    while !cond() {
        assert!(start.elapsed() < patience, "never came true within {patience:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// The machine's clock, in milliseconds since 1970: proofs made by a test must be of now.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the tests' one clock; the programs under test have their own")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_millis()).expect("a clock before the year 292 million")
}
