//! The check where it counts: an executor about to run, or allow, one item.
//!
//! [`ExecutorCheck::check`] is steps 1 to 8 and touches no disk; [`Sealed::claim`] is step 9. Only the two together give an
//! [`Authorized`], and only that lets an executor act.

use proto::{Digest, Item, Refusal, Timestamp};

use crate::challenge::{PROOF_TYPE, item_hash};
use crate::envelope::{Envelope, SignatureKind};
use crate::keys::PublicKey;
use crate::matching::{Matcher, Policy};
use crate::payload::{Body, Delegate, Payload, Verb, Vouch};
use crate::pins::Approvers;
use crate::replay::{ClaimKey, ReplayStore, RuleUses};
use crate::signers::{Message, Opening, Signer};

/// What an executor knows when it is handed a proof for an item of its own.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorCheck<'a> {
    /// Its pin file.
    pub approvers: &'a Approvers,
    /// Its own identity, from its own settings and never from the item: the pin file must name it, and the item must be
    /// addressed to it. `None` only for `sealward proof check`.
    pub identity: Option<&'a str>,
    /// What it is about to do, made from what it is about to do and not from what it was told.
    pub item: &'a Item,
    /// Persons that a grant demands; the pin file may demand more. 0 or 1 where none does.
    pub quorum_at_least: u32,
    /// Whether only a person may allow this item, by the executor's own list (`policy::human_only`). An `approve` is a
    /// person's word and passes; a rule or a vouch is refused. `true` where in doubt.
    pub human_only: bool,
    /// The executor's clock.
    pub now: Timestamp,
}

/// On whose word an item may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Persons sealed this very item.
    Approve,
    /// A signed rule covers it.
    Rule {
        /// The rule's id.
        id: String,
    },
    /// An automatic reviewer vouched for it under a signed delegation.
    Vouch {
        /// The delegation's id.
        delegation: String,
    },
}

/// A proof that passed steps 1 to 8 for one item. It allows nothing yet: [`Sealed::claim`] it.
#[derive(Debug)]
#[must_use = "a proof that was checked but not claimed allows nothing"]
pub struct Sealed {
    item: Digest,
    executor: String,
    authority: Authority,
    signers: Vec<Signer>,
    issued: Timestamp,
    expires: Timestamp,
    uses: u64,
}

/// The right to do one item once: a checked proof whose claim is on disk.
///
/// Nothing else makes one, it cannot be copied, and running spends it.
///
/// ```compile_fail,E0451
/// let forged = proof::Authorized { item: proto::Digest::ZERO, authority: proof::Authority::Approve, signers: vec![] };
/// ```
/// ```compile_fail,E0599
/// fn twice(one: proof::Authorized) -> (proof::Authorized, proof::Authorized) { (one.clone(), one) }
/// ```
/// ```compile_fail,E0382
/// fn run(_: proof::Authorized) {}
/// fn twice(one: proof::Authorized) { run(one); run(one); }
/// ```
/// ```compile_fail,E0277
/// fn thawed() -> proof::Authorized { serde_json::from_str("{}").unwrap() }
/// ```
/// ```compile_fail,E0277
/// fn unclaimed(one: proof::Sealed) -> proof::Authorized { one.into() }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "running an item spends this"]
pub struct Authorized {
    item: Digest,
    authority: Authority,
    signers: Vec<Signer>,
}

impl Authorized {
    /// Hash of the one item this is for. Compare it with the hash of what is about to run.
    #[must_use]
    pub fn item(&self) -> Digest {
        self.item
    }

    /// On whose word.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Who signed the approval, rule or delegation.
    #[must_use]
    pub fn signers(&self) -> &[Signer] {
        &self.signers
    }
}

impl Sealed {
    /// Hash of the item.
    #[must_use]
    pub fn item(&self) -> Digest {
        self.item
    }

    /// On whose word.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Who signed the approval, rule or delegation.
    #[must_use]
    pub fn signers(&self) -> &[Signer] {
        &self.signers
    }

    /// When the proof ends.
    #[must_use]
    pub fn expires(&self) -> Timestamp {
        self.expires
    }

    /// Step 9: claims the item (and one use of a rule that counts them), on disk before this returns.
    ///
    /// # Errors
    /// `store_damaged`, `clock_back`, `store_young`, `already_used`. After any error the item must not run.
    pub fn claim(self, store: &ReplayStore, now: Timestamp) -> Result<Authorized, Refusal> {
        let born_before = match &self.authority {
            Authority::Approve | Authority::Vouch { .. } => Some(self.issued),
            // A rule is signed once for many days, so that a store made after it is no sign of a lost one.
            Authority::Rule { .. } => None,
        };
        let uses = match &self.authority {
            Authority::Rule { id } if self.uses > 0 => {
                Some(RuleUses { id, executor: &self.executor, limit: self.uses })
            }
            Authority::Rule { .. } | Authority::Approve | Authority::Vouch { .. } => None,
        };
        store.claim(&ClaimKey::Item(self.item), uses, born_before, self.expires, now)?;
        Ok(Authorized { item: self.item, authority: self.authority, signers: self.signers })
    }
}

impl ExecutorCheck<'_> {
    /// Steps 1 to 8 for `approve`, `rule` and `vouch`. Touches no disk and burns nothing.
    ///
    /// # Errors
    /// The first refusal in the order of the steps. `not_yet` is not final: see [`ExecutorCheck::ready_at`].
    pub fn check(&self, proof: &[u8]) -> Result<Sealed, Refusal> {
        self.check_by(&Policy, proof)
    }

    fn check_by(&self, matcher: &impl Matcher, proof: &[u8]) -> Result<Sealed, Refusal> {
        let envelope = Envelope::parse(proof)?;
        match envelope.delegation {
            Some(delegation) => self.check_vouch(matcher, &envelope, delegation.get().as_bytes()),
            None => self.check_signed(matcher, &envelope),
        }
    }

    /// When a proof that is `not_yet` becomes valid, if that is at most 60 s away: an executor may wait that long and
    /// check again. Nothing in the answer is believed; the second check does everything anew.
    #[must_use]
    pub fn ready_at(&self, proof: &[u8]) -> Option<Timestamp> {
        let envelope = Envelope::parse(proof).ok()?;
        let not_before = Payload::parse(&envelope.payload).ok()?.not_before();
        let wait = not_before.since(self.now);
        (0..=proto::limits::NOT_YET_WAIT_MS).contains(&wait).then_some(not_before)
    }

    fn opening<'a>(&'a self, verbs: &'a [Verb]) -> Opening<'a> {
        Opening { approvers: self.approvers, identity: self.identity, verbs, now: self.now, early: 0 }
    }

    /// Whether the item is addressed to another machine than this.
    fn is_foreign(&self) -> bool {
        self.identity.is_some_and(|own| own != self.item.executor())
    }

    fn check_signed(&self, matcher: &impl Matcher, envelope: &Envelope<'_>) -> Result<Sealed, Refusal> {
        let signed = self.opening(&[Verb::Approve, Verb::Rule]).open(envelope)?;
        let item = item_hash(self.item);
        let (authority, uses) = match &signed.payload.body {
            Body::Approve(approve) => {
                signed.need(self.approvers.quorum(self.item.kind()).max(self.quorum_at_least))?;
                if self.is_foreign() || !approve.items.contains(&item) {
                    return Err(Refusal::NotListed);
                }
                (Authority::Approve, 0)
            }
            Body::Rule(rule) => {
                signed.need(self.approvers.quorum(rule.kind).max(self.quorum_at_least))?;
                if self.approvers.is_revoked(&rule.id) {
                    return Err(Refusal::Revoked);
                }
                if self.is_foreign() || !matcher.rule_covers(rule, self.item) {
                    return Err(Refusal::NoMatch);
                }
                if self.human_only {
                    return Err(Refusal::HumanOnly);
                }
                (Authority::Rule { id: rule.id.clone() }, rule.uses)
            }
            Body::Deny(_) | Body::Delegate(_) | Body::Vouch(_) | Body::Pin(_) | Body::Revoke(_) => {
                return Err(Refusal::WrongVerb);
            }
        };
        let common = signed.payload.common;
        Ok(Sealed {
            item,
            executor: self.item.executor().to_owned(),
            authority,
            signers: signed.signers,
            issued: common.issued,
            expires: common.expires,
            uses,
        })
    }

    /// A vouch's own order: the delegation whole, then the reviewer's signature, then the vouch.
    fn check_vouch(
        &self,
        matcher: &impl Matcher,
        envelope: &Envelope<'_>,
        delegation: &[u8],
    ) -> Result<Sealed, Refusal> {
        let inner = Envelope::parse(delegation)?;
        if inner.delegation.is_some() {
            return Err(Refusal::Malformed);
        }
        let signed = self.opening(&[Verb::Delegate]).open(&inner)?;
        let Body::Delegate(delegate) = &signed.payload.body else { return Err(Refusal::WrongVerb) };
        let quorum = delegate.kinds.iter().map(|kind| self.approvers.quorum(*kind)).max().unwrap_or(1);
        signed.need(quorum.max(self.quorum_at_least))?;
        if self.approvers.is_revoked(&delegate.id) {
            return Err(Refusal::Revoked);
        }
        check_reviewer(envelope, delegate)?;
        let payload = self.opening(&[Verb::Vouch]).read(&envelope.payload)?;
        let Body::Vouch(vouch) = &payload.body else { return Err(Refusal::WrongVerb) };
        let item = item_hash(self.item);
        if self.is_foreign() || vouch.item != item {
            return Err(Refusal::NotListed);
        }
        if !self.fits(matcher, delegate, vouch) {
            return Err(Refusal::NoMatch);
        }
        if self.human_only {
            return Err(Refusal::HumanOnly);
        }
        Ok(Sealed {
            item,
            executor: self.item.executor().to_owned(),
            authority: Authority::Vouch { delegation: delegate.id.clone() },
            signers: signed.signers,
            issued: payload.common.issued,
            expires: payload.common.expires,
            uses: 0,
        })
    }

    fn fits(&self, matcher: &impl Matcher, delegate: &Delegate, vouch: &Vouch) -> bool {
        vouch.delegation == delegate.id
            && vouch.risk <= delegate.max_risk
            && delegate.kinds.contains(&self.item.kind())
            && (delegate.executor == "*" || delegate.executor == self.item.executor())
            && matcher.delegation_covers(delegate, self.item, vouch.risk)
    }
}

/// Exactly one bare signature, by the key that the delegation names.
fn check_reviewer(envelope: &Envelope<'_>, delegate: &Delegate) -> Result<(), Refusal> {
    let [signature] = envelope.signatures.as_slice() else { return Err(Refusal::Malformed) };
    if signature.keyid != delegate.reviewer {
        return Err(Refusal::NotPinned);
    }
    let SignatureKind::Ed25519(value) = &signature.kind else { return Err(Refusal::Malformed) };
    let raw = Digest::parse(&delegate.reviewer).map_err(|_| Refusal::NotPinned)?;
    let key = PublicKey::ed25519(raw.as_bytes()).map_err(|_| Refusal::NotPinned)?;
    let message = Message::new(PROOF_TYPE, &envelope.payload);
    if key.verifies(message.pae(), value) { Ok(()) } else { Err(Refusal::BadSignature) }
}

#[cfg(test)]
mod tests;
