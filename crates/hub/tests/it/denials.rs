//! Saying no on six channels, and who hears it.
#![cfg(test)]

use proto::api::Role;
use serde_json::{Value, json};
use testkit::{Fields, Http, Payload, SoftPasskey};

use crate::house::{HOOK, House, asked, sealing, state};

fn deny(house: &House, key: &SoftPasskey, item: &Fields, channel: &str) -> Value {
    key.proof(&house.dated(Payload::deny(&[item.hash()], channel, "not on a Friday")))
}

fn heard(machine: &Http) -> Vec<Value> {
    machine.get("/api/messages").expect(200).json()["messages"].as_array().unwrap().clone()
}

#[test]
fn each_channel_reaches_its_asker_and_its_audience_and_nobody_else() {
    for (channel, asker_hears, others_hear, urgent, pinned) in [
        ("post", false, false, false, false),
        ("call", true, false, true, false),
        ("newsletter", true, true, false, false),
        ("broadcast", true, true, true, false),
        ("pan-pan", true, true, true, false),
        ("security", true, true, true, true),
    ] {
        let house = House::new();
        let (key, browser) = house.person();
        let (hook, other) = (house.hook(), house.machine("other", Role::Agent, &[HOOK]));
        let item = asked(&hook, "make deploy");
        let proof = deny(&house, &key, &item, channel);
        let id = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(201).json()["id"].clone();
        let answer = state(&hook, &item);
        assert_eq!(answer["status"], "denied");
        let denial =
            json!({ "channel": channel, "reason": "not on a Friday", "label": "phone", "proof": proof });
        assert_eq!(answer["denial"], denial, "{channel}");
        assert_eq!(heard(&hook).len(), usize::from(asker_hears), "{channel}: the asker");
        let messages = heard(&other);
        assert_eq!(messages.len(), usize::from(others_hear), "{channel}: the others");
        if let [message] = messages.as_slice() {
            let told = json!({
                "seq": message["seq"], "proof": proof, "channel": channel, "reason": "not on a Friday", "label": "phone",
                "urgent": urgent, "pinned": pinned,
            });
            assert_eq!(*message, told, "{channel}");
            assert!(!message.to_string().contains("make deploy"), "never another's item");
        }
        let shown = browser.get("/api/snapshot").expect(200).json()["messages"].clone();
        assert_eq!(shown.as_array().unwrap().len(), usize::from(pinned), "{channel}: pinned");
        if pinned {
            assert_eq!((&shown[0]["nonce"], &shown[0]["reason"]), (&id, &json!("not on a Friday")));
        }
    }
}

#[test]
fn a_message_is_fetched_once_by_number_and_waited_for() {
    let house = House::new();
    let (key, browser) = house.person();
    let (hook, other) = (house.hook(), house.machine("other", Role::Agent, &[]));
    let item = asked(&hook, "ls");
    let waiting = std::thread::spawn({
        let other = other.clone();
        move || other.get("/api/messages?since=0&wait=55").expect(200).json()
    });
    browser.post("/api/proofs", &sealing(&deny(&house, &key, &item, "broadcast"), &[&item])).expect(201);
    let messages = waiting.join().unwrap();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 1);
    let next = messages["next"].as_u64().unwrap();
    let after = other.get(&format!("/api/messages?since={next}")).expect(200).json();
    assert_eq!(after, json!({ "messages": [], "next": next }));
}

#[test]
fn a_pinned_warning_ends_with_its_revocation_or_its_time() {
    for by_time in [true, false] {
        let house = House::new();
        let (key, browser) = house.person();
        let hook = house.hook();
        let item = asked(&hook, "ls");
        let proof = deny(&house, &key, &item, "security");
        let id = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(201).json()["id"].clone();
        assert_eq!(heard(&hook).len(), 1);
        if by_time {
            house.time.advance(31 * 24 * 3_600_000);
            assert_eq!(heard(&hook).len(), 0);
            continue;
        }
        let revoke = key.proof(&house.dated(Payload::revoke("warning", id.as_str().unwrap())));
        browser.post("/api/proofs", &json!({ "proof": revoke, "entries": [] })).expect(201);
        assert_eq!(heard(&hook).len(), 0);
        assert_eq!(browser.get("/api/snapshot").expect(200).json()["messages"], json!([]));
        assert_eq!(state(&hook, &item)["status"], "denied", "the answer itself stands");
    }
}

#[test]
fn a_denial_is_checked_before_it_is_stored_or_sent() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (item, other) = (asked(&hook, "one"), asked(&hook, "two"));
    let stranger = house.key("stranger");
    let forged = deny(&house, &stranger, &item, "broadcast");
    assert_eq!(
        browser.post("/api/proofs", &sealing(&forged, &[&item])).expect(400).json()["code"],
        "not_pinned"
    );
    let elsewhere = deny(&house, &key, &other, "broadcast");
    let refused = browser.post("/api/proofs", &sealing(&elsewhere, &[&item])).expect(400).json();
    assert_eq!(refused["code"], "not_listed");
    let long = Payload::deny(&[item.hash()], "post", &"r".repeat(2_001));
    let long = key.proof(&house.dated(long));
    assert_eq!(
        browser.post("/api/proofs", &sealing(&long, &[&item])).expect(400).json()["code"],
        "bad_payload"
    );
    assert_eq!(state(&hook, &item)["status"], "pending");
    assert_eq!(heard(&hook).len(), 0);
    // The same denial again is the same; an answered item is stale for another.
    let proof = deny(&house, &key, &item, "post");
    browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(201);
    browser.post("/api/proofs", &sealing(&deny(&house, &key, &item, "post"), &[&item])).expect(409);
}
