//! The hash chain of a log: how a line is made and how lines are checked. No files and no clock: bytes in, verdict out.
//!
//! A line is `{"seq":n,"at":ms,"prev":"<hex>","event":{…},"hash":"<hex>"}` and a newline. `hash` is SHA-256 of the line's bytes
//! from `{` up to, not including, `,"hash":`; `prev` is the hash of the line before, 64 zeros for the first. The chain runs
//! across segments. Only an unterminated last line of the last segment is a torn tail; any other damage is a failure.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Digest, Timestamp, limits, sha256};

/// `,"hash":"` + 64 digits + `"}`: what every line ends with.
const TAIL_BYTES: usize = 9 + 64 + 2;

/// Makes the lines of a log, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainWriter {
    next: u64,
    prev: Digest,
}

/// A line with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// The JSON text, without the newline.
    pub text: String,
}

/// Why a line could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The event does not serialise.
    #[error("the event cannot be written as JSON")]
    Event(#[source] serde_json::Error),
    /// The line would be over [`limits::RECORD_BYTES`].
    #[error("a record of {0} bytes is over the limit of {max}", max = limits::RECORD_BYTES)]
    TooLong(usize),
}

impl Default for ChainWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ChainWriter {
    /// A writer at the start of an empty log.
    #[must_use]
    pub const fn new() -> Self {
        Self { next: 1, prev: Digest::ZERO }
    }

    /// A writer that goes on after line `seq` with `hash`.
    #[must_use]
    pub const fn after(seq: u64, hash: Digest) -> Self {
        Self { next: seq.saturating_add(1), prev: hash }
    }

    /// Makes the next line and moves on.
    ///
    /// # Errors
    /// [`LineError`]; the writer then stands where it stood.
    pub fn append<E: Serialize>(&mut self, at: Timestamp, event: &E) -> Result<Line, LineError> {
        let event = serde_json::to_string(event).map_err(LineError::Event)?;
        let mut text = format!(
            "{{\"seq\":{},\"at\":{},\"prev\":\"{}\",\"event\":{event}",
            self.next,
            at.as_millis(),
            self.prev
        );
        let length = text.len() + TAIL_BYTES + 1;
        if length > limits::RECORD_BYTES {
            return Err(LineError::TooLong(length));
        }
        let hash = sha256(text.as_bytes());
        text.push_str(&format!(",\"hash\":\"{hash}\"}}"));
        let line = Line { seq: self.next, hash, text };
        self.next = self.next.saturating_add(1);
        self.prev = hash;
        Ok(line)
    }
}

/// A log's line, read back. `event` is its exact text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Hash of the line before.
    pub prev: Digest,
    /// What happened.
    pub event: Box<RawValue>,
    /// Hash of this line.
    pub hash: Digest,
}

/// What is wrong with a log, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{segment}, line {line}: {reason}")]
pub struct Failure {
    /// Name of the segment as it was fed.
    pub segment: String,
    /// Line in that segment, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: FailureReason,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The line's own hash does not fit its bytes.
    #[error("the hash does not fit the line")]
    Hash,
    /// The line is longer than [`limits::RECORD_BYTES`].
    #[error("the line is over the limit")]
    Length,
    /// It does not follow the line before.
    #[error("it does not follow the line before it")]
    Prev,
    /// A number is missing or repeated.
    #[error("its number is {found}, {expected} was due")]
    Seq {
        /// The number that was due.
        expected: u64,
        /// The number that stood there.
        found: u64,
    },
    /// It is not a record.
    #[error("it is not a record")]
    Shape,
    /// A segment that is not the last ends in the middle of a line.
    #[error("the segment ends in the middle of a line")]
    Torn,
}

/// An unterminated last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TornTail {
    /// Name of the segment.
    pub segment: String,
    /// Line in that segment, from 1.
    pub line: u64,
    /// Where in the segment the unterminated line begins, bytes.
    pub offset: u64,
    /// How long it is, bytes.
    pub bytes: u64,
}

/// What a verifier found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whole records up to the failure or the end.
    pub records: u64,
    /// Number of the last whole record, 0 for an empty log.
    pub seq: u64,
    /// Hash of the last whole record, zeros for an empty log.
    pub head: Digest,
    /// The first thing that is wrong.
    pub failure: Option<Failure>,
    /// An unterminated last line; a log with one is whole.
    pub torn_tail: Option<TornTail>,
}

/// Checks a log, fed segment by segment and in pieces of any size.
#[derive(Clone, Debug)]
pub struct ChainVerifier {
    next: u64,
    prev: Digest,
    records: u64,
    segment: String,
    line: u64,
    offset: u64,
    partial: Vec<u8>,
    failure: Option<Failure>,
}

impl Default for ChainVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl ChainVerifier {
    /// A verifier at the start of a log.
    #[must_use]
    pub const fn new() -> Self {
        Self::after(0, Digest::ZERO)
    }

    /// A verifier that goes on after line `seq` with `hash`.
    #[must_use]
    pub const fn after(seq: u64, hash: Digest) -> Self {
        Self {
            next: seq.saturating_add(1),
            prev: hash,
            records: 0,
            segment: String::new(),
            line: 0,
            offset: 0,
            partial: Vec::new(),
            failure: None,
        }
    }

    /// Takes the next bytes of the segment called `name`. A new name begins a new segment.
    pub fn feed(&mut self, name: &str, bytes: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        if name != self.segment {
            if !self.partial.is_empty() {
                self.fail(FailureReason::Torn);
                return;
            }
            name.clone_into(&mut self.segment);
            self.line = 0;
            self.offset = 0;
        }
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let verdict = if self.partial.is_empty() {
                self.check(line)
            } else {
                self.partial.extend_from_slice(line);
                let whole = std::mem::take(&mut self.partial);
                self.check(&whole)
            };
            if let Err(reason) = verdict {
                self.fail(reason);
                return;
            }
        }
        if self.partial.len() + rest.len() > limits::RECORD_BYTES {
            self.fail(FailureReason::Length);
            return;
        }
        self.partial.extend_from_slice(rest);
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Report {
        let torn_tail = (self.failure.is_none() && !self.partial.is_empty()).then(|| TornTail {
            segment: self.segment.clone(),
            line: self.line + 1,
            offset: self.offset,
            bytes: u64::try_from(self.partial.len()).unwrap_or(u64::MAX),
        });
        Report {
            records: self.records,
            seq: self.next - 1,
            head: self.prev,
            failure: self.failure,
            torn_tail,
        }
    }

    fn fail(&mut self, reason: FailureReason) {
        self.partial.clear();
        self.failure = Some(Failure { segment: self.segment.clone(), line: self.line + 1, reason });
    }

    fn check(&mut self, line: &[u8]) -> Result<(), FailureReason> {
        if line.len() >= limits::RECORD_BYTES {
            return Err(FailureReason::Length);
        }
        let (seq, prev, hash, hashed) = parse(line).ok_or(FailureReason::Shape)?;
        if sha256(hashed) != hash {
            return Err(FailureReason::Hash);
        }
        if seq != self.next {
            return Err(FailureReason::Seq { expected: self.next, found: seq });
        }
        if prev != self.prev {
            return Err(FailureReason::Prev);
        }
        self.next = self.next.saturating_add(1);
        self.prev = hash;
        self.records += 1;
        self.line += 1;
        self.offset += u64::try_from(line.len() + 1).unwrap_or(u64::MAX);
        Ok(())
    }
}

/// `seq`, `prev`, `hash` and the hashed bytes of a line that has exactly the written form.
///
/// Read by position, not by a JSON reader: a line that a reader would take in two ways is not one we wrote. That the event is
/// JSON follows from the hash: whoever can make a fitting hash can write anything.
fn parse(line: &[u8]) -> Option<(u64, Digest, Digest, &[u8])> {
    let (hashed, tail) = line.split_at_checked(line.len().checked_sub(TAIL_BYTES)?)?;
    let hash = digest(tail.strip_prefix(b",\"hash\":\"")?.strip_suffix(b"\"}")?)?;
    let (seq, rest) = number(hashed.strip_prefix(b"{\"seq\":")?)?;
    let rest = rest.strip_prefix(b",\"at\":")?;
    let (_, rest) = number(rest.strip_prefix(b"-").unwrap_or(rest))?;
    let (prev, rest) = rest.strip_prefix(b",\"prev\":\"")?.split_at_checked(64)?;
    let event = rest.strip_prefix(b"\",\"event\":")?;
    (event.first() == Some(&b'{') && event.last() == Some(&b'}')).then_some((
        seq,
        digest(prev)?,
        hash,
        hashed,
    ))
}

fn digest(text: &[u8]) -> Option<Digest> {
    Digest::parse(std::str::from_utf8(text).ok()?).ok()
}

/// A canonical unsigned number and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    if number.len() > 1 && number.first() == Some(&b'0') {
        return None;
    }
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

#[cfg(test)]
mod tests;
