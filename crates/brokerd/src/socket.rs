//! The broker's socket: one broker, one owner. What is said over it is `connection`'s.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    net::sockopt::socket_peercred,
    process::geteuid,
};
use tokio::net::{UnixListener, UnixStream};

/// A bound socket and the lock that says that we are the one broker of this home.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    _lock: File,
}

/// Why the socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    #[error("`{path}` cannot be used")]
    Disk {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("another broker runs with this home: stop it first")]
    Running,
}

impl Socket {
    /// Binds `folder/broker.sock`; a socket that a dead broker left is replaced.
    pub(crate) fn bind(folder: &Path) -> Result<Self, BindError> {
        let disk = |path: &Path| {
            let path = path.to_owned();
            move |source| BindError::Disk { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(disk(folder))?;
        let lock_path = folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&lock_path)
            .map_err(disk(&lock_path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(BindError::Running),
            Err(errno) => return Err(disk(&lock_path)(errno.into())),
        }
        let path = folder.join("broker.sock");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(disk(&path)(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(disk(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(disk(&path))?;
        Ok(Self { listener, path, _lock: lock })
    }
}

/// Whether the peer runs as the user that owns this broker. A sandboxed command runs as another one where it can.
pub(crate) fn is_ours(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid())
}
