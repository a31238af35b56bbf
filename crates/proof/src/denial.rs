//! A person's signed no: quoted to the agent that asked, or delivered to others as a message.
//!
//! A denial that fails its check still blocks; it is only not quoted. So nothing here ever allows anything.

use proto::{Channel, Digest, Item, Refusal, Timestamp};

use crate::challenge::item_hash;
use crate::envelope::Envelope;
use crate::payload::{Body, Verb};
use crate::pins::Approvers;
use crate::replay::{ClaimKey, ReplayStore};
use crate::signers::{Opening, Signed, Signer};

/// A checked denial: words that a pinned person signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// By which it may be revoked (channel `security`).
    pub nonce: String,
    /// Who is to hear it.
    pub channel: Channel,
    /// Why; may be empty.
    pub reason: String,
    /// The items it is about.
    pub items: Vec<Digest>,
    /// Who signed, at least one.
    pub signers: Vec<Signer>,
    /// When it was signed.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
}

impl Denial {
    /// The label of the first key that signed.
    #[must_use]
    pub fn label(&self) -> &str {
        self.signers.first().map_or("", |signer| &signer.label)
    }
}

/// A denial that passed steps 1 to 7 and is about to be delivered to an agent that did not ask.
#[derive(Debug)]
#[must_use = "a message is delivered after it was claimed"]
pub struct Message {
    denial: Denial,
}

impl Message {
    /// What would be delivered, and for how long it counts.
    #[must_use]
    pub fn denial(&self) -> &Denial {
        &self.denial
    }

    /// Claims the message for this executor, so that it is delivered once.
    ///
    /// # Errors
    /// `store_damaged`, `clock_back`, `already_used`.
    pub fn claim(self, store: &ReplayStore, executor: &str, now: Timestamp) -> Result<Denial, Refusal> {
        let key = ClaimKey::Message { nonce: &self.denial.nonce, executor };
        store.claim(&key, None, None, self.denial.expires, now)?;
        Ok(self.denial)
    }
}

/// A denial quoted to its asker: steps 1 to 8, never claimed.
///
/// # Errors
/// The first refusal in the order of the steps; the call stays blocked all the same.
pub fn check_denial(
    approvers: &Approvers,
    identity: Option<&str>,
    item: &Item,
    proof: &[u8],
    now: Timestamp,
) -> Result<Denial, Refusal> {
    let denial = open(approvers, identity, proof, now)?;
    let foreign = identity.is_some_and(|own| own != item.executor());
    if foreign || !denial.items.contains(&item_hash(item)) { Err(Refusal::NotListed) } else { Ok(denial) }
}

/// A denial as a message to other agents: steps 1 to 7; deliver what [`Message::claim`] returns.
///
/// # Errors
/// The first refusal in the order of the steps.
pub fn check_message(
    approvers: &Approvers,
    identity: Option<&str>,
    proof: &[u8],
    now: Timestamp,
) -> Result<Message, Refusal> {
    Ok(Message { denial: open(approvers, identity, proof, now)? })
}

fn open(
    approvers: &Approvers,
    identity: Option<&str>,
    proof: &[u8],
    now: Timestamp,
) -> Result<Denial, Refusal> {
    let envelope = Envelope::parse(proof)?;
    if envelope.delegation.is_some() {
        return Err(Refusal::Malformed);
    }
    let opening = Opening { approvers, identity, verbs: &[Verb::Deny], now, early: 0 };
    let signed = opening.open(&envelope)?;
    signed.need(1)?;
    let Signed { payload, signers } = signed;
    let Body::Deny(deny) = payload.body else { return Err(Refusal::WrongVerb) };
    Ok(Denial {
        nonce: payload.common.nonce,
        channel: deny.channel,
        reason: deny.reason,
        items: deny.items,
        signers,
        issued: payload.common.issued,
        expires: payload.common.expires,
    })
}
