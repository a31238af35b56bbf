//! One key, one item, one moment: what most tests start from and then bend.
#![cfg(test)]

use proof::{Approvers, ExecutorCheck, Sealed, Signer};
use proto::{AskItem, Item, Refusal, Timestamp};
use serde_json::Value;
use testkit::{Alg, Bend, PROOF_TYPE, Payload, SoftPasskey, approvers_file, now_ms, proof_with};

pub(crate) const HOOK: &str = "hook@laptop";

pub(crate) struct Scene {
    pub(crate) phone: SoftPasskey,
    pub(crate) item: Item,
    pub(crate) pins: Value,
    pub(crate) identity: Option<&'static str>,
    pub(crate) quorum_at_least: u32,
    /// A second after the payloads' own clock.
    pub(crate) now: i64,
}

pub(crate) fn new_item() -> Item {
    Item::Ask(AskItem {
        id: testkit::new_id("ask"),
        executor: HOOK.to_owned(),
        agent: "claude".to_owned(),
        session: "s1".to_owned(),
        tool: "Bash".to_owned(),
        input: r#"{"command":"make deploy"}"#.to_owned(),
        cwd: "/repo".to_owned(),
    })
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Alg::Es256)
    }

    pub(crate) fn with(alg: Alg) -> Self {
        let phone = SoftPasskey::new(alg);
        let pins = approvers_file(&[HOOK], &[&phone]);
        Self { phone, item: new_item(), pins, identity: Some(HOOK), quorum_at_least: 0, now: now_ms() + 1000 }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    pub(crate) fn hash(&self) -> String {
        proof::item_hash(&self.item).to_string()
    }

    pub(crate) fn approve(&self) -> Payload {
        Payload::approve(&[self.hash()])
    }

    pub(crate) fn approvers(&self) -> Approvers {
        Approvers::parse(self.pins.to_string().as_bytes()).unwrap()
    }

    pub(crate) fn sealed(&self, proof: &[u8]) -> Result<Sealed, Refusal> {
        ExecutorCheck {
            approvers: &self.approvers(),
            identity: self.identity,
            item: &self.item,
            quorum_at_least: self.quorum_at_least,
            human_only: true,
            now: self.now(),
        }
        .check(proof)
    }

    /// The code of a proof: `ok` or a refusal's.
    pub(crate) fn code(&self, proof: &Value) -> &'static str {
        self.sealed(proof.to_string().as_bytes()).map_or_else(Refusal::code, |_| "ok")
    }

    /// The code of the honest approval with its assertion bent.
    pub(crate) fn bent(&self, bend: &Bend) -> &'static str {
        let payload = self.approve().bytes();
        self.code(&proof_with(&payload, &[self.phone.sign_bent(PROOF_TYPE, &payload, bend)]))
    }

    /// The code of an honest signature over any payload.
    pub(crate) fn signed(&self, payload: &Payload) -> &'static str {
        self.code(&self.phone.proof(payload))
    }
}

/// The labels of signers, for comparing.
pub(crate) fn labels(signers: &[Signer]) -> Vec<&str> {
    signers.iter().map(|signer| signer.label.as_str()).collect()
}
