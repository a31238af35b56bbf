//! Pins and revocations as proofs: stored for every machine, and followed by the hub itself.
#![cfg(test)]

use proto::api::Role;
use serde_json::{Value, json};
use testkit::{Http, Payload, SoftPasskey};

use crate::house::{HOOK, HUB, House};

fn standing(browser: &Http, proof: &Value) -> testkit::Answer {
    browser.post("/api/proofs", &json!({ "proof": proof, "entries": [] }))
}

fn sign(house: &House, key: &SoftPasskey, payload: Payload) -> Value {
    key.proof(&house.dated(payload))
}

#[test]
fn a_pinned_key_is_told_to_machines_and_logs_in_only_where_it_is_pinned() {
    let house = House::new();
    let (key, browser) = house.person();
    let runner = house.machine("runner", Role::Runner, &["runner@b1"]);
    let (here, there) = (house.key("here"), house.key("there"));
    let for_hub = sign(&house, &key, Payload::pin(here.pin_entry(), HUB));
    assert_eq!(standing(&browser, &for_hub).expect(201).json()["id"], here.id());
    let for_hook = sign(&house, &key, Payload::pin(there.pin_entry(), HOOK));
    standing(&browser, &for_hook).expect(201);
    assert_eq!(standing(&browser, &for_hook).expect(409).json()["code"], "duplicate");
    house.login(&here).get("/api/me").expect(200);
    let stranger = house.page().post("/api/login/finish", &house.login_answer(&there)).expect(400).json();
    assert_eq!(stranger["code"], "not_pinned");
    let trust = runner.get("/api/trust").expect(200).json();
    let proofs = trust["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), 2);
    assert_eq!((&proofs[0]["verb"], &proofs[0]["proof"]), (&json!("pin"), &for_hub));
    let next = trust["next"].as_u64().unwrap();
    let after = runner.get(&format!("/api/trust?since={next}")).expect(200).json();
    assert_eq!(after, json!({ "proofs": [], "next": next }));
}

#[test]
fn a_revoked_key_is_logged_out_at_once() {
    let house = House::new();
    let (ada, bob) = (house.key("ada"), house.key("bob"));
    house.pin(&[&ada, &bob]);
    let (ada_browser, bob_browser) = (house.login(&ada), house.login(&bob));
    let polling = std::thread::spawn({
        let bob_browser = bob_browser.clone();
        move || bob_browser.get("/api/events?since=1000&wait=55")
    });
    standing(&ada_browser, &sign(&house, &ada, Payload::revoke("key", &bob.id()))).expect(201);
    bob_browser.get("/api/me").expect(401);
    assert_eq!(polling.join().unwrap().status, 401, "an open poll ends too");
    let pins = ada_browser.get("/api/snapshot").expect(200).json()["pins"].clone();
    assert_eq!((&pins[0]["revoked"], &pins[1]["revoked"]), (&json!(false), &json!(true)));
    let events = ada_browser.get("/api/events?kinds=revoked").expect(200).json();
    assert_eq!(events["events"][0]["event"]["id"], bob.id());
}

#[test]
fn a_pin_needs_the_highest_quorum_in_one_proof() {
    let house = House::new();
    let (ada, bob) = (house.key("ada"), house.key("bob"));
    house.pin_with(&[&ada, &bob], |file| file["quorum"] = json!({ "command": 2 }));
    let browser = house.login(&ada);
    let payload = house.dated(Payload::pin(house.key("new").pin_entry(), HUB));
    assert_eq!(standing(&browser, &ada.proof(&payload)).expect(400).json()["code"], "quorum");
    standing(&browser, &testkit::proof_of(&payload, &[&ada, &bob])).expect(201);
}

#[test]
fn strangers_and_other_payloads_change_no_trust() {
    let house = House::new();
    let (key, browser) = house.person();
    let stranger = house.key("stranger");
    let before = std::fs::read(house.folder.join("approvers.json")).unwrap();
    let weak = {
        let mut entry = stranger.pin_entry();
        entry["spki"] = json!("AAAA");
        entry
    };
    for (proof, code) in [
        (sign(&house, &stranger, Payload::pin(stranger.pin_entry(), HUB)), "not_pinned"),
        (sign(&house, &key, Payload::pin(weak, HUB)), "bad_payload"),
        (sign(&house, &key, Payload::revoke("house", "x")), "bad_payload"),
        (json!(null), "no_signature"),
        (json!({}), "malformed"),
        (sign(&house, &key, Payload::revoke("key", &key.id()).moved(-400 * 24 * 3_600_000)), "expired"),
    ] {
        assert_eq!(standing(&browser, &proof).expect(400).json()["code"], code);
    }
    assert_eq!(std::fs::read(house.folder.join("approvers.json")).unwrap(), before);
    assert_eq!(house.hook().get("/api/trust").expect(200).json()["proofs"], json!([]));
}
