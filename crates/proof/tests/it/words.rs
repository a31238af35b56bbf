//! Denials, messages and logins: signed words that allow nothing.
#![cfg(test)]

use proof::{ReplayStore, check_denial, check_login, check_message};
use proto::{Channel, Refusal};
use serde_json::json;
use testkit::{Alg, Bend, LOGIN_TYPE, PROOF_TYPE, Payload, SoftPasskey, Temp};

use crate::scene::{HOOK, Scene};

#[test]
fn a_denial_is_quoted_to_its_asker_as_often_as_it_is_fetched() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let deny = Payload::deny(&[scene.hash()], "call", "use the staging host");
    let proof = scene.phone.proof(&deny).to_string();
    for _ in 0..2 {
        let denial =
            check_denial(&approvers, scene.identity, &scene.item, proof.as_bytes(), scene.now()).unwrap();
        assert_eq!((denial.channel, denial.reason.as_str()), (Channel::Call, "use the staging host"));
        assert_eq!((denial.label(), denial.nonce.as_str()), ("phone", deny.get("nonce").as_str().unwrap()));
    }
}

#[test]
fn a_denial_of_another_item_machine_or_verb_is_not_quoted() {
    let mut scene = Scene::new();
    scene.pins["executor"] = json!([HOOK, "hook@desktop"]);
    let approvers = scene.approvers();
    let code = |payload: &Payload, identity: &str| {
        let proof = scene.phone.proof(payload).to_string();
        check_denial(&approvers, Some(identity), &scene.item, proof.as_bytes(), scene.now()).map(|_| ())
    };
    let deny = Payload::deny(&[scene.hash()], "post", "");
    assert_eq!(code(&deny, HOOK), Ok(()));
    assert_eq!(code(&deny, "hook@desktop"), Err(Refusal::NotListed));
    assert_eq!(code(&deny, "hook@nowhere"), Err(Refusal::NoKeyPinned));
    assert_eq!(code(&Payload::deny(&["0".repeat(64)], "post", ""), HOOK), Err(Refusal::NotListed));
    assert_eq!(code(&scene.approve(), HOOK), Err(Refusal::WrongVerb));
    let mut odd = scene.phone.proof(&deny);
    odd["delegation"] = json!({});
    let odd = check_denial(&approvers, Some(HOOK), &scene.item, odd.to_string().as_bytes(), scene.now());
    assert_eq!(odd.map(|_| ()), Err(Refusal::Malformed));
}

#[test]
fn a_message_is_delivered_once_to_each_executor() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let home = Temp::new();
    let store = ReplayStore::create(&home.join("replay"), scene.now()).unwrap();
    let proof = scene.phone.proof(&Payload::deny(&["0".repeat(64)], "pan-pan", "stop")).to_string();
    let deliver = |executor: &str| {
        let message = check_message(&approvers, scene.identity, proof.as_bytes(), scene.now()).unwrap();
        assert_eq!(message.denial().reason, "stop");
        message.claim(&store, executor, scene.now()).map(|denial| denial.channel)
    };
    assert_eq!(deliver(HOOK), Ok(Channel::PanPan));
    assert_eq!(deliver(HOOK), Err(Refusal::AlreadyUsed));
    assert_eq!(deliver("hook@desktop"), Ok(Channel::PanPan));
    assert_eq!(deliver("hook@desktop"), Err(Refusal::AlreadyUsed));
}

#[test]
fn a_message_older_than_the_store_is_delivered() {
    let scene = Scene::new();
    let home = Temp::new();
    let store = ReplayStore::create(&home.join("replay"), scene.now()).unwrap();
    let deny = Payload::deny(&["0".repeat(64)], "security", "key stolen").moved(-7_200_000);
    let proof = scene.phone.proof(&deny).to_string();
    let message = check_message(&scene.approvers(), scene.identity, proof.as_bytes(), scene.now()).unwrap();
    assert!(message.claim(&store, HOOK, scene.now()).is_ok());
}

const ORIGIN: &str = "http://localhost:8787";

fn login(scene: &Scene, payload: &Payload, payload_type: &str, origin: &str) -> Result<String, Refusal> {
    let bytes = payload.bytes();
    let signature = scene.phone.sign_bent(payload_type, &bytes, &Bend::default()).to_string();
    check_login(&scene.approvers(), &bytes, signature.as_bytes(), origin, scene.now())
        .map(|login| login.nonce)
}

#[test]
fn a_login_is_signed_over_its_own_type_with_its_own_members_and_is_fresh() {
    let scene = Scene::with(Alg::EdDsa);
    let nonce = testkit::nonce();
    let good = Payload::login(&nonce, ORIGIN);
    assert_eq!(login(&scene, &good, LOGIN_TYPE, ORIGIN), Ok(nonce));
    let code = |payload: Payload| login(&scene, &payload, LOGIN_TYPE, ORIGIN).map(|_| ());
    assert_eq!(login(&scene, &good, PROOF_TYPE, ORIGIN), Err(Refusal::WrongChallenge));
    assert_eq!(login(&scene, &good, LOGIN_TYPE, "http://localhost:8788"), Err(Refusal::WrongOrigin));
    assert_eq!(code(good.clone().with("origin", "http://evil.example")), Err(Refusal::WrongOrigin));
    for bad in [
        good.clone().with("v", 2),
        good.clone().with("nonce", "AAAA"),
        good.clone().with("verb", "approve"),
        good.clone().without("issued"),
        good.clone().with("issued", "now"),
        scene.approve(),
    ] {
        assert_eq!(code(bad), Err(Refusal::BadPayload));
    }
    for (issued, verdict) in [
        (60_000, Ok(())),
        (60_001, Err(Refusal::NotYet)),
        (-60_000, Ok(())),
        (-60_001, Err(Refusal::Expired)),
    ] {
        assert_eq!(code(good.clone().with("issued", scene.now + issued)), verdict, "{issued}");
    }
}

#[test]
fn only_a_pinned_key_logs_in() {
    let mut scene = Scene::new();
    let payload = Payload::login(&testkit::nonce(), ORIGIN);
    scene.phone = SoftPasskey::new(Alg::Es256);
    assert_eq!(login(&scene, &payload, LOGIN_TYPE, ORIGIN), Err(Refusal::NotPinned));
    scene.pins["keys"] = json!([]);
    assert_eq!(login(&scene, &payload, LOGIN_TYPE, ORIGIN), Err(Refusal::NoKeyPinned));
}

#[test]
fn a_login_is_no_proof_and_a_proof_no_login() {
    let scene = Scene::new();
    let payload = scene.approve().bytes();
    let signature = scene.phone.sign_bent(LOGIN_TYPE, &payload, &Bend::default());
    assert_eq!(scene.code(&testkit::proof_with(&payload, &[signature])), "wrong_challenge");
}
