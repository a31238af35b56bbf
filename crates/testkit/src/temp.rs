//! A folder of a test's own, removed at its end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A temporary folder, owner-only, by its real path (so that a hashed `cwd` is the one the executor makes real).
#[derive(Debug)]
pub struct Temp {
    // Kept for its drop, which removes the folder.
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Temp {
    /// Makes the folder.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("sealward-test-").tempdir().expect("a temporary folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("owner-only");
        let path = folder.path().canonicalize().expect("its real path");
        Self { _folder: folder, path }
    }

    /// Its real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below it.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// A folder below it, made on demand.
    #[must_use]
    pub fn folder(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).expect("a folder below the temporary one");
        path
    }
}

impl Default for Temp {
    fn default() -> Self {
        Self::new()
    }
}
