//! The two pin files of a home, the executors' and the hub's, changed together.
//!
//! Their form, and what makes a key fit to be pinned, belong to `proof`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use proof::pin_file::{self, Change, PinFileError};
use proof::{Approvers, BadEntry, BadKey, BadPins, ReplayStore, StoreError};
use proto::Timestamp;
use proto::api::PinEntry;

use crate::home::Home;
use crate::output::Failure;

/// A pin entry with an RSA key of 4096 bits and the longest credential id is under 4 KiB.
const ENTRY_BYTES: u64 = 16 * 1024;

/// A pin file cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PinsError {
    /// A pin file cannot be read.
    #[error("the pins of this home cannot be used")]
    Pins(#[from] BadPins),
    /// A pin file cannot be changed.
    #[error("the pins of this home cannot be changed")]
    Change(#[from] PinFileError),
    /// The store of used proofs cannot be made.
    #[error("the replay store cannot be made")]
    Replay(#[from] StoreError),
    /// `up` never ran here, so nobody knows whom the pins are for.
    #[error("`{}` has no pin files; run `sealward up` once, or give the right --home", home.display())]
    NotLaidOut {
        /// The home.
        home: PathBuf,
    },
}

/// A file does not hold a key that may be pinned.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadProposal {
    /// It cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not one pin entry.
    #[error("`{}` does not hold one pin entry as JSON", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The key breaks a rule of pinning.
    #[error("the key must not be pinned")]
    Entry(#[from] BadEntry),
    /// Its fingerprint cannot be told.
    #[error("the key has no fingerprint")]
    Key(#[from] BadKey),
    /// It was made on another page.
    #[error("the key was made for another page than `{origin}`")]
    Foreign {
        /// This home's page.
        origin: String,
    },
}

impl From<BadProposal> for Failure {
    fn from(bad: BadProposal) -> Self {
        match &bad {
            BadProposal::Read { .. } => Self::cannot(bad),
            BadProposal::Form { .. } => Self::usage(bad),
            BadProposal::Entry(_) | BadProposal::Key(_) | BadProposal::Foreign { .. } => Self::refused(bad),
        }
    }
}

/// A key that may be pinned, if a person says so.
#[derive(Clone, Debug)]
pub(crate) struct Proposed {
    /// As it will stand in the pin files.
    pub(crate) entry: PinEntry,
    /// What a person compares.
    pub(crate) fingerprint: String,
}

/// Reads a proposed key, and refuses one that must not be pinned. With an `origin`, the key must be for that page alone.
///
/// # Errors
/// See [`BadProposal`].
pub(crate) fn read_proposal(path: &Path, origin: Option<&str>) -> Result<Proposed, BadProposal> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(ENTRY_BYTES).read_to_end(&mut bytes))
        .map_err(|source| BadProposal::Read { path: path.to_path_buf(), source })?;
    let entry: PinEntry = serde_json::from_slice(&bytes)
        .map_err(|source| BadProposal::Form { path: path.to_path_buf(), source })?;
    proof::check_entry(&entry)?;
    if let Some(origin) = origin {
        let host = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        let rp_id = host.split(':').next().unwrap_or(host);
        if entry.origins != [origin] || entry.rp_id != rp_id {
            return Err(BadProposal::Foreign { origin: origin.to_owned() });
        }
    }
    let fingerprint = proof::fingerprint(&entry)?;
    Ok(Proposed { entry, fingerprint })
}

/// Whether a key is pinned in this home, for the hub or for an executor.
///
/// # Errors
/// [`PinsError::Pins`].
pub(crate) fn any(home: &Home) -> Result<bool, PinsError> {
    Ok(read_all(home)?.iter().any(|(_, approvers)| !approvers.keys().is_empty()))
}

/// The pin files of this home, with a word for whose they are.
///
/// # Errors
/// [`PinsError::Pins`].
pub(crate) fn read_all(home: &Home) -> Result<[(&'static str, Approvers); 2], PinsError> {
    Ok([("executors", Approvers::read(&home.pins())?), ("hub", Approvers::read(&home.hub_pins())?)])
}

/// Makes the pin files of a home that has none, without a key in them, and the replay store beside them.
///
/// A store is made where everything is new, or by a pin. One that is lost later is not made again by a start: its
/// checkers say `store_damaged` until a person pins again.
///
/// # Errors
/// See [`PinsError`].
pub(crate) fn lay_out(home: &Home, executors: &[&str], hub: &str, now: Timestamp) -> Result<(), PinsError> {
    if !home.pins().exists() {
        ReplayStore::create(&home.replay(), now)?;
    }
    for executor in executors {
        written(pin_file::add_executor(&home.pins(), executor)?);
    }
    written(pin_file::add_executor(&home.hub_pins(), hub)?);
    Ok(())
}

/// Pins a key for the hub and for the executors, and makes the executors' replay store where there is none.
///
/// The executors' file comes last: what the hub takes but no executor believes runs nothing.
///
/// # Errors
/// See [`PinsError`]; pinning again mends what a crash left half done.
pub(crate) fn pin(home: &Home, entry: &PinEntry, now: Timestamp) -> Result<(), PinsError> {
    must_be_laid_out(home)?;
    ReplayStore::create(&home.replay(), now)?;
    for path in [home.hub_pins(), home.pins()] {
        written(pin_file::add_key(&path, entry)?);
    }
    Ok(())
}

/// Revokes an id in both pin files, the executors' first: theirs is the one that decides.
///
/// # Errors
/// See [`PinsError`].
pub(crate) fn revoke(home: &Home, id: &str) -> Result<(), PinsError> {
    must_be_laid_out(home)?;
    for path in [home.pins(), home.hub_pins()] {
        written(pin_file::revoke(&path, id)?);
    }
    Ok(())
}

/// Both outcomes are what was asked for: the file says so now.
fn written(change: Change) {
    match change {
        Change::Written | Change::AlreadyThere => {}
    }
}

fn must_be_laid_out(home: &Home) -> Result<(), PinsError> {
    if home.pins().exists() && home.hub_pins().exists() {
        Ok(())
    } else {
        Err(PinsError::NotLaidOut { home: home.dir().to_path_buf() })
    }
}
