//! Payloads of every verb: exactly their members, each of its form, each time at its edge.
#![cfg(test)]

use proof::{Payload as Parsed, Verb};
use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey};

use crate::scene::Scene;

const DAY: i64 = 86_400_000;

fn hashes(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n:064x}")).collect()
}

/// A good payload of each verb.
fn good() -> Vec<(Verb, Payload)> {
    let reviewer = testkit::hex(&SoftPasskey::new(Alg::EdDsa).spki()[12..]);
    vec![
        (Verb::Approve, Payload::approve(&hashes(3))),
        (Verb::Deny, Payload::deny(&hashes(3), "pan-pan", "no: \u{202e}wait")),
        (Verb::Rule, Payload::rule("ask", "Bash", "make *", "/repo/**", "*")),
        (Verb::Delegate, Payload::delegate(&reviewer, &["ask", "call"], "/repo/**", "*")),
        (Verb::Vouch, Payload::vouch(&hashes(1)[0], "dlg-1", "medium")),
        (Verb::Pin, Payload::pin(SoftPasskey::new(Alg::Es256).person("ada").pin_entry(), "hook@laptop")),
        (Verb::Revoke, Payload::revoke("rule", "rule-1")),
    ]
}

fn members(payload: &Payload) -> serde_json::Map<String, Value> {
    serde_json::from_slice(&payload.bytes()).unwrap()
}

#[test]
fn every_verb_is_read_whole() {
    for (verb, payload) in good() {
        let parsed = Parsed::parse(&payload.bytes()).unwrap();
        assert_eq!(parsed.verb(), verb);
        assert_eq!(parsed.common.nonce, payload.get("nonce").as_str().unwrap());
        assert_eq!(parsed.common.expires.as_millis(), payload.get("expires").as_i64().unwrap());
    }
}

#[test]
fn a_member_that_is_missing_unknown_twice_null_or_of_another_type_is_refused_in_every_verb() {
    for (verb, payload) in good() {
        let text = String::from_utf8(payload.bytes()).unwrap();
        let refused = |bytes: &[u8], what: &str| {
            assert!(Parsed::parse(bytes).is_err(), "{verb:?}: {what}: {}", String::from_utf8_lossy(bytes));
        };
        for (name, value) in members(&payload) {
            refused(&payload.clone().without(&name).bytes(), "missing");
            refused(&payload.clone().with(&name, Value::Null).bytes(), "null");
            refused(&payload.clone().with(&name, json!({})).bytes(), "object");
            refused(&payload.clone().with(&name, json!([])).bytes(), "empty array");
            refused(&payload.clone().with(&name, json!(true)).bytes(), "boolean");
            refused(&payload.clone().with(&name, json!(1.5)).bytes(), "fraction");
            let twice = text.replacen('{', &format!("{{{}:{value},", json!(name)), 1);
            refused(twice.as_bytes(), "twice");
        }
        refused(&payload.clone().with("extra", 1).bytes(), "unknown");
        refused(format!("{text} x").as_bytes(), "something after it");
        refused(format!("\u{feff}{text}").as_bytes(), "byte order mark");
        refused(&text.as_bytes()[..text.len() - 1], "cut");
        refused(format!("[{text}]").as_bytes(), "array");
        let values: Vec<Value> = members(&payload).into_iter().map(|(_, value)| value).collect();
        refused(json!(values).to_string().as_bytes(), "members without names");
        refused(&[text.as_bytes(), b"\xff"].concat(), "not UTF-8");
        assert!(Parsed::parse(format!(" {text}\n").as_bytes()).is_ok(), "white space means nothing");
    }
}

/// A verb, a member, values it may have and values it may not.
type Row = (Verb, &'static str, Vec<Value>, Vec<Value>);

fn forms_of_common_members() -> Vec<Row> {
    let hash = &hashes(1)[0];
    vec![
        (Verb::Approve, "v", vec![json!(1)], vec![json!(0), json!(2), json!("1"), json!(1.0)]),
        (
            Verb::Approve,
            "verb",
            vec![json!("approve")],
            vec![json!("Approve"), json!("approve "), json!("run")],
        ),
        (
            Verb::Approve,
            "nonce",
            vec![json!("AAAAAAAAAAAAAAAAAAAAAA")],
            vec![
                json!("AAAAAAAAAAAAAAAAAAAAA"),
                json!("AAAAAAAAAAAAAAAAAAAAAB"),
                json!("AAAAAAAAAAAAAAAAAAAAAAA"),
                json!("AAAAAAAAAAAAAAAAAAAAAA=="),
                json!("AAAAAAAAAAAAAAAAAAAA+A"),
            ],
        ),
        (
            Verb::Approve,
            "items",
            vec![json!(hashes(1)), json!(hashes(256))],
            vec![
                json!([]),
                json!(hashes(257)),
                json!([hash, hash]),
                json!([hash.trim_end_matches('0')]),
                json!([format!("{hash}0")]),
                json!(["A".repeat(64)]),
                json!([1]),
                json!(hash),
            ],
        ),
        (
            Verb::Approve,
            "issued",
            vec![json!(9_007_199_254_740_991_i64), json!(-9_007_199_254_740_991_i64), json!(0)],
            vec![
                json!(9_007_199_254_740_992_i64),
                json!(-9_007_199_254_740_992_i64),
                json!(1e3),
                json!(u64::MAX),
            ],
        ),
    ]
}

fn forms_of_each_verbs_own() -> Vec<Row> {
    let hash = &hashes(1)[0];
    let long = "a".repeat(2001);
    vec![
        (
            Verb::Deny,
            "channel",
            vec![json!("post"), json!("call"), json!("newsletter"), json!("broadcast"), json!("security")],
            vec![json!("pan_pan"), json!("Post"), json!("")],
        ),
        (
            Verb::Deny,
            "reason",
            vec![json!(""), json!("a".repeat(2000))],
            vec![json!(long), json!("é".repeat(1001))],
        ),
        (Verb::Rule, "kind", vec![json!("command")], vec![json!("Ask"), json!("rule"), json!("")]),
        (Verb::Rule, "uses", vec![json!(0), json!(7)], vec![json!(-1), json!("7")]),
        (Verb::Rule, "id", vec![json!("x")], vec![json!("")]),
        (Verb::Rule, "executor", vec![json!("*")], vec![json!("")]),
        (
            Verb::Delegate,
            "kinds",
            vec![json!(["ask"])],
            vec![json!([]), json!(["ask", "ask"]), json!(["all"]), json!("ask")],
        ),
        (Verb::Delegate, "max_risk", vec![json!("low"), json!("medium")], vec![json!("high"), json!("LOW")]),
        (
            Verb::Delegate,
            "reviewer",
            vec![],
            vec![
                json!("0".repeat(64)),
                json!(format!("01{}", "0".repeat(62))),
                json!("ab"),
                json!("A".repeat(64)),
            ],
        ),
        (Verb::Vouch, "item", vec![json!(hash)], vec![json!(hash.to_uppercase() + "0"), json!([hash])]),
        (Verb::Vouch, "risk", vec![json!("low")], vec![json!("none")]),
        (
            Verb::Revoke,
            "what",
            vec![json!("rule"), json!("delegation"), json!("key"), json!("warning")],
            vec![json!("pin"), json!("")],
        ),
        (Verb::Revoke, "id", vec![json!("x")], vec![json!("")]),
    ]
}

#[test]
fn each_member_has_its_form() {
    let good: std::collections::BTreeMap<Verb, Payload> = good().into_iter().collect();
    for (verb, name, right, wrong) in forms_of_common_members().into_iter().chain(forms_of_each_verbs_own()) {
        let read = |value: &Value| Parsed::parse(&good[&verb].clone().with(name, value.clone()).bytes());
        for value in right {
            assert!(read(&value).is_ok(), "{verb:?} {name} {value}");
        }
        for value in wrong {
            assert!(read(&value).is_err(), "{verb:?} {name} {value}");
        }
    }
}

#[test]
fn a_pin_carries_a_key_that_may_be_pinned() {
    let key = SoftPasskey::new(Alg::EdDsa).pin_entry();
    let read = |name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        Parsed::parse(&Payload::pin(key, "hook@laptop").bytes()).is_ok()
    };
    assert!(read("label", json!("phone")));
    assert!(read("not_after", json!(1)));
    let weak = testkit::b64(&[&testkit::unb64(key["spki"].as_str().unwrap())[..12], &[0; 32]].concat());
    for (name, value) in [
        ("alg", json!(-7)),
        ("alg", json!(-9)),
        ("spki", json!(weak)),
        ("spki", json!("AA==")),
        ("id", json!("")),
        ("id", json!("+/")),
        ("rp_id", json!("")),
        ("origins", json!([])),
        ("origins", json!("http://localhost:8787")),
        ("label", json!("a\nb")),
        ("label", json!(" ")),
        ("person", json!(null)),
        ("person", json!("")),
        ("backup_eligible", json!("false")),
        ("since", json!("now")),
        ("extra", json!(1)),
    ] {
        assert!(!read(name, value.clone()), "{name} {value}");
    }
}

/// `issued`, `not_before` and `expires` relative to the checker's clock, and the code they give.
#[test]
fn times_are_checked_at_their_edges() {
    let scene = Scene::new();
    let hour = 3_600_000;
    let table = [
        // Order.
        (0, 0, 0, "ok"),
        (-1, -2, hour, "bad_payload"),
        (-2, -1, -1, "ok"),
        (-3, -1, -2, "bad_payload"),
        (0, 0, -1, "bad_payload"),
        // Lifetime: 24 h.
        (-1, -1, DAY - 1, "ok"),
        (-1, -1, DAY, "bad_payload"),
        // Skew at both ends, and none for the undo window.
        (60_000, 60_000, hour, "not_yet"),
        (60_001, 60_001, hour, "not_yet"),
        (0, 1, hour, "not_yet"),
        (-hour, -hour, -60_000, "ok"),
        (-hour, -hour, -60_001, "expired"),
    ];
    for (issued, not_before, expires, code) in table {
        let payload = scene
            .approve()
            .with("issued", scene.now + issued)
            .with("not_before", scene.now + not_before)
            .with("expires", scene.now + expires);
        assert_eq!(scene.signed(&payload), code, "{issued} {not_before} {expires}");
    }
}

#[test]
fn issued_may_be_a_minute_ahead_where_no_undo_window_follows() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let code = |ahead: i64| {
        let deny = Payload::deny(&[scene.hash()], "post", "");
        let deny = deny.with("issued", scene.now + ahead).with("expires", scene.now + 120_000);
        let proof = scene.phone.proof(&deny).to_string();
        proof::check_denial(&approvers, None, &scene.item, proof.as_bytes(), scene.now()).map(|_| ())
    };
    assert_eq!(code(60_000), Ok(()));
    assert_eq!(code(60_001), Err(proto::Refusal::NotYet));
}

#[test]
fn each_verb_has_its_own_longest_life_and_rules_end_sharp() {
    let scene = Scene::new();
    let approvers = scene.approvers();
    let life = |payload: &Payload, life: i64| {
        let issued = scene.now - 10;
        let proof = scene.phone.proof(&payload.clone().with("issued", issued).with("expires", issued + life));
        match proof::hub::check_standing(&approvers, proof.to_string().as_bytes(), scene.now()) {
            Ok(_) => "ok",
            Err(refusal) => refusal.code(),
        }
    };
    for (verb, payload) in good() {
        let longest = match verb {
            Verb::Rule | Verb::Revoke => 366 * DAY,
            Verb::Delegate => 90 * DAY,
            Verb::Pin => 3_600_000,
            Verb::Approve | Verb::Deny | Verb::Vouch => continue,
        };
        assert_eq!(life(&payload, longest), "ok", "{verb:?}");
        assert_eq!(life(&payload, longest + 1), "bad_payload", "{verb:?}");
        let late = match verb {
            Verb::Rule | Verb::Delegate => "expired",
            Verb::Approve | Verb::Deny | Verb::Vouch | Verb::Pin | Verb::Revoke => "ok",
        };
        assert_eq!(life(&payload, 9), late, "{verb:?} a millisecond after its end");
    }
    let security = |channel: &str, longest: i64| {
        let issued = scene.now - 10;
        let deny = Payload::deny(&[scene.hash()], channel, "").with("issued", issued);
        let proof = scene.phone.proof(&deny.with("expires", issued + longest)).to_string();
        proof::check_message(&approvers, None, proof.as_bytes(), scene.now()).map(|_| ())
    };
    assert_eq!(security("broadcast", DAY), Ok(()));
    assert_eq!(security("broadcast", DAY + 1), Err(proto::Refusal::BadPayload));
    assert_eq!(security("security", 30 * DAY), Ok(()));
    assert_eq!(security("security", 30 * DAY + 1), Err(proto::Refusal::BadPayload));
}

#[test]
fn a_proof_of_64_kib_is_read_and_one_byte_more_is_not() {
    let scene = Scene::new();
    let text = scene.phone.proof(&scene.approve()).to_string();
    for (size, code) in [(65_536, "ok"), (65_537, "too_large")] {
        // White space between members means nothing, so it fills up to any size.
        let padded = text.replacen('{', &format!("{{{}", " ".repeat(size - text.len())), 1);
        assert_eq!(padded.len(), size);
        assert_eq!(scene.sealed(padded.as_bytes()).map_or_else(proto::Refusal::code, |_| "ok"), code);
    }
}

#[test]
fn two_hundred_and_fifty_six_items_fit_into_one_proof() {
    let scene = Scene::with(Alg::Rs256);
    let mut items = hashes(255);
    items.push(scene.hash());
    assert_eq!(scene.signed(&Payload::approve(&items)), "ok");
    items.insert(0, "f".repeat(64));
    assert_eq!(scene.signed(&Payload::approve(&items)), "bad_payload");
}
