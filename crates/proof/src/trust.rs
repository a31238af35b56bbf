//! `pin` and `revoke` proofs: checked against a pin file as it stands, and written into it for ever.
//!
//! The one function for every executor and for the hub's own file. Fetching the proofs is the callers'.

use std::path::Path;

use proto::{Refusal, Timestamp};

use crate::envelope::Envelope;
use crate::payload::{Body, Verb, What};
use crate::pin_file::{self, Change, PinFileError};
use crate::pins::{Approvers, BadPins};
use crate::signers::{Opening, Signed};

/// Why a proof changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The proof was refused.
    #[error("{0}")]
    Refused(Refusal),
    /// The pin file cannot be read.
    #[error(transparent)]
    Pins(#[from] BadPins),
    /// The pin file could not be written, or the key may not be added.
    #[error(transparent)]
    Write(#[from] PinFileError),
}

impl From<Refusal> for TrustError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a proof did to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// The key was pinned.
    Pinned {
        /// Its id.
        id: String,
        /// Its label.
        label: String,
    },
    /// The id was revoked.
    Revoked {
        /// What it is.
        what: What,
        /// Its id.
        id: String,
    },
    /// A pinned warning has ended: no longer shown. The pin file does not change.
    WarningEnded {
        /// The denial's nonce.
        nonce: String,
    },
    /// The file said so already.
    AlreadyThere,
    /// A key for another executor; not this file's business.
    NotForUs,
}

/// Checks a `pin` or `revoke` proof against the file (steps 1 to 7) and writes what it says. `identity` is the executor's
/// own, which the file must name.
///
/// # Errors
/// [`TrustError`]; the file is then as it was.
pub fn apply(path: &Path, proof: &[u8], identity: &str, now: Timestamp) -> Result<Applied, TrustError> {
    let approvers = Approvers::read(path)?;
    match check_trust(&approvers, Some(identity), proof, now)?.payload.body {
        Body::Pin(pin) => {
            if pin.executor != identity {
                return Ok(Applied::NotForUs);
            }
            let change = pin_file::add_key(path, &pin.key)?;
            Ok(done(change, Applied::Pinned { id: pin.key.id, label: pin.key.label }))
        }
        Body::Revoke(revoke) => match revoke.what {
            What::Warning => Ok(Applied::WarningEnded { nonce: revoke.id }),
            What::Rule | What::Delegation | What::Key => {
                let change = pin_file::revoke(path, &revoke.id)?;
                Ok(done(change, Applied::Revoked { what: revoke.what, id: revoke.id }))
            }
        },
        Body::Approve(_) | Body::Deny(_) | Body::Rule(_) | Body::Delegate(_) | Body::Vouch(_) => {
            Err(Refusal::WrongVerb.into())
        }
    }
}

fn done(change: Change, applied: Applied) -> Applied {
    match change {
        Change::Written => applied,
        Change::AlreadyThere => Applied::AlreadyThere,
    }
}

/// Steps 1 to 7 for `pin` (the highest quorum in the file) and `revoke` (one person).
fn check_trust(
    approvers: &Approvers,
    identity: Option<&str>,
    proof: &[u8],
    now: Timestamp,
) -> Result<Signed, Refusal> {
    let envelope = Envelope::parse(proof)?;
    if envelope.delegation.is_some() {
        return Err(Refusal::Malformed);
    }
    let opening = Opening { approvers, identity, verbs: &[Verb::Pin, Verb::Revoke], now, early: 0 };
    let signed = opening.open(&envelope)?;
    signed.need(match &signed.payload.body {
        Body::Pin(_) => approvers.highest_quorum(),
        Body::Approve(_)
        | Body::Deny(_)
        | Body::Rule(_)
        | Body::Delegate(_)
        | Body::Vouch(_)
        | Body::Revoke(_) => 1,
    })?;
    Ok(signed)
}
