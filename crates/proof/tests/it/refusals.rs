//! Every refusal that a checker can give, reached from outside, and the order in which they are given.
#![cfg(test)]

use std::collections::BTreeSet;

use proof::ReplayStore;
use proto::Refusal;
use serde_json::{Value, json};
use testkit::{Alg, Bend, Payload, SoftPasskey, Temp, proof_of};

use crate::scene::Scene;

/// The rows of step 1 to 8: what is done, and the code it must give.
fn rows() -> Vec<(&'static str, &'static str)> {
    let scene = Scene::new();
    let good = scene.phone.proof(&scene.approve());
    let with = |member: &str, value: Value| {
        let mut proof = good.clone();
        proof[member] = value;
        scene.code(&proof)
    };
    let pinned = |change: &dyn Fn(&mut Value)| {
        let mut scene = Scene::new();
        change(&mut scene.pins);
        let proof = scene.phone.proof(&scene.approve());
        scene.code(&proof)
    };
    let bend = Bend::default();
    let other_hash = "0".repeat(64);
    vec![
        ("ok", scene.code(&good)),
        ("too_large", with("padding", json!("x".repeat(65536)))),
        ("malformed", with("padding", json!("x"))),
        ("malformed", with("payloadType", json!(testkit::LOGIN_TYPE))),
        ("malformed", with("payload", json!("AA=="))),
        ("malformed", with("payload", json!("AB"))),
        ("malformed", with("signatures", json!({}))),
        ("malformed", with("signatures", json!([{ "keyid": "AA" }]))),
        ("no_signature", with("signatures", json!([]))),
        ("no_signature", scene.sealed(b"").map_or_else(Refusal::code, |_| "ok")),
        ("no_signature", scene.sealed(b" null\n").map_or_else(Refusal::code, |_| "ok")),
        ("no_key_pinned", pinned(&|pins| pins["keys"] = json!([]))),
        ("no_key_pinned", pinned(&|pins| pins["executor"] = json!(["commit@laptop"]))),
        ("not_pinned", scene.code(&SoftPasskey::new(Alg::Es256).proof(&scene.approve()))),
        ("revoked", pinned(&|pins| pins["revoked"] = json!([pins["keys"][0]["id"]]))),
        ("lapsed_key", pinned(&|pins| pins["keys"][0]["not_after"] = json!(1))),
        ("not_pinned", pinned(&|pins| pins["keys"] = json!([pins["keys"][0], pins["keys"][0]]))),
        ("wrong_type", scene.bent(&Bend { client_type: Some("webauthn.create".to_owned()), ..bend.clone() })),
        ("wrong_challenge", scene.bent(&Bend { challenge: Some(vec![0; 32]), ..bend.clone() })),
        ("wrong_origin", scene.bent(&Bend { origin: Some("http://localhost".to_owned()), ..bend.clone() })),
        ("cross_origin", scene.bent(&Bend { cross_origin: true, ..bend.clone() })),
        ("cross_origin", scene.bent(&Bend { top_origin: Some("http://a".to_owned()), ..bend.clone() })),
        ("malformed", scene.bent(&Bend { client_tail: ",".to_owned(), ..bend.clone() })),
        ("malformed", scene.bent(&Bend { tail: vec![0], ..bend.clone() })),
        ("wrong_rp", scene.bent(&Bend { rp_id: Some("example.org".to_owned()), ..bend.clone() })),
        ("user_absent", scene.bent(&Bend { flags: Some(0x04), ..bend.clone() })),
        ("user_unverified", scene.bent(&Bend { flags: Some(0x01), ..bend.clone() })),
        ("backup_mismatch", scene.bent(&Bend { flags: Some(0x0d), ..bend.clone() })),
        ("bad_signature", scene.bent(&Bend { bad_signature: true, ..bend })),
        ("bad_payload", scene.signed(&scene.approve().with("v", 2))),
        ("wrong_verb", scene.signed(&Payload::deny(&[scene.hash()], "post", ""))),
        ("wrong_verb", scene.signed(&Payload::revoke("key", "x"))),
        // The verb comes before the times.
        ("wrong_verb", scene.signed(&Payload::deny(&[scene.hash()], "post", "").moved(-864_000_000))),
        ("wrong_verb", scene.signed(&Payload::deny(&[scene.hash()], "post", "").with("expires", 0))),
        ("not_yet", scene.signed(&scene.approve().with("not_before", scene.now + 1))),
        ("expired", scene.signed(&scene.approve().moved(-3_662_001))),
        ("quorum", pinned(&|pins| pins["quorum"] = json!({ "ask": 2 }))),
        ("not_listed", scene.signed(&Payload::approve(&[other_hash]))),
        ("no_match", scene.signed(&Payload::rule("review", "", "*", "*", "*"))),
    ]
}

/// `human_only` needs a rule that matches and is reached beside the matcher, in `executor/tests.rs`.
const REACHED_ELSEWHERE: [&str; 1] = ["human_only"];

#[test]
fn every_refusal_is_reached_and_is_the_one_that_was_meant() {
    let mut reached: BTreeSet<&str> = REACHED_ELSEWHERE.into();
    for (at, (meant, got)) in rows().into_iter().enumerate() {
        assert_eq!(got, meant, "row {at}");
        reached.insert(meant);
    }
    let scene = Scene::new();
    let home = Temp::new();
    let seal = || scene.sealed(scene.phone.proof(&scene.approve()).to_string().as_bytes()).unwrap();
    let store = ReplayStore::create(&home.join("replay"), scene.now()).unwrap();
    assert!(seal().claim(&store, scene.now()).is_ok());
    let old = scene.phone.proof(&scene.approve().moved(-60_001 - 1000)).to_string();
    let claims = [
        (Refusal::AlreadyUsed, seal().claim(&store, scene.now())),
        (Refusal::ClockBack, seal().claim(&store, scene.now().plus(-60_001))),
        (Refusal::StoreYoung, scene.sealed(old.as_bytes()).unwrap().claim(&store, scene.now())),
    ];
    for (meant, got) in claims {
        assert_eq!(got, Err(meant));
        reached.insert(meant.code());
    }
    std::fs::remove_dir_all(store.path()).unwrap();
    assert_eq!(seal().claim(&store, scene.now()), Err(Refusal::StoreDamaged));
    reached.insert(Refusal::StoreDamaged.code());
    reached.remove("ok");
    assert_eq!(reached, Refusal::ALL.iter().map(|refusal| refusal.code()).collect());
}

#[test]
fn the_first_refusal_in_signature_order_is_the_answer() {
    let mut scene = Scene::new();
    let (laptop, stranger) = (SoftPasskey::new(Alg::EdDsa), SoftPasskey::new(Alg::EdDsa));
    scene.pins["keys"] = json!([scene.phone.pin_entry(), laptop.pin_entry()]);
    let payload = scene.approve();
    let bad = |key: &SoftPasskey| {
        key.sign_bent(testkit::PROOF_TYPE, &payload.bytes(), &Bend { bad_signature: true, ..Bend::default() })
    };
    let code = |signatures: &[Value]| scene.code(&testkit::proof_with(&payload.bytes(), signatures));
    assert_eq!(code(&[scene.phone.sign(&payload), laptop.sign(&payload)]), "ok");
    assert_eq!(code(&[scene.phone.sign(&payload), bad(&laptop)]), "bad_signature");
    assert_eq!(code(&[bad(&scene.phone), stranger.sign(&payload)]), "bad_signature");
    assert_eq!(code(&[stranger.sign(&payload), bad(&scene.phone)]), "not_pinned");
}

#[test]
fn a_quorum_is_of_persons_and_a_grant_may_raise_it() {
    let mut scene = Scene::new();
    let keys: Vec<SoftPasskey> = [Some("ada"), Some("ada"), Some("bob"), None]
        .into_iter()
        .map(|person| {
            let key = SoftPasskey::new(Alg::EdDsa);
            person.map_or_else(|| SoftPasskey::new(Alg::EdDsa), |name| key.person(name))
        })
        .collect();
    let all: Vec<&SoftPasskey> = keys.iter().collect();
    scene.pins = testkit::approvers_file(&[crate::scene::HOOK], &all);
    let payload = scene.approve();
    for (quorum, granted, signers, meant) in [
        (2, 0, vec![0, 1], "quorum"),
        (2, 0, vec![0, 2], "ok"),
        (2, 0, vec![0, 3], "ok"),
        (2, 0, vec![3, 3], "quorum"),
        (3, 0, vec![0, 1, 2, 3], "ok"),
        (4, 0, vec![0, 1, 2, 3], "quorum"),
        (1, 2, vec![0], "quorum"),
        (1, 2, vec![0, 2], "ok"),
        (2, 1, vec![0], "quorum"),
    ] {
        scene.pins["quorum"] = json!({ "ask": quorum, "command": 9 });
        scene.quorum_at_least = granted;
        let signing: Vec<&SoftPasskey> = signers.iter().map(|at| all[*at]).collect();
        assert_eq!(scene.code(&proof_of(&payload, &signing)), meant, "{quorum} {granted} {signers:?}");
    }
}

#[test]
fn a_proof_for_one_machine_is_void_on_another() {
    let mut scene = Scene::new();
    let proof = scene.phone.proof(&scene.approve());
    scene.pins["executor"] = json!(["hook@laptop", "hook@desktop"]);
    assert_eq!(scene.code(&proof), "ok");
    // The item still says `hook@laptop`; who checks is another, pinned by the same file.
    scene.identity = Some("hook@desktop");
    assert_eq!(scene.code(&proof), "not_listed");
    scene.identity = Some("hook@nowhere");
    assert_eq!(scene.code(&proof), "no_key_pinned");
}

#[test]
fn a_key_that_must_not_be_pinned_counts_for_nothing_and_is_named() {
    let mut scene = Scene::with(Alg::EdDsa);
    let good = scene.phone.pin_entry();
    let weak = testkit::b64(&[&scene.phone.spki()[..12], &[1], &[0; 31]].concat());
    for (member, value) in
        [("alg", json!(-35)), ("alg", json!(-7)), ("spki", json!("AA")), ("spki", json!(weak))]
    {
        let mut entry = good.clone();
        entry[member] = value;
        scene.pins["keys"] = json!([entry, SoftPasskey::new(Alg::Es256).pin_entry()]);
        assert_eq!(scene.signed(&scene.approve()), "not_pinned");
        assert_eq!(scene.approvers().unusable().count(), 1);
    }
}

#[test]
fn an_executor_may_wait_for_the_end_of_an_undo_window_and_no_longer() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let check = proof::ExecutorCheck {
        approvers: &approvers,
        identity: scene.identity,
        item: &scene.item,
        quorum_at_least: 0,
        human_only: false,
        now: scene.now(),
    };
    for (ahead, ready) in [(5000, true), (60_000, true), (60_001, false)] {
        let payload = scene.approve().with("not_before", scene.now + ahead);
        let proof = scene.phone.proof(&payload).to_string();
        assert_eq!(check.check(proof.as_bytes()).map(|_| ()), Err(Refusal::NotYet));
        assert_eq!(check.ready_at(proof.as_bytes()), ready.then(|| scene.now().plus(ahead)));
    }
}

#[test]
fn the_proof_object_is_as_strict_as_a_payload() {
    let scene = Scene::new();
    let good = scene.phone.proof(&scene.approve());
    let text = good.to_string();
    let raw = |text: &str| scene.sealed(text.as_bytes()).map_or_else(Refusal::code, |_| "ok");
    assert_eq!(raw(&format!(" {text}\n")), "ok");
    let signature = good["signatures"][0].to_string();
    let doubled = text.replacen(r#""keyid""#, r#""keyid":"AA","keyid""#, 1);
    for bad in [
        text.replacen('{', r#"{"payload":"","#, 1),
        doubled,
        format!("[{text}]"),
        format!("{text}{text}"),
        format!("\u{feff}{text}"),
        json!([good["payloadType"], good["payload"], good["signatures"]]).to_string(),
        text.replace(&signature, &format!("{signature},null")),
        text.replace(&signature, &format!("[{signature}]")),
        "{".to_owned(),
        "7".to_owned(),
    ] {
        assert_eq!(raw(&bad), "malformed", "{bad}");
    }
    let bent = |path: &[&str], value: Value| {
        let mut proof = good.clone();
        let mut at = &mut proof["signatures"][0];
        for name in path {
            at = &mut at[*name];
        }
        *at = value;
        scene.code(&proof)
    };
    let padded =
        |name: &str| json!(format!("{}=", good["signatures"][0]["webauthn"][name].as_str().unwrap()));
    assert_eq!(bent(&["keyid"], json!("+/+/")), "malformed");
    assert_eq!(bent(&["keyid"], json!("AB")), "malformed");
    assert_eq!(bent(&["keyid"], json!(7)), "malformed");
    assert_eq!(bent(&["sshsig"], json!("")), "malformed", "a second kind");
    assert_eq!(bent(&["ed25519"], json!("")), "malformed", "a second kind");
    assert_eq!(bent(&["extra"], json!("")), "malformed");
    assert_eq!(bent(&["webauthn", "extra"], json!("")), "malformed");
    assert_eq!(bent(&["webauthn", "userHandle"], Value::Null), "malformed");
    assert_eq!(bent(&["webauthn"], json!("")), "malformed");
    for name in ["authenticatorData", "clientDataJSON", "signature"] {
        assert_eq!(bent(&["webauthn", name], padded(name)), "malformed", "{name}");
        assert_eq!(bent(&["webauthn", name], Value::Null), "malformed", "{name}");
    }
}
