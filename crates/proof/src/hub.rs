//! The hub's own check before it accepts, shows or sends a proof: steps 1 to 8 on its own pins.
//!
//! It differs from an executor's in three ways: `not_before` may lie 60 s ahead (its undo window), too few persons is
//! *collecting*, and nothing is claimed in a store. What passes here still has to pass at the executor.

use std::collections::BTreeSet;

use proto::{Digest, Kind, Refusal, Timestamp, limits};

use crate::challenge::PROOF_TYPE;
use crate::envelope::{Envelope, Signature};
use crate::payload::{Body, Payload, Verb};
use crate::pins::Approvers;
use crate::signers::{Message, Opening, Signed, Signer, check_one, persons};

/// One item that the hub believes a proof covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    /// Its hash, computed by the hub from what it stored.
    pub hash: Digest,
    /// Its kind.
    pub kind: Kind,
    /// Persons that its asker's own file or grant demands.
    pub quorum: u32,
}

/// What a checked proof says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The payload.
    pub payload: Payload,
    /// Its exact bytes.
    pub bytes: Vec<u8>,
    /// Who signed, in the order of the signatures; labels of one person may come twice.
    pub signers: Vec<Signer>,
    /// Distinct persons among them.
    pub have: u32,
    /// Distinct persons needed.
    pub need: u32,
}

/// Whether enough persons signed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum HubVerdict {
    /// `have` is at least `need`.
    Complete(Checked),
    /// All signatures verify and the items fit, but more persons must sign.
    Collecting(Checked),
}

impl HubVerdict {
    /// What was checked, whichever it is.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        match self {
            Self::Complete(checked) | Self::Collecting(checked) => checked,
        }
    }
}

/// `approve` or `deny` of items: steps 1 to 8. The payload must list exactly the `covered` ones.
///
/// # Errors
/// The first refusal in the order of the steps, `quorum` excepted; `not_listed` for an item that is not listed, and for a
/// listed one that is not among `covered`; `wrong_verb` for any other verb.
pub fn check_entries(
    approvers: &Approvers,
    proof: &[u8],
    covered: &[Covered],
    now: Timestamp,
) -> Result<HubVerdict, Refusal> {
    let (signed, bytes) = open(approvers, proof, &[Verb::Approve, Verb::Deny], now)?;
    let need = match &signed.payload.body {
        Body::Approve(_) => {
            covered.iter().map(|item| item.quorum.max(approvers.quorum(item.kind))).max().unwrap_or(1)
        }
        Body::Deny(_) => 1,
        Body::Rule(_) | Body::Delegate(_) | Body::Vouch(_) | Body::Pin(_) | Body::Revoke(_) => {
            return Err(Refusal::WrongVerb);
        }
    };
    let listed: BTreeSet<&Digest> = signed.payload.items().iter().collect();
    let known: BTreeSet<&Digest> = covered.iter().map(|item| &item.hash).collect();
    if listed != known {
        return Err(Refusal::NotListed);
    }
    Ok(verdict(signed, bytes, need))
}

/// `rule`, `delegate`, `pin` and `revoke`, which list no items: steps 1 to 7.
///
/// # Errors
/// The first refusal in the order of the steps, `quorum` excepted; `wrong_verb` for any other verb.
pub fn check_standing(approvers: &Approvers, proof: &[u8], now: Timestamp) -> Result<HubVerdict, Refusal> {
    let verbs = [Verb::Rule, Verb::Delegate, Verb::Pin, Verb::Revoke];
    let (signed, bytes) = open(approvers, proof, &verbs, now)?;
    let need = match &signed.payload.body {
        Body::Rule(rule) => approvers.quorum(rule.kind),
        Body::Delegate(delegate) => {
            delegate.kinds.iter().map(|kind| approvers.quorum(*kind)).max().unwrap_or(1)
        }
        Body::Pin(_) => approvers.highest_quorum(),
        Body::Revoke(_) => 1,
        Body::Approve(_) | Body::Deny(_) | Body::Vouch(_) => return Err(Refusal::WrongVerb),
    };
    Ok(verdict(signed, bytes, need))
}

/// One more signature for a payload that is collecting: steps 1 to 6 for it alone. Join it to the others with
/// [`crate::assemble`] and check the whole again.
///
/// # Errors
/// The first refusal in the order of the steps.
pub fn check_signature(
    approvers: &Approvers,
    payload: &[u8],
    signature: &[u8],
    now: Timestamp,
) -> Result<Signer, Refusal> {
    let signature = Signature::parse(signature)?;
    let signer = check_one(approvers, &signature, &Message::new(PROOF_TYPE, payload), now)?;
    opening(approvers, &Verb::ALL, now).read(payload)?;
    Ok(signer)
}

fn opening<'a>(approvers: &'a Approvers, verbs: &'a [Verb], now: Timestamp) -> Opening<'a> {
    Opening { approvers, identity: None, verbs, now, early: limits::NOT_YET_WAIT_MS }
}

fn open(
    approvers: &Approvers,
    proof: &[u8],
    verbs: &[Verb],
    now: Timestamp,
) -> Result<(Signed, Vec<u8>), Refusal> {
    let envelope = Envelope::parse(proof)?;
    if envelope.delegation.is_some() {
        return Err(Refusal::Malformed);
    }
    let signed = opening(approvers, verbs, now).open(&envelope)?;
    Ok((signed, envelope.payload))
}

fn verdict(signed: Signed, bytes: Vec<u8>, need: u32) -> HubVerdict {
    let Signed { payload, signers } = signed;
    let have = persons(&signers);
    let checked = Checked { payload, bytes, signers, have, need };
    if have >= need { HubVerdict::Complete(checked) } else { HubVerdict::Collecting(checked) }
}
