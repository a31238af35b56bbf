//! Writing `approvers.json`: whole, by rename, synced, readable by its owner alone, one writer at a time.
//!
//! Acts at the owner's own terminal come through here, and proofs through `trust`. Reading is `pins`'.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use proto::api::PinEntry;
use proto::{Kind, limits};
use rustix::fs::FlockOperation;
use serde::Serialize;

use crate::pins::{Approvers, BadEntry, BadPins, check_entry, read_owner_only};

/// Why a pin file was not changed; it is then as it was before.
#[derive(Debug, thiserror::Error)]
pub enum PinFileError {
    /// What is there cannot be used.
    #[error(transparent)]
    Bad(#[from] BadPins),
    /// There is no file yet.
    #[error("there is no pin file `{}`; make it with `sealward approvers pin`", path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// The key must not be pinned.
    #[error("the key must not be pinned: {0}")]
    Entry(#[from] BadEntry),
    /// Another key stands under that id.
    #[error("another key is pinned under the id `{0}`; revoke it first")]
    OtherKey(String),
    /// The id was revoked, and revoked is for ever.
    #[error("the key `{0}` was revoked; enrol a new one")]
    Revoked(String),
    /// The file would grow past its limit.
    #[error("the pin file would grow past {} bytes; remove keys that lapsed", limits::PIN_FILE_BYTES)]
    TooLarge,
    /// The system refused.
    #[error("cannot write the pin file `{}`", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What an act did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Change {
    /// The file was written.
    Written,
    /// The file said so already.
    AlreadyThere,
}

/// Makes the file if there is none, and makes it name `executor`.
///
/// # Errors
/// [`PinFileError`]; the file is then as it was.
pub fn add_executor(path: &Path, executor: &str) -> Result<Change, PinFileError> {
    edit(path, Missing::Make, |file| {
        if file.executor.iter().any(|named| named == executor) {
            return Ok(Change::AlreadyThere);
        }
        file.executor.push(executor.to_owned());
        Ok(Change::Written)
    })
}

/// Pins a key, after [`check_entry`].
///
/// # Errors
/// [`PinFileError`]; the file is then as it was.
pub fn add_key(path: &Path, entry: &PinEntry) -> Result<Change, PinFileError> {
    check_entry(entry)?;
    edit(path, Missing::Refuse, |file| {
        if file.revoked.contains(&entry.id) {
            return Err(PinFileError::Revoked(entry.id.clone()));
        }
        match file.keys.iter().find(|pinned| pinned.id == entry.id) {
            None => {
                file.keys.push(entry.clone());
                Ok(Change::Written)
            }
            Some(pinned) if is_same_key(pinned, entry) => Ok(Change::AlreadyThere),
            Some(_) => Err(PinFileError::OtherKey(entry.id.clone())),
        }
    })
}

/// Revokes a key, rule or delegation by its id, for ever. The key's entry stays, so that it is known whose it was.
///
/// # Errors
/// [`PinFileError`]; the file is then as it was.
pub fn revoke(path: &Path, id: &str) -> Result<Change, PinFileError> {
    edit(path, Missing::Refuse, |file| {
        if file.revoked.iter().any(|revoked| revoked == id) {
            return Ok(Change::AlreadyThere);
        }
        file.revoked.push(id.to_owned());
        Ok(Change::Written)
    })
}

/// Sets how many persons a kind needs; 1 takes the member out.
///
/// # Errors
/// [`PinFileError`]; the file is then as it was.
pub fn set_quorum(path: &Path, kind: Kind, persons: u32) -> Result<Change, PinFileError> {
    edit(path, Missing::Refuse, |file| {
        let before = file.quorum.get(&kind).copied().unwrap_or(1);
        if before == persons.max(1) {
            return Ok(Change::AlreadyThere);
        }
        if persons <= 1 {
            file.quorum.remove(&kind);
        } else {
            file.quorum.insert(kind, persons);
        }
        Ok(Change::Written)
    })
}

/// Whether two entries are the same key for the same use; label, person and dates are the file's own.
fn is_same_key(one: &PinEntry, other: &PinEntry) -> bool {
    (one.alg, &one.spki, &one.rp_id, &one.origins) == (other.alg, &other.spki, &other.rp_id, &other.origins)
}

/// The file as written.
#[derive(Serialize)]
struct PinFile {
    v: u32,
    executor: Vec<String>,
    quorum: std::collections::BTreeMap<Kind, u32>,
    keys: Vec<PinEntry>,
    revoked: Vec<String>,
}

impl PinFile {
    fn from(approvers: &Approvers) -> Self {
        Self {
            v: 1,
            executor: approvers.executors().map(str::to_owned).collect(),
            quorum: Kind::ALL
                .into_iter()
                .map(|kind| (kind, approvers.quorum(kind)))
                .filter(|(_, n)| *n > 1)
                .collect(),
            keys: approvers.keys().iter().map(|pinned| pinned.entry().clone()).collect(),
            revoked: approvers.revoked().map(str::to_owned).collect(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// Reads, changes and writes the file while no other writer does.
fn edit(
    path: &Path,
    missing: Missing,
    change: impl FnOnce(&mut PinFile) -> Result<Change, PinFileError>,
) -> Result<Change, PinFileError> {
    let cannot = |source| PinFileError::Write { path: path.to_owned(), source };
    let _lock = lock(path).map_err(cannot)?;
    let approvers = match read_owner_only(path)? {
        Some(bytes) => Approvers::parse(&bytes)?,
        None if missing == Missing::Make => Approvers::none(),
        None => return Err(PinFileError::Missing { path: path.to_owned() }),
    };
    let mut file = PinFile::from(&approvers);
    let done = change(&mut file)?;
    match done {
        Change::AlreadyThere => {}
        Change::Written => {
            let mut text = serde_json::to_string_pretty(&file).map_err(|e| cannot(e.into()))?;
            text.push('\n');
            if text.len() > limits::PIN_FILE_BYTES {
                return Err(PinFileError::TooLarge);
            }
            replace(path, text.as_bytes()).map_err(cannot)?;
        }
    }
    Ok(done)
}

/// Held while a writer is at it. A file of its own, because the pin file itself is replaced.
fn lock(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(beside(path, "lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = beside(path, "new");
    // A crash may have left one; the lock says that nobody writes it now.
    match fs::remove_file(&draft) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}
