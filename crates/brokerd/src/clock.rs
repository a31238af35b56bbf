//! The broker's one clock. Everything else is told the time.

use proto::Timestamp;

/// Now.
#[expect(clippy::disallowed_methods, reason = "the broker's one clock")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
