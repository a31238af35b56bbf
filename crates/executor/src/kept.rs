//! Asks that wait for a late answer: one small file each, found again by the identical call of the same session.
//!
//! A file says only which ask to look at; whether it was allowed is in the proof, so a forged file wins nothing.
//! While a hook waits on an ask it holds the file's lock, so that two equal calls at once never share one ask
//! (one signature would run both, and the second would find it already used).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use proto::{Digest, ItemId, Timestamp, sha256};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// A file is a few hundred bytes: an id, a time, a path and the agent's number of the call.
const FILE_BYTES: u64 = 16 * 1024;
/// A file older than this is removed, ms: an approval lives 24 h at most, and skew twice over is minutes.
const KEPT_MS: i64 = 25 * 60 * 60 * 1000;

/// The folder of kept asks.
#[derive(Clone, Debug)]
pub struct Kept {
    dir: PathBuf,
}

/// What makes two calls the same call, but for the folder they run in (which a finished call may have left).
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The row of the table of agents.
    pub agent: &'a str,
    /// The agent's session.
    pub session: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The exact input.
    pub input: &'a str,
}

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The ask.
    pub id: ItemId,
    /// When it was made.
    pub made: Timestamp,
    /// The real path the call runs in.
    pub cwd: String,
    /// The agent's number of the call; empty where it has none.
    pub call: String,
    /// Whether the agent's own dialog could answer it as well.
    pub dialog: bool,
}

/// A kept ask that nobody else can take up until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held {
    entry: Entry,
    path: PathBuf,
    _lock: File,
}

/// The folder of kept asks cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the ask cannot be kept for a late answer in `{path}`; see that the disk has room and the folder is yours"
)]
pub struct KeepError {
    path: PathBuf,
    source: io::Error,
}

impl Call<'_> {
    /// The beginning of the names of all files of this call.
    fn key(&self) -> Digest {
        let mut bytes = b"sealward/kept/v1\0".to_vec();
        for field in [self.agent, self.session, self.tool, self.input] {
            bytes.extend_from_slice(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            bytes.extend_from_slice(field.as_bytes());
        }
        sha256(&bytes)
    }
}

impl Kept {
    /// The folder `dir`; it is made at the first ask.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Takes up the oldest kept ask of this call in `cwd` on which no other process waits.
    ///
    /// # Errors
    /// [`KeepError`] where the folder cannot be read.
    pub fn take(&self, call: &Call<'_>, cwd: &str) -> Result<Option<Held>, KeepError> {
        let mut entries = self.of(call)?;
        entries.sort_by_key(|(entry, _)| entry.made);
        for (entry, path) in entries {
            if entry.cwd != cwd {
                continue;
            }
            if let Some(lock) = lock_free(&path).map_err(|source| KeepError { path: path.clone(), source })? {
                return Ok(Some(Held { entry, path, _lock: lock }));
            }
        }
        Ok(None)
    }

    /// Keeps a new ask. Called before the hub hears of it, so that a hook that is killed leaves its ask to be found.
    ///
    /// # Errors
    /// [`KeepError`] where the file cannot be written.
    pub fn keep(&self, call: &Call<'_>, entry: Entry) -> Result<Held, KeepError> {
        let failed = |path: &Path, source| KeepError { path: path.to_path_buf(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(|e| failed(&self.dir, e))?;
        self.forget_old(entry.made);
        let path = self.dir.join(format!("{}.{}", call.key(), entry.id));
        let text = serde_json::to_string(&entry).map_err(|e| failed(&path, e.into()))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| failed(&path, e))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| failed(&path, e.into()))?;
        file.write_all(text.as_bytes()).map_err(|e| failed(&path, e))?;
        Ok(Held { entry, path, _lock: file })
    }

    /// Takes out the asks that the end of this call leaves behind: those of the very same call, those its dialog
    /// could answer, and those on which nobody waits any more.
    ///
    /// # Errors
    /// [`KeepError`] where the folder cannot be read.
    pub fn ended(&self, call: &Call<'_>, number: &str) -> Result<Vec<ItemId>, KeepError> {
        let mut ended = Vec::new();
        for (entry, path) in self.of(call)? {
            let same = !number.is_empty() && entry.call == number;
            // A lock that cannot be asked for counts as held: somebody else's ask is left alone.
            if same || entry.dialog || lock_free(&path).is_ok_and(|lock| lock.is_some()) {
                fs::remove_file(&path).map_err(|source| KeepError { path, source })?;
                ended.push(entry.id);
            }
        }
        Ok(ended)
    }

    fn of(&self, call: &Call<'_>) -> Result<Vec<(Entry, PathBuf)>, KeepError> {
        let failed = |source| KeepError { path: self.dir.clone(), source };
        let listing = match fs::read_dir(&self.dir) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let key = call.key().to_string();
        let mut found = Vec::new();
        for file in listing {
            let file = file.map_err(failed)?;
            if file.file_name().to_string_lossy().starts_with(&key) {
                // A file that was removed meanwhile or holds something else is no ask of ours.
                found.extend(read(&file.path()).map(|entry| (entry, file.path())));
            }
        }
        Ok(found)
    }

    /// Best effort: a file that stays is looked at again with the next ask.
    fn forget_old(&self, now: Timestamp) {
        let Ok(listing) = fs::read_dir(&self.dir) else { return };
        for file in listing.flatten() {
            let old = match read(&file.path()) {
                Some(entry) => now.since(entry.made) > KEPT_MS,
                None => {
                    file.metadata().is_ok_and(|meta| now.as_millis() / 1000 - meta.mtime() > KEPT_MS / 1000)
                }
            };
            if old {
                drop(fs::remove_file(file.path()));
            }
        }
    }
}

impl Held {
    /// What is kept.
    #[must_use]
    pub const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The ask has its answer, or will never have one: nobody shall take it up again.
    ///
    /// # Errors
    /// [`KeepError`] where the file cannot be removed.
    pub fn forget(self) -> Result<(), KeepError> {
        match fs::remove_file(&self.path) {
            // The end of the call was seen by another process, which removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(KeepError { path: self.path, source }),
            Ok(()) => Ok(()),
        }
    }

    /// Leaves the ask to the next identical call.
    pub fn leave(self) {
        drop(self);
    }
}

fn read(path: &Path) -> Option<Entry> {
    let mut text = String::new();
    File::open(path).ok()?.take(FILE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The file, locked; `None` where another process holds it or removed it meanwhile.
fn lock_free(path: &Path) -> io::Result<Option<File>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok((file.metadata()?.nlink() > 0).then_some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
