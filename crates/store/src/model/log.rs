//! The log of events as readers see it.

use proto::Digest;

/// Who sees an event besides browsers, which see all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Browsers only.
    Persons,
    /// The machine of this token name.
    Agent(String),
    /// Every machine.
    AllAgents,
}

/// Which lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventQuery {
    /// Only lines after this seq.
    pub since: u64,
    /// Only these kinds; empty for all.
    pub kinds: Vec<String>,
    /// Only what this machine may see; `None` for a browser.
    pub agent: Option<String>,
    /// At most this many.
    pub limit: u32,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// Its number.
    pub seq: u64,
    /// The event's kind.
    pub kind: String,
    /// The exact line, without its line feed.
    pub line: String,
}

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of the last line; 0 for an empty log.
    pub seq: u64,
    /// Its hash; zeros for an empty log.
    pub hash: Digest,
}

/// How much of the log to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyDepth {
    /// Lines written since this process last checked them (all at first): cheap, for every snapshot.
    New,
    /// Every line again: finds what was edited after it was checked.
    Whole,
}

/// What a check of the log found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct LogReport {
    /// Lines checked and found good, since the beginning.
    pub records: u64,
    /// The end of the log as recorded beside it.
    pub head: Head,
    /// What is wrong, with the line; `None` when all is well.
    pub failure: Option<String>,
}
