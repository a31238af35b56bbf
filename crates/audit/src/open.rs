//! Opening a journal: the lock, the torn tail, and where the chain goes on. Writing is `journal`'s.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use proto::{
    Timestamp,
    audit::AuditEvent,
    chain::{ChainVerifier, ChainWriter, Failure, LineError, Record},
};
use rustix::fs::{FlockOperation, flock};

use crate::{
    disk::Disk,
    segment::{self, SegmentNumber},
};

/// Why a journal did not open. A broker that cannot open its journal does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log is damaged. Nothing is repaired by itself.
    #[error("the log is damaged: move the folder aside, keep it, and start a new one only when you know why")]
    Damaged(#[source] Failure),
    /// The disk failed.
    #[error("the log's folder cannot be used")]
    Disk(#[source] io::Error),
    /// Another broker has it.
    #[error("another broker is using this log: stop it first")]
    Locked,
    /// A segment is missing.
    #[error("segment `{0}` is missing from the log")]
    Missing(String),
    /// The record about a torn tail could not be made.
    #[error("the torn tail could not be recorded")]
    Warning(#[source] LineError),
}

/// What was found when a journal was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Number of the last record, 0 for an empty log.
    pub seq: u64,
    /// Where a torn tail was moved to.
    pub torn: Option<String>,
}

/// Where the next record goes.
pub(crate) struct Position {
    pub(crate) chain: ChainWriter,
    pub(crate) segment: Option<SegmentNumber>,
    pub(crate) length: u64,
}

/// Takes the folder's lock. It is held as long as the file is open.
pub(crate) fn lock(folder: &Path) -> Result<File, OpenError> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(folder.join("lock"))
        .map_err(OpenError::Disk)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::Locked),
        Err(errno) => Err(OpenError::Disk(errno.into())),
    }
}

/// Finds the end of the log, moving a torn tail aside and recording that.
///
/// Only the last segment is read whole: earlier ones were whole when it was begun, and `sealward audit verify` reads them all.
pub(crate) fn position(disk: &mut dyn Disk, now: Timestamp) -> Result<(Position, Opened), OpenError> {
    let names = disk.list().map_err(OpenError::Disk)?;
    let segments = segment::ordered(&names).map_err(|missing| OpenError::Missing(missing.name()))?;
    let Some(last) = segments.last().copied() else {
        let position = Position { chain: ChainWriter::new(), segment: None, length: 0 };
        return Ok((position, Opened { seq: 0, torn: None }));
    };
    let before = segments.iter().rev().nth(1).copied();
    let mut verifier = match before {
        Some(before) => {
            let name = before.name();
            let bytes = disk.read(&name).map_err(OpenError::Disk)?.unwrap_or_default();
            after_segment(&name, &bytes)?
        }
        None => ChainVerifier::new(),
    };
    let name = last.name();
    let bytes = disk.read(&name).map_err(OpenError::Disk)?.unwrap_or_default();
    verifier.feed(&name, &bytes);
    let report = verifier.finish();
    if let Some(failure) = report.failure {
        return Err(OpenError::Damaged(failure));
    }
    let mut position = Position {
        chain: ChainWriter::after(report.seq, report.head),
        segment: Some(last),
        length: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
    };
    let mut opened = Opened { seq: report.seq, torn: None };
    if let Some(tail) = report.torn_tail {
        let torn = keep_tail(disk, &names, &name, bytes_from(&bytes, tail.offset))?;
        disk.truncate(&name, tail.offset).map_err(OpenError::Disk)?;
        position.length = tail.offset;
        let text = format!("{} bytes of an unfinished record in {name} were moved to {torn}", tail.bytes);
        let line = position.chain.append(now, &AuditEvent::Warning { text }).map_err(OpenError::Warning)?;
        let written = line.text + "\n";
        disk.append(&name, written.as_bytes()).map_err(OpenError::Disk)?;
        disk.sync(&name).map_err(OpenError::Disk)?;
        position.length = position.length.saturating_add(u64::try_from(written.len()).unwrap_or(u64::MAX));
        opened = Opened { seq: line.seq, torn: Some(torn) };
    }
    Ok((position, opened))
}

/// A verifier that stands after the last line of a whole segment.
fn after_segment(name: &str, bytes: &[u8]) -> Result<ChainVerifier, OpenError> {
    let shape = |line| {
        OpenError::Damaged(Failure {
            segment: name.to_owned(),
            line,
            reason: proto::chain::FailureReason::Shape,
        })
    };
    let whole = bytes.strip_suffix(b"\n").ok_or_else(|| shape(1))?;
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let record: Record = serde_json::from_slice(line).map_err(|_| shape(1))?;
    Ok(ChainVerifier::after(record.seq, record.hash))
}

fn bytes_from(bytes: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default()
}

/// Keeps the bytes of a torn tail beside the log; nothing that was written is thrown away.
fn keep_tail(disk: &mut dyn Disk, names: &[String], segment: &str, tail: &[u8]) -> Result<String, OpenError> {
    let mut torn = format!("{segment}.torn");
    let mut count = 1_u32;
    while names.contains(&torn) {
        count = count.saturating_add(1);
        torn = format!("{segment}.{count}.torn");
    }
    disk.create(&torn).map_err(OpenError::Disk)?;
    disk.append(&torn, tail).map_err(OpenError::Disk)?;
    disk.sync(&torn).map_err(OpenError::Disk)?;
    Ok(torn)
}
