//! The loop's one clock. Everything else is told the time.

use proto::Timestamp;

/// Now.
#[expect(clippy::disallowed_methods, reason = "the loop's one clock")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `at` as RFC 3339 in UTC, milliseconds included.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map_or_else(|_| at.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_rollouts_write_it() {
        assert_eq!(rfc3339(Timestamp::from_millis(1_800_000_000_007)), "2027-01-15T08:00:00.007Z");
    }
}
