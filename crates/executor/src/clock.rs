//! Time as a parameter: the executors' only view of a clock, made by the program around them.

use std::time::Duration;

use proto::Timestamp;

/// A wall clock, a stop watch that nobody can set, and a way to let time pass.
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Time since the program started.
    fn elapsed(&self) -> Duration;
    /// Comes back after `span`.
    fn pause(&self, span: Duration);
}
