//! How far this home has read the hub's lists of trust and of messages: two numbers in one small file.
//!
//! Losing the file is harmless: everything is read again, and what was taken over or delivered before is known by
//! the pin file and the replay store.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The numbers, and the file they came from.
#[derive(Clone, Debug)]
pub(crate) struct Sync {
    path: PathBuf,
    pub(crate) read: Read,
}

/// What was read up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    pub(crate) trust: u64,
    pub(crate) messages: u64,
}

impl Sync {
    /// Reads the file of this home; a missing or damaged one counts as nothing read.
    pub(crate) fn open(home: &Path) -> Self {
        let path = home.join("sync.json");
        let read =
            fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { path, read }
    }

    /// Writes the numbers, whole or not at all. Several hooks may do so at once; each writes something true.
    pub(crate) fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.read)?;
        let draft = self.path.with_extension(format!("json.{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| fs::rename(&draft, &self.path));
        if written.is_err() {
            // The draft may not even be there; the error that counts is the first.
            drop(fs::remove_file(&draft));
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_read_again_and_damage_reads_as_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Sync::open(dir.path()).read, Read::default());
        let mut sync = Sync::open(dir.path());
        sync.read = Read { trust: 7, messages: 9 };
        sync.save().unwrap();
        assert_eq!(Sync::open(dir.path()).read, Read { trust: 7, messages: 9 });
        fs::write(dir.path().join("sync.json"), "{").unwrap();
        assert_eq!(Sync::open(dir.path()).read, Read::default());
    }
}
