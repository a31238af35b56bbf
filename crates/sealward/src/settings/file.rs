//! One settings file on disk: where it really is, what stood there, and putting a new text in its place.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Settings of more than a megabyte are no settings.
const SETTINGS_BYTES: u64 = 1024 * 1024;
/// Added to the name of the copy that is kept of a file before the first change.
const BACKUP: &str = "before-sealward";

/// A settings file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// It cannot be read.
    #[error("`{path}` cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is too large.
    #[error("`{path}` is over {SETTINGS_BYTES} bytes; that is no settings file")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON, or not of the shape its agent documents.
    #[error("`{path}` is not what its agent documents: {what}; mend it and try again")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It cannot be written; what stood there is whole.
    #[error("`{path}` cannot be written; nothing was changed")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It changed between looking and writing.
    #[error("`{path}` was changed meanwhile; nothing was written, look at it again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// A settings file and what stands in it; `None` where there is no file.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
    text: Option<String>,
}

impl SettingsFile {
    /// Reads the file at `path`. Links are followed, so that a file kept elsewhere stays there.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub(crate) fn read(path: &Path) -> Result<Self, SettingsError> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let text = read(&path)?;
        Ok(Self { path, text })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What stood in it.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Where the copy from before the first change is.
    pub(crate) fn backup(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(BACKUP);
        self.path.with_file_name(name)
    }

    /// The copy from before the first change, if there is one.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub(crate) fn backup_text(&self) -> Result<Option<String>, SettingsError> {
        read(&self.backup())
    }

    /// Keeps a copy of what stands there.
    ///
    /// # Errors
    /// [`SettingsError::Write`].
    pub(crate) fn back_up(&self) -> Result<(), SettingsError> {
        let path = self.backup();
        let Some(text) = &self.text else { return self.drop_backup() };
        put(&path, text, mode_of(&self.path)).map_err(|source| SettingsError::Write { path, source })
    }

    /// Removes the copy.
    ///
    /// # Errors
    /// [`SettingsError::Write`].
    pub(crate) fn drop_backup(&self) -> Result<(), SettingsError> {
        let path = self.backup();
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(SettingsError::Write { path, source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Puts `text` in place of what stood there, whole or not at all; `None` removes the file.
    ///
    /// # Errors
    /// [`SettingsError::Changed`] where it is no longer what was read, [`SettingsError::Write`].
    pub(crate) fn replace(&self, text: Option<&str>) -> Result<(), SettingsError> {
        if read(&self.path)? != self.text {
            return Err(SettingsError::Changed { path: self.path.clone() });
        }
        let written = match text {
            Some(text) => put(&self.path, text, mode_of(&self.path)),
            None => fs::remove_file(&self.path),
        };
        written.map_err(|source| SettingsError::Write { path: self.path.clone(), source })
    }
}

fn read(path: &Path) -> Result<Option<String>, SettingsError> {
    let failed = |source| SettingsError::Read { path: path.to_path_buf(), source };
    match fs::metadata(path) {
        Ok(meta) if meta.len() > SETTINGS_BYTES => {
            return Err(SettingsError::TooLarge { path: path.to_path_buf() });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(failed(error)),
    }
    fs::read_to_string(path).map(Some).map_err(failed)
}

/// The permissions of a file; its owner alone where there is none yet.
fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).map_or(0o600, |meta| meta.permissions().mode() & 0o7777)
}

fn put(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let draft = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // Best effort: the error that counts is the first.
        drop(fs::remove_file(&draft));
    }
    written
}
