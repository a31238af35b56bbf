//! The one clock of this binary. Everything else takes `now` as a parameter.

use std::time::{SystemTime, UNIX_EPOCH};

use proto::Timestamp;

/// The wall clock, in milliseconds since 1970. A clock before 1970 reads as 0, which every check refuses as too old.
#[expect(clippy::disallowed_methods, reason = "this is the one clock of the binary")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
