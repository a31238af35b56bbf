//! Who signed: steps 2 to 5 for every signature, and the count of persons (step 7).

use std::collections::BTreeSet;

use proto::{Digest, Refusal, Timestamp};

use crate::challenge::{PROOF_TYPE, pae};
use crate::envelope::{Envelope, Signature, SignatureKind};
use crate::payload::{Payload, Verb};
use crate::pins::{Approvers, Person};
use crate::{sshsig, webauthn};

/// The owner of a key whose signature verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The pinned key's id.
    pub keyid: String,
    /// Its label.
    pub label: String,
    /// Whose it is.
    pub person: Person,
    /// The authenticator's counter, where it sent one. Never a reason to refuse; a regression is worth a report.
    pub sign_count: Option<u32>,
}

/// How many distinct persons are among them.
#[must_use]
pub fn persons(signers: &[Signer]) -> u32 {
    let distinct: BTreeSet<&Person> = signers.iter().map(|signer| &signer.person).collect();
    u32::try_from(distinct.len()).unwrap_or(u32::MAX)
}

/// What signatures are made over.
pub(crate) struct Message {
    pae: Vec<u8>,
    challenge: Digest,
}

impl Message {
    pub(crate) fn new(payload_type: &str, payload: &[u8]) -> Self {
        let pae = pae(payload_type, payload);
        let challenge = proto::sha256(&pae);
        Self { pae, challenge }
    }

    /// The PAE text: what is signed where no authenticator hashes it into a challenge.
    pub(crate) fn pae(&self) -> &[u8] {
        &self.pae
    }
}

/// Steps 2 to 5 for one signature.
pub(crate) fn check_one(
    approvers: &Approvers,
    signature: &Signature,
    message: &Message,
    now: Timestamp,
) -> Result<Signer, Refusal> {
    let pinned = approvers.pinned(&signature.keyid, now)?;
    let entry = pinned.entry();
    let key = pinned.key().map_err(|_| Refusal::NotPinned)?;
    let sign_count = match &signature.kind {
        SignatureKind::WebAuthn { authenticator_data, client_data, signature } => {
            let assertion = webauthn::Assertion { authenticator_data, client_data, signature };
            webauthn::check(&assertion, &message.challenge, entry, key)?;
            webauthn::sign_count(authenticator_data)
        }
        SignatureKind::SshSig(armour) => {
            sshsig::check(armour, &message.pae, entry, key)?;
            None
        }
        // A bare signature says nothing of a person: it is a reviewer's, and only inside a vouch.
        SignatureKind::Ed25519(_) => return Err(Refusal::Malformed),
    };
    Ok(Signer { keyid: entry.id.clone(), label: entry.label.clone(), person: pinned.person(), sign_count })
}

/// A payload all of whose signatures verified, of a verb that fits, at its time (steps 1 to 6).
pub(crate) struct Signed {
    pub(crate) payload: Payload,
    pub(crate) signers: Vec<Signer>,
}

/// Against which pins and clock a proof is opened, and for what use.
pub(crate) struct Opening<'a> {
    pub(crate) approvers: &'a Approvers,
    /// The executor's own identity, which the pin file must name; `None` where step 2 skips this.
    pub(crate) identity: Option<&'a str>,
    pub(crate) verbs: &'a [Verb],
    pub(crate) now: Timestamp,
    /// How far ahead `not_before` may lie, ms.
    pub(crate) early: i64,
}

impl Opening<'_> {
    /// Steps 2 to 6. Every signature must verify; the first refusal in their order is the answer.
    pub(crate) fn open(&self, envelope: &Envelope<'_>) -> Result<Signed, Refusal> {
        if self.identity.is_some_and(|own| !self.approvers.names(own)) {
            return Err(Refusal::NoKeyPinned);
        }
        let message = Message::new(PROOF_TYPE, &envelope.payload);
        let mut signers = Vec::with_capacity(envelope.signatures.len());
        for signature in &envelope.signatures {
            signers.push(check_one(self.approvers, signature, &message, self.now)?);
        }
        let payload = self.read(&envelope.payload)?;
        Ok(Signed { payload, signers })
    }

    /// Step 6: the payload by its own verb, the verb's fit, its times.
    pub(crate) fn read(&self, payload: &[u8]) -> Result<Payload, Refusal> {
        let payload = Payload::parse(payload).map_err(|_| Refusal::BadPayload)?;
        if !self.verbs.contains(&payload.verb()) {
            return Err(Refusal::WrongVerb);
        }
        payload.check_times(self.now, self.early)?;
        Ok(payload)
    }
}

impl Signed {
    /// Step 7.
    pub(crate) fn need(&self, quorum: u32) -> Result<(), Refusal> {
        if persons(&self.signers) < quorum { Err(Refusal::Quorum) } else { Ok(()) }
    }
}
