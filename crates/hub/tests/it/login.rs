//! Logging in and enrolling: what opens a session, what opens nothing, and what a signature at the door is worth.
#![cfg(test)]

use serde_json::{Value, json};
use testkit::{Alg, Bend, Payload, SoftPasskey, b64, proof_with, until};

use crate::house::{House, asked, sealing, state};

#[test]
fn every_kind_of_key_logs_in_and_gets_a_cookie_no_script_reads() {
    let house = House::new();
    for alg in [Alg::Es256, Alg::EdDsa, Alg::Rs256] {
        let key = SoftPasskey::at(alg, &house.origin).label("phone").person("ada");
        house.pin(&[&key]);
        let finish = house.page().post("/api/login/finish", &house.login_answer(&key)).expect(200);
        let cookie = finish.header("set-cookie").unwrap();
        for part in ["sealward=", "HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let body = finish.json();
        assert_eq!((&body["label"], &body["person"]), (&json!("phone"), &json!("ada")));
        assert!(!cookie.contains(body["token"].as_str().unwrap()), "two secrets, not one twice");
    }
    let file = std::fs::read(house.database()).unwrap();
    let answer = house.login_answer(&house.key("x"));
    assert!(!file.windows(16).any(|bytes| bytes == &answer["payload"].as_str().unwrap().as_bytes()[..16]));
}

#[test]
fn a_login_answer_works_once_fresh_and_from_a_pinned_key_only() {
    let house = House::new();
    let (key, _) = house.person();
    let finish = |answer: &Value| house.page().post("/api/login/finish", answer);
    let answer = house.login_answer(&key);
    finish(&answer).expect(200);
    assert_eq!(finish(&answer).expect(410).json()["code"], "gone", "the nonce is spent");
    let answer = house.login_answer(&house.key("stranger"));
    assert_eq!(finish(&answer).expect(400).json()["code"], "not_pinned");
    let answer = house.login_answer(&key);
    house.time.advance(61_000);
    assert_eq!(finish(&answer).expect(400).json()["code"], "expired");
    let now = house.time.now_ms();
    let own_nonce = Payload::login(&testkit::nonce(), &house.origin).with("issued", now);
    assert_eq!(finish(&signed(&key, &own_nonce)).expect(410).json()["code"], "gone", "not a nonce of ours");
    let start = house.page().post("/api/login/start", &json!({})).expect(200).json();
    let nonce = start["nonce"].as_str().unwrap();
    let elsewhere = Payload::login(nonce, "http://localhost:1").with("issued", now);
    assert_eq!(finish(&signed(&key, &elsewhere)).expect(400).json()["code"], "wrong_origin");
    let more = Payload::login(nonce, &house.origin).with("issued", now).with("items", json!(["x"]));
    assert_eq!(finish(&signed(&key, &more)).expect(400).json()["code"], "bad_payload");
    // The nonce was not spent by any of them.
    finish(&signed(&key, &Payload::login(nonce, &house.origin).with("issued", now))).expect(200);
}

fn signed(key: &SoftPasskey, payload: &Payload) -> Value {
    let signature = key.sign_bent(testkit::LOGIN_TYPE, &payload.bytes(), &Bend::default());
    json!({ "payload": b64(&payload.bytes()), "signature": signature })
}

#[test]
fn a_login_over_a_proofs_bytes_seals_nothing_and_a_proof_logs_nobody_in() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "rm -rf build");
    let payload = house.approval(&[&item]);
    // Somebody got the key to sign a login whose bytes are a proof's payload.
    let login = signed(&key, &payload);
    assert_eq!(house.page().post("/api/login/finish", &login).expect(400).json()["code"], "bad_payload");
    let proof = proof_with(&payload.bytes(), &[login["signature"].clone()]);
    let refused = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(400).json();
    assert_eq!(refused["code"], "wrong_challenge");
    // And the other way round.
    let start = house.page().post("/api/login/start", &json!({})).expect(200).json();
    let bytes = Payload::login(start["nonce"].as_str().unwrap(), &house.origin)
        .with("issued", house.time.now_ms())
        .bytes();
    let signature = key.sign_bent(testkit::PROOF_TYPE, &bytes, &Bend::default());
    let answer = json!({ "payload": b64(&bytes), "signature": signature });
    assert_eq!(house.page().post("/api/login/finish", &answer).expect(400).json()["code"], "wrong_challenge");
    assert_eq!(state(&hook, &item)["status"], "pending");
}

#[test]
fn sessions_are_listed_ended_and_outlived() {
    let house = House::new();
    let (key, first) = house.person();
    let second = house.login(&key);
    let sessions = first.get("/api/sessions").expect(200).json()["sessions"].clone();
    assert_eq!((&sessions[0]["current"], &sessions[1]["current"]), (&json!(true), &json!(false)));
    let other = sessions[1]["id"].as_str().unwrap();
    first.post(&format!("/api/sessions/{other}/end"), &json!({})).expect(204);
    first.post(&format!("/api/sessions/{other}/end"), &json!({})).expect(404);
    second.get("/api/me").expect(401);
    let cleared = first.post("/api/logout", &json!({})).expect(204);
    assert!(cleared.header("set-cookie").unwrap().contains("Max-Age=0"));
    first.get("/api/me").expect(401);
    let third = house.login(&key);
    house.time.advance(12 * 3_600_000 + 1);
    third.get("/api/me").expect(401);
}

#[test]
fn resuming_takes_a_fresh_answer_of_a_passkey_and_pausing_only_a_tap() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let proof = key.proof(&house.approval(&[&item]));
    browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202);
    assert_eq!(hook.post("/api/pause", &json!({})).expect(200).json(), json!({ "paused": true }));
    house.time.advance(10_000);
    assert_eq!(browser.get("/api/me").expect(200).json()["paused"], true);
    assert_eq!(
        hook.get(&format!("/api/asks/{}?wait=1", item.get("id"))).expect(200).json()["status"],
        "settling"
    );
    browser.post("/api/resume", &json!({})).expect(400);
    let old = house.login_answer(&key);
    house.time.advance(61_000);
    assert_eq!(browser.post("/api/resume", &old).expect(400).json()["code"], "expired");
    let stranger = house.login_answer(&house.key("stranger"));
    browser.post("/api/resume", &stranger).expect(400);
    assert_eq!(browser.get("/api/me").expect(200).json()["paused"], true);
    browser.post("/api/resume", &house.login_answer(&key)).expect(200);
    until("what was due is released", || state(&hook, &item)["status"] == "allowed");
    // What was released but not fetched is held back too.
    browser.post("/api/pause", &json!({})).expect(200);
    assert_eq!(state(&hook, &item), json!({ "status": "settling" }));
    browser.post("/api/resume", &house.login_answer(&key)).expect(200);
    assert_eq!(state(&hook, &item)["proof"], proof);
}

pub(crate) fn open_enrolment(house: &House, code: &str, lives_ms: i64) {
    let digest: String = testkit::sha256(code.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let file =
        json!({ "v": 1, "code_sha256": digest, "expires": house.time.now_ms() + lives_ms, "tries": 0 });
    testkit::write_private(&house.folder.join("enrol.json"), &file.to_string());
}

#[test]
fn a_link_proposes_one_key_and_pins_none() {
    let house = House::new();
    let (_, browser) = house.person();
    let key = house.key("new phone");
    let body = json!({ "code": "right", "key": key.pin_entry() });
    house.page().post("/api/enrol", &body).expect(410);
    open_enrolment(&house, "right", 600_000);
    let proposed = house.page().post("/api/enrol", &body).expect(202).json();
    assert_eq!(proposed, json!({ "fingerprint": testkit::fingerprint(&key.spki()), "label": "new phone" }));
    let file = house.folder.join(format!("proposals/{}.json", key.id()));
    let entry: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&entry["id"], &entry["spki"]), (&json!(key.id()), &key.pin_entry()["spki"]));
    assert!(!house.folder.join("enrol.json").exists());
    assert_eq!(house.page().post("/api/enrol", &body).expect(410).json()["code"], "gone", "it works once");
    let refused = house.page().post("/api/login/finish", &house.login_answer(&key)).expect(400).json();
    assert_eq!(refused["code"], "not_pinned", "a proposed key logs in to nothing");
    let events = browser.get("/api/events?kinds=enrol_proposed").expect(200).json();
    assert_eq!(events["events"][0]["event"]["label"], "new phone");
}

#[test]
fn a_link_bears_five_tries_and_ten_minutes_and_only_keys_of_this_page() {
    let house = House::new();
    let key = house.key("new");
    let enrol =
        |code: &str, key: Value| house.page().post("/api/enrol", &json!({ "code": code, "key": key }));
    open_enrolment(&house, "right", 600_000);
    let with = |member: &str, value: Value| {
        let mut entry = key.pin_entry();
        entry[member] = value;
        entry
    };
    for entry in [
        with("rp_id", json!("example.org")),
        with("origins", json!(["http://localhost:1"])),
        with("origins", json!([])),
        with("spki", json!("AAAA")),
        with("alg", json!(-35)),
        with("label", json!("")),
        with("id", json!("../../approvers")),
    ] {
        enrol("right", entry).expect(400);
    }
    for _ in 0..4 {
        assert_eq!(enrol("wrong", key.pin_entry()).expect(403).json()["code"], "forbidden");
    }
    house.time.advance(600_001);
    enrol("right", key.pin_entry()).expect(410);
    house.time.advance(-600_001);
    enrol("wrong", key.pin_entry()).expect(403);
    enrol("right", key.pin_entry()).expect(410);
    assert!(!house.folder.join("proposals").exists());
}

#[test]
fn the_door_turns_a_flood_away() {
    let house = House::new();
    let page = house.page();
    let statuses: Vec<u16> = (0..601).map(|_| page.post("/api/login/start", &json!({})).status).collect();
    assert!(statuses[..600].iter().all(|status| *status == 200));
    assert_eq!(statuses[600], 429);
}
