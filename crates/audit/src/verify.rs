//! Checking a whole log offline, many segments at once. Nothing is written and no lock is taken, so it runs beside a broker.
//!
//! Each segment is checked alone, from what its first line claims to follow; afterwards the claims are held against the ends of
//! the segments before. The first damage in the order of the log is the one reported, as if it had been read from front to end.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use proto::{
    Digest,
    chain::{ChainVerifier, Failure, FailureReason, Report},
};
use serde::Serialize;

use crate::segment::{self, SegmentNumber};

/// Bytes read at once: large enough that reading costs nothing beside hashing.
const PIECE_BYTES: usize = 1024 * 1024;
/// Where the digits of a first line are looked for: `{"seq":`, 20 digits, `,"at":`, 20 digits, `,"prev":"`, 64 digits.
const HEAD_BYTES: usize = 160;

/// What was found in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// Segments that were read.
    pub segments: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What the chain says.
    #[serde(flatten)]
    pub report: Report,
}

/// Why a log could not be checked at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It cannot be read.
    #[error("the log cannot be read")]
    Read(#[source] io::Error),
    /// A segment is missing.
    #[error("segment `{0}` is missing")]
    Missing(String),
}

/// Checks the log in `folder` with up to `threads` threads.
///
/// # Errors
/// [`VerifyError`] where there is nothing to judge. Damage is no error: it stands in the report.
pub fn verify(folder: &Path, threads: usize) -> Result<LogReport, VerifyError> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .map_err(VerifyError::Read)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let segments = segment::ordered(&names).map_err(|missing| VerifyError::Missing(missing.name()))?;
    let found = read_all(folder, &segments, threads.max(1)).map_err(VerifyError::Read)?;
    Ok(join(&segments, found))
}

/// What one segment says of itself.
struct Part {
    claimed_seq: u64,
    claimed_prev: Digest,
    bytes: u64,
    report: Report,
}

fn read_all(folder: &Path, segments: &[SegmentNumber], threads: usize) -> io::Result<BTreeMap<usize, Part>> {
    let next = AtomicUsize::new(0);
    let parts = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(segments.len()))
            .map(|_| {
                scope.spawn(|| -> io::Result<()> {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(segment) = segments.get(index) else { return Ok(()) };
                        let part = read_segment(folder, *segment)?;
                        parts.lock().unwrap_or_else(PoisonError::into_inner).insert(index, part);
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(io::Error::other("a reading thread died")))
        })
    })?;
    Ok(parts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn read_segment(folder: &Path, segment: SegmentNumber) -> io::Result<Part> {
    let name = segment.name();
    let mut file = File::open(folder.join(&name))?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut filled = read_full(&mut file, &mut piece)?;
    let head = piece.get(..filled.min(HEAD_BYTES)).unwrap_or_default();
    let (seq, prev) = claim(head).unwrap_or((1, Digest::ZERO));
    let mut verifier = ChainVerifier::after(seq.saturating_sub(1), prev);
    let mut bytes = 0_u64;
    while filled > 0 {
        verifier.feed(&name, piece.get(..filled).unwrap_or_default());
        bytes = bytes.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        filled = read_full(&mut file, &mut piece)?;
    }
    Ok(Part { claimed_seq: seq, claimed_prev: prev, bytes, report: verifier.finish() })
}

fn read_full(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = piece.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Number and `prev` that the first line claims. A wrong claim is found when the line is checked or the parts are joined.
fn claim(head: &[u8]) -> Option<(u64, Digest)> {
    let text = std::str::from_utf8(head).ok().or_else(|| {
        // The cut may fall inside a letter of the event, which comes after all that is wanted here.
        std::str::from_utf8(head.get(..HEAD_BYTES.saturating_sub(3))?).ok()
    })?;
    let (seq, rest) = text.strip_prefix("{\"seq\":")?.split_once(',')?;
    let (_, rest) = rest.split_once("\"prev\":\"")?;
    Some((seq.parse().ok()?, Digest::parse(rest.get(..64)?).ok()?))
}

fn join(segments: &[SegmentNumber], parts: BTreeMap<usize, Part>) -> LogReport {
    let mut whole = LogReport {
        segments: 0,
        bytes: 0,
        report: Report { records: 0, seq: 0, head: Digest::ZERO, failure: None, torn_tail: None },
    };
    for (segment, part) in segments.iter().zip(parts.into_values()) {
        whole.segments += 1;
        whole.bytes = whole.bytes.saturating_add(part.bytes);
        if whole.report.failure.is_some() {
            continue;
        }
        let fail = |segment: &str, line, reason| Failure { segment: segment.to_owned(), line, reason };
        let name = segment.name();
        if let Some(torn) = whole.report.torn_tail.take() {
            whole.report.failure = Some(fail(&torn.segment, torn.line, FailureReason::Torn));
            continue;
        }
        let due = whole.report.seq.saturating_add(1);
        let damaged_first = part.report.failure.as_ref().is_some_and(|failure| failure.line == 1);
        if part.bytes > 0 && !damaged_first && part.report.records > 0 {
            if part.claimed_seq != due {
                let reason = FailureReason::Seq { expected: due, found: part.claimed_seq };
                whole.report.failure = Some(fail(&name, 1, reason));
                continue;
            }
            if part.claimed_prev != whole.report.head {
                whole.report.failure = Some(fail(&name, 1, FailureReason::Prev));
                continue;
            }
        }
        whole.report.records += part.report.records;
        if part.report.records > 0 {
            whole.report.seq = part.report.seq;
            whole.report.head = part.report.head;
        }
        whole.report.failure = part.report.failure;
        whole.report.torn_tail = part.report.torn_tail;
    }
    whole
}

#[cfg(test)]
mod tests;
