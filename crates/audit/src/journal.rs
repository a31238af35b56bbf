//! Writing: one thread takes what waits, writes it, makes one flush, and tells everybody. Opening and reading are elsewhere.
//!
//! Group commit: while a flush runs, callers queue; the next flush covers them all. A failed flush is final, because the kernel
//! may have dropped what it could not write and a second flush would lie. From then on nothing is granted.

use std::{
    fmt,
    fs::File,
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread::{self, JoinHandle},
};

use proto::{
    Digest, Timestamp,
    audit::AuditEvent,
    chain::{ChainWriter, LineError},
    limits,
};
use serde_json::value::RawValue;

use crate::{
    disk::{Disk, FolderDisk},
    open::{self, OpenError, Opened, Position},
    segment::SegmentNumber,
};

/// Records that may wait for the disk: far above what a broker lets wait at once.
const QUEUE_RECORDS: usize = 4096;
/// Bytes of one group: a write that a disk takes in one go, and four of the largest records.
const GROUP_BYTES: usize = 4 * limits::RECORD_BYTES;
/// Free space under which nothing is granted any more, bytes.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// Space kept for the record that says the disk is full, bytes.
const RESERVE_BYTES: usize = 64 * 1024;
/// The file that keeps it.
const RESERVE: &str = "reserve";
/// Free space is asked for once per this many groups; with 8 MiB at most in each, that is 128 MiB, half of the minimum.
const GROUPS_PER_LOOK: u32 = 16;

/// How durable a record is before its caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// `fdatasync` before the answer.
    Flush,
    /// Handed to the kernel. For tests and benchmarks only.
    None,
}

/// How a journal works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How durable a record is before its caller is told.
    pub durability: Durability,
    /// A new segment begins after this many bytes.
    pub segment_bytes: u64,
    /// Free space under which nothing is granted, bytes.
    pub free_bytes_min: u64,
}

impl Options {
    /// The contract's numbers.
    #[must_use]
    pub const fn new(durability: Durability) -> Self {
        Self { durability, segment_bytes: limits::SEGMENT_BYTES, free_bytes_min: FREE_BYTES_MIN }
    }
}

/// The record is durable. Only the journal makes one; acting on a decision spends it.
#[derive(Debug)]
#[must_use]
pub struct Receipt {
    seq: u64,
    hash: Digest,
}

impl Receipt {
    /// Number of the record.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Hash of the record.
    #[must_use]
    pub const fn hash(&self) -> Digest {
        self.hash
    }
}

/// Why a record was not written. The call it belongs to must be denied.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// Too many records wait.
    #[error("too many records wait for the disk")]
    Busy,
    /// The disk failed, now or earlier. The journal takes nothing more: restart the broker after mending the disk.
    #[error("the log's disk failed; nothing is granted until it is mended and the broker restarted")]
    Failed(#[source] Arc<io::Error>),
    /// Too little space is left.
    #[error("under {min} bytes are free on the log's disk; nothing is granted until there is room")]
    Full {
        /// The minimum, bytes.
        min: u64,
    },
    /// The record cannot be made.
    #[error("the record cannot be written")]
    Record(#[source] Arc<LineError>),
    /// The journal was closed.
    #[error("the log is closed")]
    Closed,
}

type Told = Box<dyn FnOnce(Result<Receipt, AppendError>) + Send>;

struct Waiting {
    at: Timestamp,
    event: Box<RawValue>,
    told: Told,
}

/// The journal of one broker. Dropping it writes what waits and ends its thread.
pub struct Journal {
    queue: Option<SyncSender<Waiting>>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<Mutex<Option<AppendError>>>,
    _lock: Option<File>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("failed", &self.failure()).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal in `folder`, made where it is missing. A torn tail is moved aside and a warning recorded at `now`.
    ///
    /// # Errors
    /// [`OpenError`]; the broker then does not start.
    pub fn open(folder: &Path, options: Options, now: Timestamp) -> Result<(Self, Opened), OpenError> {
        let disk = FolderDisk::new(folder).map_err(OpenError::Disk)?;
        let lock = open::lock(folder)?;
        let (mut journal, opened) = Self::on(Box::new(disk), options, now)?;
        journal._lock = Some(lock);
        Ok((journal, opened))
    }

    /// Opens the journal on any disk, without a lock.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn on(
        mut disk: Box<dyn Disk>,
        options: Options,
        now: Timestamp,
    ) -> Result<(Self, Opened), OpenError> {
        let (position, opened) = open::position(disk.as_mut(), now)?;
        let failed = Arc::new(Mutex::new(None));
        let (queue, waiting) = mpsc::sync_channel(QUEUE_RECORDS);
        let writer = Writer {
            disk,
            options,
            chain: position.chain.clone(),
            position,
            failed: Arc::clone(&failed),
            groups: 0,
        };
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&waiting))
            .map_err(OpenError::Disk)?;
        Ok((Self { queue: Some(queue), thread: Some(thread), failed, _lock: None }, opened))
    }

    /// Records `event`; `told` hears the outcome on the journal's thread and must not block.
    pub fn append_then<F>(&self, at: Timestamp, event: &AuditEvent, told: F)
    where
        F: FnOnce(Result<Receipt, AppendError>) + Send + 'static,
    {
        let text = serde_json::to_string(event).and_then(RawValue::from_string);
        let event = match text {
            Ok(event) => event,
            Err(error) => return told(Err(AppendError::Record(Arc::new(LineError::Event(error))))),
        };
        let Some(queue) = &self.queue else { return told(Err(AppendError::Closed)) };
        match queue.try_send(Waiting { at, event, told: Box::new(told) }) {
            Ok(()) => {}
            Err(TrySendError::Full(waiting)) => (waiting.told)(Err(AppendError::Busy)),
            Err(TrySendError::Disconnected(waiting)) => (waiting.told)(Err(AppendError::Closed)),
        }
    }

    /// Records `event` and waits for the outcome.
    ///
    /// # Errors
    /// [`AppendError`]; what the record announces must then not happen.
    pub fn append(&self, at: Timestamp, event: &AuditEvent) -> Result<Receipt, AppendError> {
        let (tell, told) = mpsc::sync_channel(1);
        self.append_then(at, event, move |outcome| drop(tell.send(outcome)));
        told.recv().unwrap_or(Err(AppendError::Closed))
    }

    /// Why nothing is granted any more, where that is so.
    #[must_use]
    pub fn failure(&self) -> Option<AppendError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the journal's thread was already an error to everybody who waited.
            drop(thread.join());
        }
    }
}

struct Writer {
    disk: Box<dyn Disk>,
    options: Options,
    chain: ChainWriter,
    position: Position,
    failed: Arc<Mutex<Option<AppendError>>>,
    groups: u32,
}

impl Writer {
    fn run(mut self, waiting: &Receiver<Waiting>) {
        while let Ok(first) = waiting.recv() {
            if let Some(error) = self.failure() {
                (first.told)(Err(error));
                continue;
            }
            self.commit(first, waiting);
        }
    }

    /// Writes one group with one flush and tells everybody in it.
    fn commit(&mut self, first: Waiting, waiting: &Receiver<Waiting>) {
        let room = self.look_at_room(first.at);
        let mut bytes = Vec::new();
        let mut told: Vec<(Told, Receipt)> = Vec::new();
        let mut next = Some(first);
        while let Some(record) = next.take() {
            match &room {
                Ok(()) => match self.chain.append(record.at, &record.event) {
                    Ok(line) => {
                        bytes.extend_from_slice(line.text.as_bytes());
                        bytes.push(b'\n');
                        told.push((record.told, Receipt { seq: line.seq, hash: line.hash }));
                    }
                    Err(error) => (record.told)(Err(AppendError::Record(Arc::new(error)))),
                },
                Err(error) => (record.told)(Err(error.clone())),
            }
            if bytes.len() < GROUP_BYTES {
                next = waiting.try_recv().ok();
            }
        }
        match self.write(&bytes) {
            Ok(()) => told.into_iter().for_each(|(tell, receipt)| tell(Ok(receipt))),
            Err(error) => {
                let error = AppendError::Failed(Arc::new(error));
                self.fail(error.clone());
                told.into_iter().for_each(|(tell, _receipt)| tell(Err(error.clone())));
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let segment = match self.position.segment {
            Some(segment) if self.position.length < self.options.segment_bytes => segment,
            full_or_none => self.begin(full_or_none.map_or(SegmentNumber::FIRST, SegmentNumber::next))?,
        };
        let name = segment.name();
        self.disk.append(&name, bytes)?;
        self.position.length =
            self.position.length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        match self.options.durability {
            Durability::Flush => self.disk.sync(&name),
            Durability::None => Ok(()),
        }
    }

    fn begin(&mut self, segment: SegmentNumber) -> io::Result<SegmentNumber> {
        self.disk.create(&segment.name())?;
        self.position.segment = Some(segment);
        self.position.length = 0;
        Ok(segment)
    }

    /// Refuses when space runs out, after recording that with the space kept for it.
    fn look_at_room(&mut self, at: Timestamp) -> Result<(), AppendError> {
        let due = self.groups.is_multiple_of(GROUPS_PER_LOOK);
        self.groups = self.groups.wrapping_add(1);
        if !due {
            return Ok(());
        }
        let min = self.options.free_bytes_min;
        let outcome = self.disk.free().and_then(|free| {
            if free >= min {
                return self.keep_reserve().map(|()| true);
            }
            self.disk.remove(RESERVE)?;
            let text = format!("under {min} bytes are free: nothing is granted until there is room");
            let warning = AuditEvent::Warning { text };
            let mut chain = self.chain.clone();
            let line = chain.append(at, &warning).map_err(io::Error::other)?;
            self.write((line.text + "\n").as_bytes())?;
            self.chain = chain;
            Ok(false)
        });
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => {
                let error = AppendError::Full { min };
                self.fail(error.clone());
                Err(error)
            }
            Err(error) => {
                let error = AppendError::Failed(Arc::new(error));
                self.fail(error.clone());
                Err(error)
            }
        }
    }

    fn keep_reserve(&mut self) -> io::Result<()> {
        if self.disk.read(RESERVE)?.is_some() {
            return Ok(());
        }
        self.disk.create(RESERVE)?;
        self.disk.append(RESERVE, &vec![0; RESERVE_BYTES])?;
        self.disk.sync(RESERVE)
    }

    fn failure(&self) -> Option<AppendError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, error: AppendError) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

#[cfg(test)]
mod tests;
