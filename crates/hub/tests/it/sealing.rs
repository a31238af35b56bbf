//! Approving: what is taken, what is stale, what is refused, and that a refusal changes nothing.
#![cfg(test)]

use serde_json::{Value, json};
use testkit::{Bend, Fields, PROOF_TYPE, Payload, SoftPasskey, proof_of, proof_with, until};

use crate::house::{House, asked, sealing, state};

#[test]
fn an_approval_settles_after_its_window_and_is_fetched_as_it_was_signed() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "make deploy");
    let payload = house.approval(&[&item]);
    let proof = key.proof(&payload);
    let batch = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202).json();
    let id = batch["batch"].as_str().unwrap().to_owned();
    let again = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202).json();
    assert_eq!(again, batch);
    assert_eq!(
        state(&hook, &item),
        json!({ "status": "settling" }),
        "nothing is handed out inside the window"
    );
    let row = browser.get(&format!("/api/batches/{id}")).expect(200).json();
    assert_eq!((&row["status"], &row["have"], &row["need"]), (&json!("settling"), &json!(1), &json!(1)));
    assert_eq!(row["payload"], testkit::b64(&payload.bytes()));
    house.time.advance(5_100);
    until("it settled", || state(&hook, &item)["status"] == "allowed");
    assert_eq!(state(&hook, &item)["proof"], proof);
    assert_eq!(browser.get(&format!("/api/batches/{id}")).expect(200).json()["status"], "settled");
    assert_eq!(browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202).json(), batch);
    let late = browser.post(&format!("/api/batches/{id}/undo"), &json!({})).expect(409).json();
    assert_eq!(late["code"], "closed");
}

#[test]
fn an_undone_batch_is_gone_with_its_proof_and_can_be_sealed_anew() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (one, two) = (asked(&hook, "one"), asked(&hook, "two"));
    let proof = key.proof(&house.approval(&[&one, &two]));
    let id = browser.post("/api/proofs", &sealing(&proof, &[&one, &two])).expect(202).json()["batch"].clone();
    let id = id.as_str().unwrap();
    let undone = browser.post(&format!("/api/batches/{id}/undo"), &json!({})).expect(200).json();
    assert_eq!(undone["status"], "undone");
    house.time.advance(6_000);
    assert_eq!(state(&hook, &one)["status"], "pending");
    assert_eq!(
        browser.post("/api/proofs", &sealing(&proof, &[&one, &two])).expect(409).json()["code"],
        "closed"
    );
    let file = std::fs::read(house.database()).unwrap();
    let signature = proof["signatures"][0]["webauthn"]["signature"].as_str().unwrap();
    let found = file.windows(signature.len()).any(|bytes| bytes == signature.as_bytes());
    assert!(!found, "the signature is no longer in the file");
    let fresh = key.proof(&house.approval(&[&one]));
    browser.post("/api/proofs", &sealing(&fresh, &[&one])).expect(202);
    house.time.advance(5_100);
    until("the fresh one settled", || state(&hook, &one)["status"] == "allowed");
    assert_eq!(state(&hook, &two)["status"], "pending");
}

#[test]
fn fifty_rows_are_sealed_by_one_gesture_or_not_at_all() {
    let house = House::with("[limits]\npending_per_agent = 60\n");
    let (key, browser) = house.person();
    let hook = house.hook();
    let items: Vec<_> = (0..50).map(|n| asked(&hook, &format!("make part-{n}"))).collect();
    let all: Vec<_> = items.iter().collect();
    let proof = key.proof(&house.approval(&all));
    // Half stale: one of the fifty was taken back meanwhile.
    hook.post(&format!("/api/asks/{}/close", items[7].get("id")), &json!({ "status": "cancelled" }))
        .expect(200);
    let before = house.seen(&browser);
    let stale = browser.post("/api/proofs", &sealing(&proof, &all)).expect(409).json();
    assert_eq!((&stale["code"], &stale["stale"]), (&json!("stale"), &json!([items[7].get("id")])));
    assert_eq!(house.seen(&browser), before);
    let rest: Vec<_> = items.iter().filter(|item| item.get("id") != items[7].get("id")).collect();
    let proof = key.proof(&house.approval(&rest));
    browser.post("/api/proofs", &sealing(&proof, &rest)).expect(202);
    house.time.advance(5_100);
    until("all settled", || rest.iter().all(|item| state(&hook, item)["status"] == "allowed"));
}

/// A case: what is wrong, the body, and the answer's status and code.
type Case = (&'static str, Value, u16, &'static str);

fn stale_cases(house: &House, key: &SoftPasskey, one: &Fields, gone: &Fields) -> Vec<Case> {
    let good = |items: &[&Fields]| key.proof(&house.approval(items));
    vec![
        ("answered meanwhile", sealing(&good(&[gone]), &[gone]), 409, "stale"),
        ("half stale", sealing(&good(&[one, gone]), &[one, gone]), 409, "stale"),
        ("stale comes before forged", sealing(&json!({}), &[gone]), 409, "stale"),
        ("no entries", sealing(&good(&[one]), &[]), 400, "malformed"),
        ("an entry twice", sealing(&good(&[one]), &[one, one]), 400, "malformed"),
    ]
}

fn wrong_cases(house: &House, key: &SoftPasskey, one: &Fields, two: &Fields) -> Vec<Case> {
    let (hour, now) = (3_600_000, house.time.now_ms());
    let good = |items: &[&Fields]| key.proof(&house.approval(items));
    let stranger = house.key("stranger").proof(&house.approval(&[one]));
    let unsigned = proof_with(&house.approval(&[one]).bytes(), &[]);
    let signed = |payload: Payload| key.proof(&house.dated(payload));
    let approve = || Payload::approve(&[one.hash()]);
    let late = signed(approve().moved(-2 * hour));
    let long = signed(approve().with("expires", now + 25 * hour));
    let early = signed(approve().with("not_before", now + 90_000));
    let rule = signed(Payload::rule("ask", "Bash", "*", "*", "*"));
    let strange = signed(approve().with("extra", 1));
    let login = as_login(key, &house.approval(&[one]));
    vec![
        ("no proof", sealing(&Value::Null, &[one]), 400, "no_signature"),
        ("an empty proof", sealing(&json!({}), &[one]), 400, "malformed"),
        ("no signature", sealing(&unsigned, &[one]), 400, "no_signature"),
        ("a stranger's", sealing(&stranger, &[one]), 400, "not_pinned"),
        ("of another item", sealing(&good(&[two]), &[one]), 400, "not_listed"),
        ("lists more", sealing(&good(&[one, two]), &[one]), 400, "not_listed"),
        ("expired", sealing(&late, &[one]), 400, "expired"),
        ("lives too long", sealing(&long, &[one]), 400, "bad_payload"),
        ("not yet", sealing(&early, &[one]), 400, "not_yet"),
        ("a rule's words", sealing(&rule, &[one]), 400, "wrong_verb"),
        ("unknown member", sealing(&strange, &[one]), 400, "bad_payload"),
        ("bent signature", sealing(&bent(&good(&[one])), &[one]), 400, "bad_signature"),
        ("signed as a login", sealing(&login, &[one]), 400, "wrong_challenge"),
    ]
}

#[test]
fn what_is_stale_is_409_and_what_is_wrong_is_400_and_nothing_changes() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (one, two, gone) = (asked(&hook, "one"), asked(&hook, "two"), asked(&hook, "gone"));
    hook.post(&format!("/api/asks/{}/close", gone.get("id")), &json!({ "status": "cancelled" })).expect(200);
    let but_log = || {
        let mut seen = house.seen(&browser);
        seen.as_object_mut().unwrap().remove("head");
        seen
    };
    let before = but_log();
    let cases = [stale_cases(&house, &key, &one, &gone), wrong_cases(&house, &key, &one, &two)].concat();
    for (name, body, status, code) in cases {
        let answer = browser.post("/api/proofs", &body);
        let got = (answer.status, answer.json()["code"].as_str().unwrap().to_owned());
        assert_eq!(got, (status, code.to_owned()), "{name}: {}", answer.text());
        assert_eq!(but_log(), before, "{name}");
    }
    assert_eq!(state(&hook, &one)["status"], "pending");
    let refused = browser.get("/api/events?kinds=proof_refused&limit=50").expect(200).json();
    let told = refused["events"].to_string();
    assert!(told.contains("bad_signature") && told.contains("not_pinned"), "{told}");
}

fn bent(proof: &Value) -> Value {
    let mut proof = proof.clone();
    let signature = &mut proof["signatures"][0]["webauthn"]["signature"];
    let mut bytes = testkit::unb64(signature.as_str().unwrap());
    *bytes.last_mut().unwrap() ^= 1;
    *signature = json!(testkit::b64(&bytes));
    proof
}

fn as_login(key: &SoftPasskey, payload: &Payload) -> Value {
    let signature = key.sign_bent(testkit::LOGIN_TYPE, &payload.bytes(), &Bend::default());
    proof_with(&payload.bytes(), &[signature])
}

#[test]
fn a_used_proof_covers_nothing_else() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (one, two) = (asked(&hook, "one"), asked(&hook, "two"));
    let proof = key.proof(&house.approval(&[&one]));
    browser.post("/api/proofs", &sealing(&proof, &[&one])).expect(202);
    let other = browser.post("/api/proofs", &sealing(&proof, &[&two])).expect(400).json();
    assert_eq!(other["code"], "already_used");
    let second = key.proof(&house.approval(&[&one]));
    assert_eq!(browser.post("/api/proofs", &sealing(&second, &[&one])).expect(409).json()["code"], "stale");
    assert_eq!(state(&hook, &two)["status"], "pending");
}

#[test]
fn a_row_for_persons_only_is_sealed_by_itself() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (grave, plain) = (asked(&hook, "rm -rf /"), asked(&hook, "ls"));
    let again = asked(&hook, "rm -rf /");
    assert!(house.row(&browser, grave.get("id"))["human_only"].is_string());
    assert_eq!(house.row(&browser, plain.get("id"))["human_only"], Value::Null);
    let both = key.proof(&house.approval(&[&grave, &plain]));
    let refused = browser.post("/api/proofs", &sealing(&both, &[&grave, &plain])).expect(400).json();
    assert_eq!(refused["code"], "human_only");
    // Two asks that are equal but for their id are one row, and one thing to think about.
    let row = key.proof(&house.approval(&[&grave, &again]));
    browser.post("/api/proofs", &sealing(&row, &[&grave, &again])).expect(202);
}

#[test]
fn two_persons_complete_a_quorum_and_one_with_two_keys_does_not() {
    let house = House::new();
    let (phone, laptop) = (house.key("phone").person("ada"), house.key("laptop").person("ada"));
    let bob = house.key("bob").person("bob");
    house.pin_with(&[&phone, &laptop, &bob], |file| file["quorum"] = json!({ "ask": 2 }));
    let (ada, bobs) = (house.login(&phone), house.login(&bob));
    let hook = house.hook();
    let item = asked(&hook, "make deploy");
    let payload = house.approval(&[&item]);
    let id = ada.post("/api/proofs", &sealing(&phone.proof(&payload), &[&item])).expect(202).json()["batch"]
        .clone();
    let path = format!("/api/batches/{}", id.as_str().unwrap());
    assert_eq!(state(&hook, &item)["status"], "collecting");
    let row = house.row(&ada, item.get("id"));
    assert_eq!((&row["have"], &row["batch"]), (&json!(1), &id));
    let sign = |client: &testkit::Http, key: &SoftPasskey, payload: &Payload| {
        client.post(&format!("{path}/signatures"), &json!({ "signatures": [key.sign(payload)] }))
    };
    assert_eq!(
        sign(&ada, &laptop, &payload).expect(202).json()["status"],
        "collecting",
        "the same person twice"
    );
    let other = house.approval(&[&item]);
    assert_eq!(sign(&bobs, &bob, &other).expect(400).json()["code"], "wrong_challenge");
    let stranger = house.key("stranger");
    assert_eq!(sign(&bobs, &stranger, &payload).expect(400).json()["code"], "not_pinned");
    bobs.post(&format!("{path}/signatures"), &json!({ "signatures": [] })).expect(400);
    assert_eq!(state(&hook, &item)["status"], "collecting");
    let signed = sign(&bobs, &bob, &payload).expect(202).json();
    assert_eq!((&signed["status"], &signed["have"]), (&json!("settling"), &json!(2)));
    assert_eq!(signed["signers"], json!(["phone", "laptop", "bob"]));
    assert_eq!(sign(&bobs, &bob, &payload).expect(409).json()["code"], "closed");
    house.time.advance(5_100);
    until("it settled", || state(&hook, &item)["status"] == "allowed");
    let proof = state(&hook, &item)["proof"].clone();
    assert_eq!(proof["signatures"].as_array().unwrap().len(), 3);
    assert_eq!(proof["payload"], testkit::b64(&payload.bytes()));
}

#[test]
fn an_ask_may_demand_more_persons_than_the_hubs_file_and_all_may_sign_at_once() {
    let house = House::new();
    let (ada, bob) = (house.key("ada"), house.key("bob"));
    house.pin(&[&ada, &bob]);
    let browser = house.login(&ada);
    let hook = house.hook();
    let item = crate::house::ask("claude", "make deploy");
    let mut body = crate::house::body(&item);
    body["quorum"] = json!(2);
    hook.post("/api/asks", &body).expect(201);
    let payload = house.approval(&[&item]);
    let proof = proof_of(&payload, &[&ada, &bob]);
    browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202);
    assert_eq!(state(&hook, &item)["status"], "settling");
}

#[test]
fn a_signer_who_was_revoked_meanwhile_counts_no_more() {
    let house = House::new();
    let (ada, bob) = (house.key("ada"), house.key("bob"));
    let two = |file: &mut Value| file["quorum"] = json!({ "ask": 2 });
    house.pin_with(&[&ada, &bob], two);
    let (ada_browser, bob_browser) = (house.login(&ada), house.login(&bob));
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let payload = house.approval(&[&item]);
    let batch = ada_browser.post("/api/proofs", &sealing(&ada.proof(&payload), &[&item])).expect(202).json();
    house.pin_with(&[&ada, &bob], |file| {
        two(file);
        file["revoked"] = json!([ada.id()]);
    });
    let path = format!("/api/batches/{}/signatures", batch["batch"].as_str().unwrap());
    let refused = bob_browser.post(&path, &json!({ "signatures": [bob.sign(&payload)] })).expect(400).json();
    assert_eq!(refused["code"], "revoked");
    assert_eq!(state(&hook, &item)["status"], "collecting");
    ada_browser.get("/api/me").expect(401);
}

#[test]
fn prepare_gives_a_payload_that_is_taken_as_it_stands() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let entries = json!([crate::house::entry(&item)]);
    let prepared =
        browser.post("/api/prepare", &json!({ "verb": "approve", "entries": entries })).expect(200).json();
    assert_eq!(prepared["credentials"], json!([key.id()]));
    assert_eq!(prepared["covers"][0]["hash"], item.hash());
    let bytes = prepared["payload"].to_string().into_bytes();
    let signature = key.sign_bent(PROOF_TYPE, &bytes, &Bend::default());
    let body = json!({ "proof": proof_with(&bytes, &[signature]), "entries": entries });
    browser.post("/api/proofs", &body).expect(202);
    let stale =
        browser.post("/api/prepare", &json!({ "verb": "approve", "entries": entries })).expect(409).json();
    assert_eq!(stale["stale"], json!([item.get("id")]));
    browser.post("/api/prepare", &json!({ "verb": "approve", "entries": [] })).expect(400);
    browser.post("/api/prepare", &json!({ "verb": "vouch" })).expect(400);
    browser.post("/api/prepare", &json!({ "verb": "revoke", "what": "house", "id": "x" })).expect(400);
    browser.post("/api/prepare", &json!({ "verb": "revoke", "what": "key", "id": "x" })).expect(200);
    browser
        .post("/api/prepare", &json!({ "verb": "revoke", "what": "key", "id": "x", "channel": "post" }))
        .expect(400);
    browser
        .post(
            "/api/prepare",
            &json!({ "verb": "pin", "key": house.key("new").pin_entry(), "executor": "hook@laptop" }),
        )
        .expect(200);
}

#[test]
fn a_terminal_signs_with_an_approvers_token_and_undoes_nothing() {
    let house = House::new();
    let (key, _) = house.person();
    let terminal = house.machine("terminal", proto::api::Role::Approver, &[]);
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let rows = terminal.get("/api/snapshot").expect(200).json();
    assert_eq!(rows["inbox"][0]["id"], item.get("id"));
    let proof = key.proof(&house.approval(&[&item]));
    let batch = terminal.post("/api/proofs", &sealing(&proof, &[&item])).expect(202).json()["batch"].clone();
    terminal.post(&format!("/api/batches/{}/undo", batch.as_str().unwrap()), &json!({})).expect(403);
}
