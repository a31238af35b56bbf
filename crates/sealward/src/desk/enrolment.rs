//! One-time enrolment links and the keys that devices propose through them.
//!
//! A link only permits *proposing* a key. Whether it is pinned is asked at a terminal (`pinning`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proto::Timestamp;

use crate::chance::{self, NoChance};
use crate::home::Home;
use crate::home::files::{self, FileError};

/// How long a link works.
pub(crate) const LINK_MS: i64 = proto::limits::ENROL_LIFE_MS;

/// A link could not be made, or the proposals not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnrolmentError {
    /// A file would not.
    #[error(transparent)]
    File(#[from] FileError),
    /// No randomness for the code.
    #[error(transparent)]
    Chance(#[from] NoChance),
    /// The folder of proposals cannot be listed.
    #[error("cannot list `{path}`")]
    List {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes a new code, in place of any older one, and gives the link that carries it.
///
/// # Errors
/// See [`EnrolmentError`].
pub(crate) fn new_link(home: &Home, origin: &str, now: Timestamp) -> Result<String, EnrolmentError> {
    // 16 bytes: the 128 bits that the link is to carry.
    let code = proto::b64::encode(&chance::bytes::<16>()?);
    let record = serde_json::json!({
        "v": 1,
        "code_sha256": proto::sha256(code.as_bytes()).to_string(),
        "expires": now.plus(LINK_MS),
        "tries": 0,
    });
    files::write(&home.enrolment(), record.to_string().as_bytes())?;
    Ok(format!("{origin}/#enrol={code}"))
}

/// Withdraws the open link, if there is one.
///
/// # Errors
/// The file is there and cannot be removed.
pub(crate) fn withdraw(home: &Home) -> Result<(), EnrolmentError> {
    let path = home.enrolment();
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError::Write { path, source }.into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The files of proposed keys, in the order of their names.
///
/// # Errors
/// [`EnrolmentError::List`] for everything but an absent folder.
pub(crate) fn proposals(home: &Home) -> Result<Vec<PathBuf>, EnrolmentError> {
    let path = home.proposals();
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&path)? {
            let file = entry?.path();
            if is_proposal(&file) {
                found.push(file);
            }
        }
        found.sort();
        Ok(found)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|source| EnrolmentError::List { path: path.clone(), source }),
    }
}

/// `<id>.json`; a file the hub is still writing has a name that begins with a dot.
fn is_proposal(file: &Path) -> bool {
    let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && file.extension().is_some_and(|extension| extension == "json")
}
