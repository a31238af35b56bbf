//! Samples of one quantity, their percentiles, and the yardstick of every disk figure: one flush in the same folder.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Flushes timed: enough for a steady median on a shared disk.
const FLUSHES: usize = 300;

/// Durations of one thing, in no order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Times `work` `count` times.
    pub(crate) fn of(count: usize, mut work: impl FnMut()) -> Self {
        let time = || {
            let start = Instant::now();
            work();
            start.elapsed()
        };
        Self(std::iter::repeat_with(time).take(count).collect())
    }

    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value that this share of the samples does not pass.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        *sorted.get(at).expect("at least one sample")
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        Self(durations.into_iter().collect())
    }
}

/// What making one appended block of 4 KiB durable costs in this folder.
pub(crate) fn flush(folder: &Path) -> Samples {
    let mut file = File::create(folder.join("flush")).expect("a file to flush");
    Samples::of(FLUSHES, || {
        file.write_all(&[7; 4096]).expect("space for a block");
        file.sync_data().expect("a flush");
    })
}
