//! One `up` for one home: a lock that the system gives back however the process ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::home::Home;

/// Held for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// The home is in use, or its lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    /// Another `up` holds it.
    #[error("another `sealward up` runs on `{}`; stop it first, or give another --home", home.display())]
    Held {
        /// The home.
        home: PathBuf,
    },
    /// The lock file cannot be opened.
    #[error("cannot lock `{}`", path.display())]
    Open {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Lock {
    /// Takes the lock of a home whose `hub` folder is there.
    ///
    /// # Errors
    /// See [`LockError`].
    pub(crate) fn take(home: &Home) -> Result<Self, LockError> {
        let path = home.hub().join("lock");
        // Never written, never removed: removing it would let two holders lock two files of one name.
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(|source| LockError::Open { path: path.clone(), source })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(LockError::Held { home: home.dir().to_path_buf() }),
            Err(errno) => Err(LockError::Open { path, source: errno.into() }),
        }
    }
}
