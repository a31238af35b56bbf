//! Payloads of every verb, as the page or a terminal would build them; any member may then be bent.

use crate::{b64, now_ms};
use serde_json::{Value, json};

/// Type bound into the challenge of a proof.
pub const PROOF_TYPE: &str = "application/vnd.sealward.proof.v1+json";
/// Type bound into the challenge of a login.
pub const LOGIN_TYPE: &str = "application/vnd.sealward.login.v1+json";

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A payload under construction: a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload(Value);

/// A fresh nonce: 16 random bytes as 22 base64url characters.
#[must_use]
pub fn nonce() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("system randomness");
    b64(&bytes)
}

impl Payload {
    fn of(verb: &str, life: i64) -> Self {
        let now = now_ms();
        Self(json!({ "v": 1, "verb": verb, "nonce": nonce(), "issued": now, "expires": now + life }))
    }

    /// Approves the items with these hashes, without an undo window, for an hour.
    #[must_use]
    pub fn approve<S: AsRef<str>>(hashes: &[S]) -> Self {
        let payload = Self::of("approve", HOUR);
        let issued = payload.0["issued"].clone();
        payload.with("items", list(hashes)).with("not_before", issued)
    }

    /// Denies the items with these hashes on a channel, with a reason.
    #[must_use]
    pub fn deny<S: AsRef<str>>(hashes: &[S], channel: &str, reason: &str) -> Self {
        Self::of("deny", DAY).with("items", list(hashes)).with("channel", channel).with("reason", reason)
    }

    /// A signed rule for one tool, pattern and scope, for a week and any number of uses.
    #[must_use]
    pub fn rule(kind: &str, tool: &str, pattern: &str, scope: &str, executor: &str) -> Self {
        Self::of("rule", 7 * DAY)
            .with("id", crate::new_id("rule"))
            .with("kind", kind)
            .with("tool", tool)
            .with("pattern", pattern)
            .with("scope", scope)
            .with("executor", executor)
            .with("matcher", 1)
            .with("uses", 0)
    }

    /// Delegates the kinds within a scope to a reviewer's key, up to low risk, for a day.
    #[must_use]
    pub fn delegate<S: AsRef<str>>(reviewer: &str, kinds: &[S], scope: &str, executor: &str) -> Self {
        Self::of("delegate", DAY)
            .with("id", crate::new_id("dlg"))
            .with("reviewer", reviewer)
            .with("kinds", list(kinds))
            .with("scope", scope)
            .with("max_risk", "low")
            .with("executor", executor)
    }

    /// A reviewer's yes on one item under a delegation.
    #[must_use]
    pub fn vouch(item: &str, delegation: &str, risk: &str) -> Self {
        Self::of("vouch", 10 * MINUTE).with("item", item).with("delegation", delegation).with("risk", risk)
    }

    /// Pins a key at one executor.
    #[must_use]
    pub fn pin(key: Value, executor: &str) -> Self {
        Self::of("pin", HOUR).with("key", key).with("executor", executor)
    }

    /// Revokes a `rule`, `delegation`, `key` or `warning` by its id.
    #[must_use]
    pub fn revoke(what: &str, id: &str) -> Self {
        Self::of("revoke", 366 * DAY).with("what", what).with("id", id)
    }

    /// The bytes the page builds for a login.
    #[must_use]
    pub fn login(nonce: &str, origin: &str) -> Self {
        Self(json!({ "v": 1, "nonce": nonce, "issued": now_ms(), "origin": origin }))
    }

    /// The same with one member set (or replaced).
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0[member] = value.into();
        self
    }

    /// The same without one member.
    #[must_use]
    pub fn without(mut self, member: &str) -> Self {
        self.0.as_object_mut().expect("a payload is an object").remove(member);
        self
    }

    /// All its times moved by `by_ms` (negative: into the past).
    #[must_use]
    pub fn moved(mut self, by_ms: i64) -> Self {
        for member in ["issued", "not_before", "expires"] {
            if let Some(time) = self.0[member].as_i64() {
                self.0[member] = json!(time + by_ms);
            }
        }
        self
    }

    /// One member, `null` where there is none.
    #[must_use]
    pub fn get(&self, member: &str) -> &Value {
        &self.0[member]
    }

    /// The exact bytes to sign.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.to_string().into_bytes()
    }
}

fn list<S: AsRef<str>>(texts: &[S]) -> Value {
    texts.iter().map(|text| Value::from(text.as_ref())).collect()
}
