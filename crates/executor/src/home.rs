//! An executor's home: the one folder that says who it is, which hub it asks and whom it believes.
//!
//! Reading and checking only. Pins and the replay store are opened by `proof`; `sealward up` and `approvers pin`
//! make the files.
//!
//! Invariant: a [`Home`] exists only for a folder, a settings file and a token that no other user can change, and a
//! token that no other user can read.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use client::{Address, Token};
use proto::api::Guard;
use serde::Deserialize;

/// Largest file of a home that is read here: `proto::limits::GRANT_FILE_BYTES`, the largest of them.
const FILE_BYTES: u64 = 256 * 1024;

/// A checked home.
#[derive(Clone, Debug)]
pub struct Home {
    dir: PathBuf,
    hub: Address,
    token_file: PathBuf,
    ca_file: Option<PathBuf>,
    guard: Guard,
    identity: Identity,
    not_human_only: Vec<String>,
}

/// The names under which the executors of this home are pinned; one may be missing.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Who the agents' hooks are (`hook@laptop`).
    pub hook: Option<String>,
    /// Who the commit check is.
    pub commit: Option<String>,
    /// Who the runner is.
    pub runner: Option<String>,
    /// Who the broker is.
    pub broker: Option<String>,
}

/// Why a home cannot be used. All of these are for the person who set it up.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The path does not begin at the root, so it would depend on where the agent stands.
    #[error("the home `{0}` must be an absolute path")]
    Relative(PathBuf),
    /// A file or folder is missing or cannot be read.
    #[error("`{path}` cannot be read; run `sealward up` once, or give the right --home")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another user could change it, or read a secret in it.
    #[error("`{path}` is open to other users: {what}; set it right with chmod and chown")]
    Open {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// A settings file with unknown or missing members.
    #[error("`{path}` is not a settings file of an executor: {what}")]
    Settings {
        /// Which one.
        path: PathBuf,
        /// What is wrong, with its line.
        what: String,
    },
    /// The token file holds no token.
    #[error("`{0}` holds no token; make one with `sealward agents add NAME --role hook --executor IDENTITY`")]
    NoToken(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSettings {
    hub: String,
    token_file: PathBuf,
    ca_file: Option<PathBuf>,
    guard: Option<Guard>,
    identity: Identity,
    #[serde(default)]
    human_only: RawHumanOnly,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHumanOnly {
    #[serde(default)]
    without: Vec<String>,
}

impl Home {
    /// Opens and checks a home. The token is read at [`Home::token`], not here.
    ///
    /// # Errors
    /// [`HomeError`] where the folder or `executor.toml` is missing, open to other users or not understood.
    pub fn open(dir: &Path) -> Result<Self, HomeError> {
        if !dir.is_absolute() {
            return Err(HomeError::Relative(dir.to_path_buf()));
        }
        let meta =
            fs::metadata(dir).map_err(|source| HomeError::Unreadable { path: dir.to_path_buf(), source })?;
        check_owner(dir, &meta, WRITE_BITS, "other users may write to it")?;
        let path = dir.join("executor.toml");
        let text = read_checked(&path, WRITE_BITS, "other users may write to it")?;
        let raw: RawSettings = toml::from_str(&text)
            .map_err(|cause| HomeError::Settings { path: path.clone(), what: cause.to_string() })?;
        let RawSettings { hub, token_file, ca_file, guard, identity, human_only } = raw;
        let hub =
            Address::parse(&hub).map_err(|cause| HomeError::Settings { path, what: cause.to_string() })?;
        Ok(Self {
            hub,
            token_file: dir.join(token_file),
            ca_file: ca_file.map(|file| dir.join(file)),
            // Unless it was set up otherwise, the agent's own user can go round what is checked here.
            guard: guard.unwrap_or(Guard::User),
            identity,
            not_human_only: human_only.without,
            dir: dir.to_path_buf(),
        })
    }

    /// Reads the token; its file must be readable by its owner alone.
    ///
    /// # Errors
    /// [`HomeError`] where the file is missing, open to other users or holds no token.
    pub fn token(&self) -> Result<Token, HomeError> {
        let text = read_checked(&self.token_file, ALL_BITS, "other users may read it")?;
        Token::parse(&text).ok_or_else(|| HomeError::NoToken(self.token_file.clone()))
    }

    /// The folder itself.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The hub this home asks.
    #[must_use]
    pub const fn hub(&self) -> &Address {
        &self.hub
    }

    /// Certificates to trust for the hub, in place of the system's.
    #[must_use]
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// Under which names its executors are pinned.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether the agent's own user could go round this executor.
    #[must_use]
    pub const fn guard(&self) -> Guard {
        self.guard
    }

    /// Entries that this machine's owner took off the human-only list.
    #[must_use]
    pub fn not_human_only(&self) -> &[String] {
        &self.not_human_only
    }

    /// Reads a file of this home that nobody else may write to.
    ///
    /// # Errors
    /// [`HomeError`] where it cannot be read or is open to other users.
    pub fn read_own(&self, path: &Path) -> Result<String, HomeError> {
        read_checked(path, WRITE_BITS, "other users may write to it")
    }

    /// Where the pinned approvers are listed.
    #[must_use]
    pub fn approvers(&self) -> PathBuf {
        self.dir.join("approvers.json")
    }

    /// The folder of spent proofs.
    #[must_use]
    pub fn replay(&self) -> PathBuf {
        self.dir.join("replay")
    }

    /// The folder of local grants.
    #[must_use]
    pub fn grants(&self) -> PathBuf {
        self.dir.join("grants")
    }

    /// The folder of asks that wait for a late answer.
    #[must_use]
    pub fn kept(&self) -> PathBuf {
        self.dir.join("kept")
    }

    /// The file of the token.
    #[must_use]
    pub fn token_file(&self) -> &Path {
        &self.token_file
    }
}

/// Permission bits that let others change a file.
const WRITE_BITS: u32 = 0o022;
/// Permission bits that let others do anything with a file.
const ALL_BITS: u32 = 0o077;

fn read_checked(path: &Path, bits: u32, what: &'static str) -> Result<String, HomeError> {
    let unreadable = |source| HomeError::Unreadable { path: path.to_path_buf(), source };
    let file = fs::File::open(path).map_err(unreadable)?;
    // The open file is asked, not the path, so that what was checked is what is read.
    check_owner(path, &file.metadata().map_err(unreadable)?, bits, what)?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > FILE_BYTES {
        return Err(HomeError::Settings {
            path: path.to_path_buf(),
            what: format!("over {FILE_BYTES} bytes"),
        });
    }
    Ok(text)
}

fn check_owner(path: &Path, meta: &fs::Metadata, bits: u32, what: &'static str) -> Result<(), HomeError> {
    let open = |what| HomeError::Open { path: path.to_path_buf(), what };
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(open("it belongs to another user"));
    }
    if meta.mode() & bits != 0 { Err(open(what)) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
