//! The hub's check: undo windows ahead, quorums that collect, exactly the items it knows.
#![cfg(test)]

use proof::hub::{Covered, HubVerdict, check_entries, check_signature, check_standing};
use proto::{Digest, Kind, Refusal};
use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey, proof_of};

use crate::scene::{Scene, labels};

fn covered(hash: &str) -> Covered {
    Covered { hash: Digest::parse(hash).unwrap(), kind: Kind::Ask, quorum: 1 }
}

fn entries(scene: &Scene, proof: &Value, items: &[Covered]) -> Result<HubVerdict, Refusal> {
    check_entries(&scene.approvers(), proof.to_string().as_bytes(), items, scene.now())
}

fn two_persons() -> (Scene, SoftPasskey) {
    let mut scene = Scene::with(Alg::EdDsa);
    let second = SoftPasskey::new(Alg::EdDsa).label("laptop").person("bob");
    scene.pins = testkit::approvers_file(&["hub@desk"], &[&scene.phone, &second]);
    (scene, second)
}

#[test]
fn a_complete_approval_names_its_signers_and_payload() {
    let scene = Scene::new();
    let payload = scene.approve();
    let verdict = entries(&scene, &scene.phone.proof(&payload), &[covered(&scene.hash())]).unwrap();
    assert!(matches!(verdict, HubVerdict::Complete(_)));
    let checked = verdict.checked();
    assert_eq!((checked.have, checked.need, labels(&checked.signers)), (1, 1, vec!["phone"]));
    assert_eq!(checked.bytes, payload.bytes());
    assert_eq!(checked.payload.items()[0].to_string(), scene.hash());
}

#[test]
fn an_undo_window_may_end_within_a_minute() {
    let scene = Scene::new();
    for (ahead, verdict) in [(5000, Ok(())), (60_000, Ok(())), (60_001, Err(Refusal::NotYet))] {
        let proof = scene.phone.proof(&scene.approve().with("not_before", scene.now + ahead));
        assert_eq!(entries(&scene, &proof, &[covered(&scene.hash())]).map(|_| ()), verdict, "{ahead}");
    }
}

#[test]
fn too_few_persons_is_collecting_but_only_for_the_right_items() {
    let (mut scene, second) = two_persons();
    scene.pins["quorum"] = json!({ "ask": 2 });
    let payload = scene.approve();
    let one = proof_of(&payload, &[&scene.phone]);
    let items = [covered(&scene.hash())];
    let HubVerdict::Collecting(checked) = entries(&scene, &one, &items).unwrap() else {
        panic!("collecting")
    };
    assert_eq!((checked.have, checked.need), (1, 2));
    let wrong = entries(&scene, &one, &[covered(&"0".repeat(64))]);
    assert_eq!(wrong.map(|_| ()), Err(Refusal::NotListed));
    let both = entries(&scene, &proof_of(&payload, &[&scene.phone, &second]), &items).unwrap();
    assert!(matches!(both, HubVerdict::Complete(_)));
    assert_eq!(labels(&both.checked().signers), ["phone", "laptop"]);
}

#[test]
fn the_highest_quorum_of_pins_and_askers_counts() {
    let (mut scene, _) = two_persons();
    let other = "1".repeat(64);
    let proof = scene.phone.proof(&Payload::approve(&[scene.hash(), other.clone()]));
    let need = |scene: &Scene, quorum: u32, kind: Kind| {
        let items = [covered(&scene.hash()), Covered { quorum, kind, ..covered(&other) }];
        entries(scene, &proof, &items).unwrap().checked().need
    };
    assert_eq!(need(&scene, 0, Kind::Ask), 1);
    assert_eq!(need(&scene, 3, Kind::Ask), 3);
    scene.pins["quorum"] = json!({ "command": 2 });
    assert_eq!(need(&scene, 1, Kind::Command), 2);
    assert_eq!(need(&scene, 1, Kind::Call), 1);
}

#[test]
fn a_payload_must_list_exactly_what_the_hub_shows() {
    let scene = Scene::new();
    let (mine, more) = (scene.hash(), "2".repeat(64));
    let proof = scene.phone.proof(&Payload::approve(&[&mine, &more]));
    let code = |items: &[Covered]| entries(&scene, &proof, items).map(|_| ());
    assert_eq!(code(&[covered(&mine), covered(&more)]), Ok(()));
    assert_eq!(code(&[covered(&more), covered(&mine)]), Ok(()));
    assert_eq!(code(&[covered(&mine)]), Err(Refusal::NotListed));
    assert_eq!(code(&[]), Err(Refusal::NotListed));
    assert_eq!(code(&[covered(&mine), covered(&more), covered(&"3".repeat(64))]), Err(Refusal::NotListed));
}

#[test]
fn a_denial_needs_one_person_whatever_the_quorum() {
    let (mut scene, _) = two_persons();
    scene.pins["quorum"] = json!({ "ask": 2 });
    let proof = scene.phone.proof(&Payload::deny(&[scene.hash()], "broadcast", "no"));
    let verdict = entries(&scene, &proof, &[Covered { quorum: 5, ..covered(&scene.hash()) }]).unwrap();
    assert!(matches!(verdict, HubVerdict::Complete(_)));
}

#[test]
fn each_road_takes_its_own_verbs_only() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let reviewer = testkit::hex(&SoftPasskey::new(Alg::EdDsa).spki()[12..]);
    for (payload, items, standing) in [
        (scene.approve(), true, false),
        (Payload::deny(&[scene.hash()], "post", ""), true, false),
        (Payload::vouch(&scene.hash(), "dlg-1", "low"), false, false),
        (Payload::rule("ask", "Bash", "make *", "/repo", "*"), false, true),
        (Payload::delegate(&reviewer, &["ask"], "*", "*"), false, true),
        (Payload::pin(SoftPasskey::new(Alg::Es256).pin_entry(), "hook@laptop"), false, true),
        (Payload::revoke("key", "x"), false, true),
    ] {
        let proof = scene.phone.proof(&payload);
        let code = |verdict: Result<HubVerdict, Refusal>| match verdict {
            Ok(_) => true,
            Err(Refusal::WrongVerb) => false,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(code(entries(&scene, &proof, &[covered(&scene.hash())])), items, "{payload:?}");
        let bytes = proof.to_string();
        assert_eq!(code(check_standing(&approvers, bytes.as_bytes(), scene.now())), standing, "{payload:?}");
    }
}

#[test]
fn standing_verbs_need_their_own_quorums() {
    let (mut scene, _) = two_persons();
    scene.pins["quorum"] = json!({ "ask": 2, "review": 3 });
    let approvers = scene.approvers();
    let reviewer = testkit::hex(&SoftPasskey::new(Alg::EdDsa).spki()[12..]);
    for (payload, need) in [
        (Payload::rule("ask", "Bash", "make *", "/repo", "*"), 2),
        (Payload::rule("call", "exec", "make *", "/repo", "*"), 1),
        (Payload::delegate(&reviewer, &["ask", "call"], "*", "*"), 2),
        (Payload::pin(SoftPasskey::new(Alg::Es256).pin_entry(), "hook@laptop"), 3),
        (Payload::revoke("rule", "x"), 1),
    ] {
        let proof = scene.phone.proof(&payload).to_string();
        let verdict = check_standing(&approvers, proof.as_bytes(), scene.now()).unwrap();
        assert_eq!(verdict.checked().need, need, "{payload:?}");
    }
}

#[test]
fn one_more_signature_is_checked_alone_and_joined_to_the_others() {
    let (mut scene, second) = two_persons();
    scene.pins["quorum"] = json!({ "ask": 2 });
    let approvers = scene.approvers();
    let payload = scene.approve();
    let (first, more) = (scene.phone.sign(&payload).to_string(), second.sign(&payload).to_string());
    let signer = check_signature(&approvers, &payload.bytes(), more.as_bytes(), scene.now()).unwrap();
    assert_eq!((signer.label.as_str(), signer.person.name()), ("laptop", "bob"));
    let whole = proof::assemble(&payload.bytes(), &[&first, &more]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), proof_of(&payload, &[&scene.phone, &second]));
    let verdict = check_entries(&approvers, whole.as_bytes(), &[covered(&scene.hash())], scene.now());
    assert!(matches!(verdict, Ok(HubVerdict::Complete(_))));

    let over_another = second.sign(&scene.approve()).to_string();
    let check = |signature: &str| {
        check_signature(&approvers, &payload.bytes(), signature.as_bytes(), scene.now()).map(|_| ())
    };
    assert_eq!(check(&over_another), Err(Refusal::WrongChallenge));
    assert_eq!(check(&SoftPasskey::new(Alg::Es256).sign(&payload).to_string()), Err(Refusal::NotPinned));
    let late = scene.approve().moved(-3_700_000);
    let expired = second.sign(&late).to_string();
    let gone = check_signature(&approvers, &late.bytes(), expired.as_bytes(), scene.now());
    assert_eq!(gone.map(|_| ()), Err(Refusal::Expired));
    assert_eq!(check("{}"), Err(Refusal::Malformed));
    assert_eq!(check(""), Err(Refusal::NoSignature));
    assert_eq!(check(&" ".repeat(65_537)), Err(Refusal::TooLarge));
    assert_eq!(proof::assemble(b"x", &["{"]), Err(Refusal::Malformed));
}

#[test]
fn a_proof_that_carries_a_delegation_is_nothing_for_the_hub() {
    let scene = Scene::new();
    let mut proof = scene.phone.proof(&scene.approve());
    proof["delegation"] = json!({});
    assert_eq!(entries(&scene, &proof, &[covered(&scene.hash())]).map(|_| ()), Err(Refusal::Malformed));
}
