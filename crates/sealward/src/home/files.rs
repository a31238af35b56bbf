//! Writing files of the home folder: owner-only whatever the umask says, and whole or not at all.
//!
//! Not here: the replay store and pin files, whose forms belong to `proof`.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A file or folder of the home could not be made or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The folder cannot be made or closed to others.
    #[error("cannot make the folder `{path}`")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written in full.
    #[error("cannot write `{path}`; free some space or mend its folder's permissions and try again")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes a folder (and those above it) for its owner alone; one that is there already is closed to others.
///
/// # Errors
/// [`FileError::Folder`].
pub(crate) fn folder(path: &Path) -> Result<(), FileError> {
    let make = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        if fs::metadata(path)?.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
        Ok(())
    };
    make().map_err(|source| FileError::Folder { path: path.to_path_buf(), source })
}

/// Writes `bytes` to `path` with mode 0600: a new file beside it, synced, then renamed over it.
///
/// # Errors
/// [`FileError::Write`]; the old file is then still whole.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let put = || -> io::Result<()> {
        let fresh = beside(path)?;
        let written = fill(&fresh, bytes).and_then(|()| fs::rename(&fresh, path));
        if written.is_err() {
            // Best effort: the error that matters is the first one.
            drop(fs::remove_file(&fresh));
            return written;
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        File::open(above.unwrap_or_else(|| Path::new(".")))?.sync_all()
    };
    put().map_err(|source| FileError::Write { path: path.to_path_buf(), source })
}

/// The whole file as text, or nothing where it does not exist.
///
/// # Errors
/// [`FileError::Read`] for everything but absence.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<String>, FileError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Read { path: path.to_path_buf(), source }),
    }
}

/// Two writers of one file never share a name: the process is in it.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let mut fresh = std::ffi::OsString::from(".");
    fresh.push(name);
    fresh.push(format!(".{}.new", std::process::id()));
    Ok(path.with_file_name(fresh))
}

fn fill(fresh: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(fresh)?;
    // A umask can only take bits away, and 0600 without one of its bits is a file its owner cannot use.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::{folder, read_if_there, write};

    #[test]
    fn files_and_folders_are_the_owners_alone_even_when_they_were_open_before() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("a/b");
        fs::create_dir_all(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        folder(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);

        let file = dir.join("token");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write(&file, b"new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_if_there(&file).unwrap().as_deref(), Some("new"));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn an_absent_file_is_nothing_and_a_folder_in_its_place_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(read_if_there(&place.path().join("none")).unwrap(), None);
        assert!(read_if_there(place.path()).unwrap_err().to_string().contains("cannot read"));
        assert!(write(place.path(), b"x").is_err());
    }
}
