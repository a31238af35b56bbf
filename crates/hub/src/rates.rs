//! Rates and open polls, counted in memory per token. A restart forgets them, which only ever gives a little more room.
//! How many asks may *wait* is not counted here: that is a question to the store, in the transaction that adds one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::Timestamp;

/// A minute, the window of every rate.
const WINDOW_MS: i64 = 60_000;

/// Counts events per key in a sliding minute. The table holds at most one entry per key that was seen in the last minute.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    seen: Mutex<HashMap<String, Vec<Timestamp>>>,
}

impl Rate {
    /// Counts one event of `key`, or gives the seconds after which there is room again.
    pub(crate) fn take(&self, key: &str, most: u32, now: Timestamp) -> Result<(), u64> {
        let mut seen = lock(&self.seen);
        let fresh = |at: &Timestamp| (0..WINDOW_MS).contains(&now.since(*at));
        seen.retain(|_, times| {
            times.retain(fresh);
            !times.is_empty()
        });
        let times = seen.entry(key.to_owned()).or_default();
        if u32::try_from(times.len()).is_ok_and(|count| count < most) {
            times.push(now);
            return Ok(());
        }
        let oldest = times.first().copied().unwrap_or(now);
        let wait_ms = oldest.plus(WINDOW_MS).since(now).max(1);
        Err(u64::try_from(wait_ms).unwrap_or(1).div_ceil(1_000))
    }
}

/// Counts what is open at once per key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    counts: Arc<Mutex<HashMap<String, u32>>>,
}

impl Open {
    /// Takes one place of `key`; it is given back when the value is dropped.
    pub(crate) fn take(&self, key: &str, most: u32) -> Option<Place> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key.to_owned()).or_insert(0);
        if *count >= most {
            return None;
        }
        *count = count.saturating_add(1);
        Some(Place { open: self.clone(), key: key.to_owned() })
    }
}

/// One taken place.
#[derive(Debug)]
pub(crate) struct Place {
    open: Open,
    key: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = lock(&self.open.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

/// A thread that panicked while counting leaves numbers that are still numbers.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_minute_holds_as_many_as_allowed_and_says_when_there_is_room() {
        let rate = Rate::default();
        for second in 0..3 {
            assert_eq!(rate.take("a", 3, at(second * 1_000)), Ok(()));
        }
        assert_eq!(rate.take("a", 3, at(2_500)), Err(58));
        assert_eq!(rate.take("b", 3, at(2_500)), Ok(()), "another token has its own minute");
        assert_eq!(rate.take("a", 3, at(60_000)), Ok(()));
        assert_eq!(rate.take("a", 3, at(60_000)), Err(1));
    }

    #[test]
    fn a_clock_set_back_does_not_lock_anyone_out() {
        let rate = Rate::default();
        assert_eq!(rate.take("a", 1, at(1_000_000)), Ok(()));
        assert_eq!(rate.take("a", 1, at(10)), Ok(()));
    }

    #[test]
    fn a_closed_poll_gives_its_place_back() {
        let open = Open::default();
        let first = open.take("a", 1).unwrap();
        assert!(open.take("a", 1).is_none());
        assert!(open.take("b", 1).is_some());
        drop(first);
        assert!(open.take("a", 1).is_some());
        assert!(lock(&open.counts).is_empty(), "no entry stays behind");
    }
}
