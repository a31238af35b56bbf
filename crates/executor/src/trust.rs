//! Trust sync: pins and revocations that the hub passes on are checked here and added to this home's pin file.
//!
//! The hub can withhold them; it can make none. `sealward rules revoke` at this machine's own terminal is certain.

use std::time::Duration;

use client::{CallError, Hub};
use proto::Timestamp;

use crate::home::Home;
use crate::sync::Sync;

/// Why the sync did not come to its end. Nothing may be allowed on pins that could be out of date.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The hub did not give its list.
    #[error("the hub gave no list of pins and revocations")]
    Hub(#[source] CallError),
    /// The pin file could not be read or written.
    #[error("pins and revocations cannot be taken over")]
    Pins(#[source] proof::trust::TrustError),
}

/// Fetches what is new, checks each proof and adds what holds. Proofs that do not hold are named in `log` and passed
/// over: they change nothing.
///
/// # Errors
/// [`SyncError`].
pub fn sync(
    hub: &Hub,
    home: &Home,
    identity: &str,
    now: Timestamp,
    limit: Duration,
    log: &mut Vec<String>,
) -> Result<(), SyncError> {
    let mut seen = Sync::open(home.dir());
    let mut list = hub.trust(seen.read.trust, limit).map_err(SyncError::Hub)?;
    if list.next < seen.read.trust {
        // The hub was set up anew and counts from the start.
        list = hub.trust(0, limit).map_err(SyncError::Hub)?;
    }
    for entry in &list.proofs {
        match proof::trust::apply(&home.approvers(), entry.proof.get().as_bytes(), identity, now) {
            Ok(_) => {}
            Err(proof::trust::TrustError::Refused(refusal)) => {
                log.push(format!(
                    "trust entry {} was refused: {} ({})",
                    entry.seq,
                    refusal.sentence(),
                    refusal.code()
                ));
            }
            Err(error) => return Err(SyncError::Pins(error)),
        }
    }
    if list.next != seen.read.trust {
        seen.read.trust = list.next;
        if let Err(error) = seen.save() {
            log.push(format!("`sync.json` cannot be written, the list will be read again: {error}"));
        }
    }
    Ok(())
}
