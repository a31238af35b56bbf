//! Tests of rules and vouches with a matcher that covers everything, so that each check around the matching is reached.

use proto::{CommandItem, Item, Refusal, Timestamp};
use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey, Temp, approvers_file, now_ms, pae, proof_with};

use super::*;
use crate::payload::Rule;

struct Everything;

impl Matcher for Everything {
    fn rule_covers(&self, _: &Rule, _: &Item) -> bool {
        true
    }

    fn delegation_covers(&self, _: &Delegate, _: &Item, _: policy::delegation::Risk) -> bool {
        true
    }
}

/// One key, one item, a reviewer; the proof of each test is made from these and then bent. The checker is a second later.
struct Scene {
    phone: SoftPasskey,
    reviewer: SoftPasskey,
    item: Item,
    pins: Value,
    human_only: bool,
    identity: Option<&'static str>,
    now: i64,
}

impl Scene {
    fn new() -> Self {
        let phone = SoftPasskey::new(Alg::EdDsa);
        let item = Item::Command(CommandItem {
            id: testkit::new_id("cmd"),
            executor: "runner@build-1".to_owned(),
            task: "deploy".to_owned(),
            command: "make deploy".to_owned(),
            directory: "/srv".to_owned(),
        });
        let pins = approvers_file(&["runner@build-1"], &[&phone]);
        let reviewer = SoftPasskey::new(Alg::EdDsa);
        Self { phone, reviewer, item, pins, human_only: false, identity: None, now: now_ms() + 1000 }
    }

    fn hash(&self) -> String {
        item_hash(&self.item).to_string()
    }

    fn reviewer_hex(&self) -> String {
        testkit::hex(&self.reviewer.spki()[12..])
    }

    fn delegate(&self) -> Payload {
        Payload::delegate(&self.reviewer_hex(), &["command"], "*", "*")
    }

    /// A vouch under `delegate`, bent in its payload.
    fn vouched(&self, delegate: &Payload, bend: impl FnOnce(Payload) -> Payload) -> Value {
        let id = delegate.get("id").as_str().unwrap();
        let vouch = bend(Payload::vouch(&self.hash(), id, "low"));
        let signature = self.reviewer.raw_signature(&pae(testkit::PROOF_TYPE, &vouch.bytes()));
        let signature = json!({ "keyid": self.reviewer_hex(), "ed25519": testkit::b64(&signature) });
        let mut proof = proof_with(&vouch.bytes(), &[signature]);
        proof["delegation"] = self.phone.proof(delegate);
        proof
    }

    fn sealed(&self, proof: &Value) -> Result<Sealed, Refusal> {
        let approvers = Approvers::parse(self.pins.to_string().as_bytes()).unwrap();
        let check = ExecutorCheck {
            approvers: &approvers,
            identity: self.identity,
            item: &self.item,
            quorum_at_least: 0,
            human_only: self.human_only,
            now: Timestamp::from_millis(self.now),
        };
        check.check_by(&Everything, proof.to_string().as_bytes())
    }

    #[track_caller]
    fn refused(&self, refusal: Refusal, proof: &Value) {
        assert_eq!(self.sealed(proof).map(|sealed| sealed.authority().clone()), Err(refusal));
    }

    fn rule(&self) -> Payload {
        Payload::rule("command", "", "make *", "/srv", "runner@build-1")
    }
}

#[test]
fn a_rule_that_covers_seals_the_item_and_names_the_rule() {
    let scene = Scene::new();
    let rule = scene.rule();
    let sealed = scene.sealed(&scene.phone.proof(&rule)).unwrap();
    assert_eq!(sealed.item().to_string(), scene.hash());
    assert_eq!(sealed.authority(), &Authority::Rule { id: rule.get("id").as_str().unwrap().to_owned() });
    assert_eq!(sealed.signers()[0].label, "phone");
}

#[test]
fn a_rule_is_refused_when_revoked_then_when_it_does_not_match_then_for_human_only_items() {
    let mut scene = Scene::new();
    let rule = scene.rule();
    let proof = scene.phone.proof(&rule);
    scene.human_only = true;
    scene.refused(Refusal::HumanOnly, &proof);
    scene.identity = Some("runner@build-1");
    scene.refused(Refusal::HumanOnly, &proof);
    if let Item::Command(command) = &mut scene.item {
        command.executor = "runner@build-2".to_owned();
    }
    scene.refused(Refusal::NoMatch, &proof);
    scene.pins["revoked"] = json!([rule.get("id")]);
    scene.refused(Refusal::Revoked, &proof);
}

#[test]
fn a_rule_needs_the_quorum_of_its_kind_and_gets_no_skew_at_its_end() {
    let mut scene = Scene::new();
    let proof = scene.phone.proof(&scene.rule());
    scene.pins["quorum"] = json!({ "command": 2 });
    scene.refused(Refusal::Quorum, &proof);
    scene.pins["quorum"] = json!({ "ask": 2 });
    assert!(scene.sealed(&proof).is_ok());
    scene.now += 7 * 86_400_000 + 1000;
    scene.refused(Refusal::Expired, &proof);
}

#[test]
fn a_rule_with_uses_seals_that_many_items_and_never_one_more() {
    let mut scene = Scene::new();
    let proof = scene.phone.proof(&scene.rule().with("uses", 5));
    let home = Temp::new();
    let now = Timestamp::from_millis(scene.now);
    let store = ReplayStore::create(&home.join("replay"), now).unwrap();
    let mut next = || {
        if let Item::Command(command) = &mut scene.item {
            command.id = testkit::new_id("cmd");
        }
        let sealed = scene.sealed(&proof).unwrap();
        let same = scene.sealed(&proof).unwrap();
        let first = sealed.claim(&store, now).map(|_| ());
        assert_eq!(same.claim(&store, now), Err(Refusal::AlreadyUsed), "one item, whatever uses are left");
        first
    };
    let got: Vec<_> = (0..7).map(|_| next()).collect();
    let used = Err(Refusal::AlreadyUsed);
    assert_eq!(got, [Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), used, used]);
    // An item that the rule had no use left for is not burned: a person may still seal it.
    let approve = scene.phone.proof(&Payload::approve(&[scene.hash()]));
    assert_eq!(scene.sealed(&approve).unwrap().claim(&store, now).map(|_| ()), Ok(()));
}

#[test]
fn uses_are_counted_per_executor() {
    let mut scene = Scene::new();
    let proof = scene.phone.proof(&scene.rule().with("uses", 1).with("executor", "*"));
    let home = Temp::new();
    let now = Timestamp::from_millis(scene.now);
    let store = ReplayStore::create(&home.join("replay"), now).unwrap();
    for executor in ["runner@build-1", "runner@build-2"] {
        if let Item::Command(command) = &mut scene.item {
            command.executor = executor.to_owned();
        }
        assert!(scene.sealed(&proof).unwrap().claim(&store, now).is_ok(), "{executor}");
    }
}

#[test]
fn a_rule_older_than_the_store_holds_where_an_approval_and_a_vouch_do_not() {
    let scene = Scene::new();
    let home = Temp::new();
    let now = Timestamp::from_millis(scene.now);
    let store = ReplayStore::create(&home.join("replay"), now).unwrap();
    let old = scene.delegate();
    let vouch = scene.vouched(&old, |vouch| vouch.moved(-60_001 - 1000));
    assert_eq!(scene.sealed(&vouch).unwrap().claim(&store, now), Err(Refusal::StoreYoung));
    let approve = scene.phone.proof(&Payload::approve(&[scene.hash()]).moved(-60_001 - 1000));
    assert_eq!(scene.sealed(&approve).unwrap().claim(&store, now), Err(Refusal::StoreYoung));
    let rule = scene.phone.proof(&scene.rule().moved(-86_400_000));
    assert!(scene.sealed(&rule).unwrap().claim(&store, now).is_ok());
}

#[test]
fn a_vouch_under_a_delegation_seals_the_item() {
    let scene = Scene::new();
    let delegate = scene.delegate();
    let sealed = scene.sealed(&scene.vouched(&delegate, |vouch| vouch)).unwrap();
    let id = delegate.get("id").as_str().unwrap().to_owned();
    assert_eq!(sealed.authority(), &Authority::Vouch { delegation: id });
    assert_eq!(sealed.item().to_string(), scene.hash());
}

#[test]
fn a_vouch_is_refused_in_its_own_order() {
    let mut scene = Scene::new();
    let delegate = scene.delegate();
    let good = scene.vouched(&delegate, |vouch| vouch);

    // What the delegation's own steps refuse.
    let mut bent = good.clone();
    bent["delegation"]["signatures"] = json!([]);
    scene.refused(Refusal::NoSignature, &bent);
    bent["delegation"] = SoftPasskey::new(Alg::Es256).proof(&delegate);
    scene.refused(Refusal::NotPinned, &bent);
    bent["delegation"] = scene.phone.proof(&scene.rule());
    scene.refused(Refusal::WrongVerb, &bent);
    bent["delegation"] = good.clone();
    scene.refused(Refusal::Malformed, &bent);
    bent["delegation"] = Value::Null;
    scene.refused(Refusal::NoSignature, &bent);
    scene.refused(Refusal::Expired, &scene.vouched(&delegate.clone().moved(-86_400_001), |vouch| vouch));

    // The reviewer's signature.
    let mut bent = good.clone();
    bent["signatures"][0]["keyid"] = json!(scene.phone.id());
    scene.refused(Refusal::NotPinned, &bent);
    let mut bent = good.clone();
    bent["signatures"] = json!([good["signatures"][0], good["signatures"][0]]);
    scene.refused(Refusal::Malformed, &bent);
    bent["signatures"] = json!([{ "keyid": scene.reviewer_hex(), "webauthn":
        scene.phone.sign(&delegate)["webauthn"] }]);
    scene.refused(Refusal::Malformed, &bent);
    let mut bent = good.clone();
    bent["signatures"][0]["ed25519"] = json!(testkit::b64(&[7; 64]));
    scene.refused(Refusal::BadSignature, &bent);

    // The vouch.
    let bend = |change: &dyn Fn(Payload) -> Payload| scene.vouched(&delegate, change);
    scene.refused(Refusal::BadPayload, &bend(&|vouch| vouch.with("risk", "high")));
    scene.refused(Refusal::BadPayload, &bend(&|vouch| vouch.with("expires", scene.now + 660_001)));
    scene.refused(Refusal::Expired, &bend(&|vouch| vouch.moved(-660_001 - 1000)));
    scene.refused(Refusal::NotYet, &bend(&|vouch| vouch.moved(63_000)));
    scene.refused(Refusal::NotListed, &bend(&|vouch| vouch.with("item", "0".repeat(64))));
    scene.refused(Refusal::NoMatch, &bend(&|vouch| vouch.with("delegation", "dlg-0")));
    scene.refused(Refusal::NoMatch, &bend(&|vouch| vouch.with("risk", "medium")));
    let approve = Payload::approve(&[scene.hash()]);
    scene.refused(Refusal::WrongVerb, &bend(&|_| approve.clone()));
    let elsewhere = scene.delegate().with("executor", "runner@build-2");
    scene.refused(Refusal::NoMatch, &scene.vouched(&elsewhere, |vouch| vouch));
    let asks = scene.delegate().with("kinds", json!(["ask"]));
    scene.refused(Refusal::NoMatch, &scene.vouched(&asks, |vouch| vouch));

    scene.human_only = true;
    scene.refused(Refusal::HumanOnly, &good);
    scene.identity = Some("runner@build-2");
    scene.refused(Refusal::NoKeyPinned, &good);
    scene.pins["executor"] = json!("runner@build-2");
    scene.refused(Refusal::NotListed, &good);
    scene.pins["quorum"] = json!({ "command": 2 });
    scene.refused(Refusal::Quorum, &good);
    scene.pins["quorum"] = json!({});
    scene.pins["revoked"] = json!([delegate.get("id")]);
    scene.refused(Refusal::Revoked, &good);
}

#[test]
fn a_delegation_needs_the_highest_quorum_of_its_kinds() {
    let mut scene = Scene::new();
    let delegate = scene.delegate().with("kinds", json!(["command", "ask"]));
    let proof = scene.vouched(&delegate, |vouch| vouch);
    scene.pins["quorum"] = json!({ "ask": 2 });
    scene.refused(Refusal::Quorum, &proof);
    scene.pins["quorum"] = json!({ "review": 2 });
    assert!(scene.sealed(&proof).is_ok());
}

#[test]
fn an_approval_beside_a_delegation_is_no_vouch() {
    let scene = Scene::new();
    let mut proof = scene.phone.proof(&Payload::approve(&[scene.hash()]));
    proof["delegation"] = scene.phone.proof(&scene.delegate());
    scene.refused(Refusal::NotPinned, &proof);
}

#[test]
fn a_vouch_without_its_delegation_is_refused() {
    let scene = Scene::new();
    let mut proof = scene.vouched(&scene.delegate(), |vouch| vouch);
    proof.as_object_mut().unwrap().remove("delegation");
    scene.refused(Refusal::NotPinned, &proof);
    let signed_by_a_person = scene.phone.proof(&Payload::vouch(&scene.hash(), "dlg-0", "low"));
    scene.refused(Refusal::WrongVerb, &signed_by_a_person);
}

#[test]
fn a_bare_signature_by_a_pinned_key_says_nothing_of_a_person() {
    let scene = Scene::new();
    let payload = Payload::approve(&[scene.hash()]);
    let signature = scene.phone.raw_signature(&pae(testkit::PROOF_TYPE, &payload.bytes()));
    let bare = json!({ "keyid": scene.phone.id(), "ed25519": testkit::b64(&signature) });
    scene.refused(Refusal::Malformed, &proof_with(&payload.bytes(), &[bare]));
}
