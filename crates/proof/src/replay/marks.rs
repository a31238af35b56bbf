//! The store's two marks, `birth` and `highest`: made once, whole, by whoever comes first; read at every claim.
//!
//! A mark is 20 digits and a line end, so that `highest` can be raised in place. Not here: what they are compared with.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::Timestamp;
use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::{ClaimKey, StoreError};

pub(super) const BIRTH: &str = "birth";
pub(super) const HIGHEST: &str = "highest";
const MARK_BYTES: usize = 21;

/// Makes folder and marks, where there are none. `birth` comes last: with it the store exists.
pub(super) fn create(path: &Path, birth: Timestamp) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(io(e)),
    }
    if path.join(BIRTH).exists() {
        return Ok(());
    }
    let remains = fs::read_dir(path)
        .map_err(io)?
        .any(|entry| entry.is_ok_and(|entry| ClaimKey::is_claim(entry.file_name().as_encoded_bytes())));
    // Looked at again: whoever made the store a moment ago may have claimed already.
    if remains && !path.join(BIRTH).exists() {
        return Err(StoreError::Remains { path: path.to_owned() });
    }
    put_first(path, HIGHEST, birth).map_err(io)?;
    put_first(path, BIRTH, birth).map_err(io)?;
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io)?;
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent).and_then(|folder| folder.sync_all()).map_err(io),
        None => Ok(()),
    }
}

/// Puts a whole mark in place unless one is there: of two who try, the first wins and both see the same.
fn put_first(path: &Path, name: &str, value: Timestamp) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let turn = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = path.join(format!(".{name}-{}-{turn}", std::process::id()));
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(text(value).as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path.join(name));
    fs::remove_file(&draft)?;
    match linked {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn text(value: Timestamp) -> String {
    // 20 digits hold every i64 with its sign.
    format!("{:020}\n", value.as_millis())
}

/// Reads a mark; `None` for anything but a whole one.
pub(super) fn read(folder: &OwnedFd, name: &str) -> Option<Timestamp> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let mut bytes = [0; MARK_BYTES + 1];
    let length = rustix::io::pread(&file, &mut bytes, 0).ok()?;
    let digits = std::str::from_utf8(bytes.get(..length)?).ok()?.strip_suffix('\n')?;
    if digits.len() != MARK_BYTES - 1 {
        return None;
    }
    digits.parse().ok().map(Timestamp::from_millis)
}

/// Raises `highest` to `now`, in place and unsynced. Where another process is at it, its own `now` will do.
pub(super) fn raise(folder: &OwnedFd, now: Timestamp) -> Result<(), Errno> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(folder, HIGHEST, flags, Mode::empty())?;
    // Not waited for: a process stopped while it holds the lock must not stop all others.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    if read(folder, HIGHEST).is_some_and(|highest| highest >= now) {
        return Ok(());
    }
    match rustix::io::pwrite(&file, text(now).as_bytes(), 0)? {
        MARK_BYTES => Ok(()),
        _ => Err(Errno::IO),
    }
}

/// Syncs `highest`.
pub(super) fn sync(folder: &OwnedFd) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::fsync(rustix::fs::openat(folder, HIGHEST, flags, Mode::empty())?)
}

/// Gives a claim's file the time of the claim.
pub(super) fn date(file: impl AsFd, now: Timestamp) -> Result<(), Errno> {
    let seconds = now.as_millis().div_euclid(1000);
    let nanos = now.as_millis().rem_euclid(1000).saturating_mul(1_000_000);
    let at = Timespec { tv_sec: seconds, tv_nsec: nanos };
    rustix::fs::futimens(file, &Timestamps { last_access: at, last_modification: at })
}

/// The time of a claim's file.
pub(super) fn dated(file: impl AsFd) -> Option<Timestamp> {
    let about = rustix::fs::fstat(file).ok()?;
    let millis = i64::try_from(about.st_mtime_nsec).ok()?.checked_div(1_000_000)?;
    about.st_mtime.checked_mul(1000)?.checked_add(millis).map(Timestamp::from_millis)
}
