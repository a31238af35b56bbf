//! A conversation on disk: one append-only file of rollout lines, one writer, healed when it opens. What is said in it is `turn`'s.
//!
//! Lines are `{"timestamp","type","payload"}` of type `session_meta`, `response_item`, `event_msg` or `compacted`; a line of any
//! other type, or with members we do not know, stays where it is and means nothing. An unterminated last line is a torn tail: it is
//! moved to a file beside. A call without a result gets one that says so.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use model::Cancel;
use proto::SessionId;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{
    baseline::Baseline,
    clock,
    history::{self, Entry},
};

/// Bytes of a session file that are read: a thousand of the largest results.
const FILE_BYTES: u64 = 256 * 1024 * 1024;
/// What stands where a call's result was lost.
pub(crate) const INTERRUPTED: &str =
    "Interrupted: whether this call ran is not known. Look before you repeat it.";

/// An open session. It is locked while this lives.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    path: PathBuf,
    file: File,
    baseline: Baseline,
    slot: u32,
    entries: Vec<Entry>,
    cancel: Cancel,
}

/// Why a session could not be made, opened or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A line in the middle does not parse.
    #[error(
        "line {line} of `{path}` is damaged: keep the file, and start a new session or fork an older one"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The disk failed.
    #[error("the session file `{path}` cannot be used")]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is one already.
    #[error("session `{0}` exists already")]
    Exists(String),
    /// Another loop has it open.
    #[error("session `{0}` is open in another loop")]
    Locked(String),
    /// Its first line is not a session's.
    #[error("`{0}` is no session file")]
    NoMeta(PathBuf),
    /// It is over the limit.
    #[error("`{0}` is over the limit of a session file: fork it")]
    TooLarge(PathBuf),
    /// There is none.
    #[error("there is no session `{0}`")]
    Unknown(String),
}

#[derive(Deserialize, Serialize)]
struct Line {
    timestamp: String,
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    base_instructions: Option<Value>,
    #[serde(default)]
    tools: Option<Box<RawValue>>,
    #[serde(default)]
    slot: u32,
}

impl Session {
    /// Makes a session in `dir`, which is made where it is missing.
    ///
    /// # Errors
    /// [`SessionError::Exists`] and [`SessionError::Disk`].
    pub fn create(dir: &Path, id: SessionId, baseline: Baseline, slot: u32) -> Result<Self, SessionError> {
        Self::begin(dir, id, baseline, slot, None)
    }

    fn begin(
        dir: &Path,
        id: SessionId,
        baseline: Baseline,
        slot: u32,
        forked_from: Option<&SessionId>,
    ) -> Result<Self, SessionError> {
        let path = file_path(dir, &id);
        let disk = |source| SessionError::Disk { path: path.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(disk)?;
        let file = match OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(SessionError::Exists(id.as_str().to_owned()));
            }
            Err(error) => return Err(disk(error)),
        };
        lock(&file, &id, &path)?;
        let mut meta = json!({
            "id": id.as_str(),
            "originator": "sealward",
            "cli_version": env!("CARGO_PKG_VERSION"),
            "base_instructions": { "text": baseline.system() },
            "baseline": baseline.digest().to_string(),
            "slot": slot,
        });
        if let (Some(meta), Some(forked_from)) = (meta.as_object_mut(), forked_from) {
            meta.insert("forked_from_id".to_owned(), json!(forked_from.as_str()));
        }
        let mut session =
            Self { id, path: path.clone(), file, baseline, slot, entries: Vec::new(), cancel: Cancel::new() };
        session.write_meta(&meta)?;
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(|source| SessionError::Disk { path, source })?;
        Ok(session)
    }

    /// The first line. The tools stand in it byte for byte, because they are part of every request.
    fn write_meta(&mut self, meta: &Value) -> Result<(), SessionError> {
        let meta = meta.to_string();
        let members = meta.strip_suffix('}').unwrap_or(&meta);
        let line = format!(
            "{{\"timestamp\":\"{}\",\"type\":\"session_meta\",\"payload\":{members},\"tools\":{}}}}}\n",
            clock::rfc3339(clock::now()),
            self.baseline.tools()
        );
        self.append(line.as_bytes())
    }

    /// Opens a session: a torn tail is moved aside, and calls without a result get one.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(dir: &Path, id: SessionId) -> Result<Self, SessionError> {
        let path = file_path(dir, &id);
        let file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SessionError::Unknown(id.as_str().to_owned()));
            }
            Err(source) => return Err(SessionError::Disk { path, source }),
        };
        lock(&file, &id, &path)?;
        let disk = |source| SessionError::Disk { path: path.clone(), source };
        if file.metadata().map_err(disk)?.len() > FILE_BYTES {
            return Err(SessionError::TooLarge(path));
        }
        let text = fs::read(&path).map_err(disk)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, torn) = text.split_at(whole);
        if !torn.is_empty() {
            keep_tail(&path, torn).map_err(disk)?;
            file.set_len(u64::try_from(whole).unwrap_or(0)).and_then(|()| file.sync_all()).map_err(disk)?;
        }
        let (meta, entries) = read(&path, lines)?;
        let system = meta.base_instructions.as_ref().map_or("", |text| {
            text.as_str().or_else(|| text.get("text").and_then(Value::as_str)).unwrap_or("")
        });
        let tools = meta.tools.as_ref().map_or("[]", |tools| tools.get());
        let baseline = Baseline::from_parts(system.to_owned(), tools.to_owned());
        let mut session = Self { id, path, file, baseline, slot: meta.slot, entries, cancel: Cancel::new() };
        session.heal()?;
        Ok(session)
    }

    /// Begins a new session with everything that was said in this one.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn fork(&self, dir: &Path, id: SessionId) -> Result<Self, SessionError> {
        let mut fork = Self::begin(dir, id, self.baseline.clone(), self.slot, Some(&self.id))?;
        fork.record(self.entries.clone())?;
        Ok(fork)
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its frozen beginning.
    #[must_use]
    pub const fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The model server's slot it is pinned to.
    #[must_use]
    pub const fn slot(&self) -> u32 {
        self.slot
    }

    /// Cancels the turn that runs in it.
    #[must_use]
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// A new turn is not cancelled because the one before was.
    pub(crate) fn begin_turn(&mut self) -> Cancel {
        if self.cancel.is_cancelled() {
            self.cancel = Cancel::new();
        }
        self.cancel.clone()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Appends what was said. It is durable when this returns.
    pub(crate) fn record(&mut self, entries: Vec<Entry>) -> Result<(), SessionError> {
        let mut text = String::new();
        for entry in &entries {
            text.push_str(&line("response_item", &entry.to_payload()));
        }
        self.append(text.as_bytes())?;
        self.entries.extend(entries);
        Ok(())
    }

    /// Leaves out the first `dropped` entries from now on, with a note in their place. The file keeps them.
    pub(crate) fn compact(&mut self, dropped: usize, note: String) -> Result<(), SessionError> {
        let payload = json!({ "message": note, "dropped": dropped });
        self.append(line("compacted", &payload).as_bytes())?;
        compact(&mut self.entries, dropped, note);
        Ok(())
    }

    fn heal(&mut self) -> Result<(), SessionError> {
        let lost = history::dangling(&self.entries);
        if lost.is_empty() {
            return Ok(());
        }
        let outputs = lost.into_iter().map(|call| Entry::Output { call, text: INTERRUPTED.to_owned() });
        self.record(outputs.collect())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        let outcome = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        outcome.map_err(|source| SessionError::Disk { path: self.path.clone(), source })
    }
}

/// Ids of the sessions in `dir`, in order.
///
/// # Errors
/// [`SessionError::Disk`]; a folder that is not there holds none.
pub fn list(dir: &Path) -> Result<Vec<SessionId>, SessionError> {
    let disk = |source| SessionError::Disk { path: dir.to_owned(), source };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(disk(source)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(disk)?.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("rollout-")?.strip_suffix(".jsonl"));
        ids.extend(id.and_then(|id| SessionId::new(id).ok()));
    }
    ids.sort();
    Ok(ids)
}

fn file_path(dir: &Path, id: &SessionId) -> PathBuf {
    dir.join(format!("rollout-{}.jsonl", id.as_str()))
}

fn lock(file: &File, id: &SessionId, path: &Path) -> Result<(), SessionError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(SessionError::Locked(id.as_str().to_owned())),
        Err(errno) => Err(SessionError::Disk { path: path.to_owned(), source: errno.into() }),
    }
}

fn line(kind: &str, payload: &Value) -> String {
    let timestamp = clock::rfc3339(clock::now());
    json!({ "timestamp": timestamp, "type": kind, "payload": payload }).to_string() + "\n"
}

fn keep_tail(path: &Path, torn: &[u8]) -> io::Result<()> {
    let mut count = 1_u32;
    loop {
        let aside = path.with_extension(format!("{count}.torn"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside) {
            Ok(mut file) => return file.write_all(torn).and_then(|()| file.sync_all()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => count = count.saturating_add(1),
            Err(error) => return Err(error),
        }
    }
}

fn read(path: &Path, text: &[u8]) -> Result<(Meta, Vec<Entry>), SessionError> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    let no_meta = || SessionError::NoMeta(path.to_owned());
    let (_, first) = lines.next().ok_or_else(no_meta)?;
    let meta = meta(first).ok_or_else(no_meta)?;
    let mut entries = Vec::new();
    for (at, text) in lines {
        let damaged = || SessionError::Damaged { path: path.to_owned(), line: at + 1 };
        let line: Line = serde_json::from_slice(text).map_err(|_| damaged())?;
        match line.kind.as_str() {
            "response_item" => entries.extend(Entry::from_payload(&line.payload)),
            "compacted" => {
                let dropped = line.payload.get("dropped").and_then(Value::as_u64).unwrap_or(u64::MAX);
                let note = line.payload.get("message").and_then(Value::as_str).unwrap_or_default();
                compact(&mut entries, usize::try_from(dropped).unwrap_or(usize::MAX), note.to_owned());
            }
            _ => {}
        }
    }
    Ok((meta, entries))
}

/// The first line, read so that the tools keep their bytes.
fn meta(line: &[u8]) -> Option<Meta> {
    #[derive(Deserialize)]
    struct MetaLine {
        #[serde(rename = "type")]
        kind: String,
        payload: Box<RawValue>,
    }
    let line: MetaLine = serde_json::from_slice(line).ok()?;
    (line.kind == "session_meta").then(|| serde_json::from_str(line.payload.get()).ok())?
}

fn compact(entries: &mut Vec<Entry>, dropped: usize, note: String) {
    entries.drain(..dropped.min(entries.len()));
    entries.insert(0, Entry::Note(note));
}

#[cfg(test)]
mod tests;
