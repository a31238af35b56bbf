//! A hub that lies to the page about any one member of any answer: the page does not sign, or what it signed is refused.
//!
//! The page talks to the hub through one proxy, which lies. What the page then signs is carried to the hook by a second
//! proxy, past the honest hub's own refusal: the hook must refuse it alone.

use crate::browser::Browser;
use crate::claude;
use crate::smuggler::Smuggler;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::{Alg, Fields, World, unb64};

/// The proofs the page has posted since the last look.
fn posted(browser: &mut Browser) -> Vec<Value> {
    let sent = browser.tell("posted", json!({ "path": "/api/proofs" }));
    sent.as_array().unwrap().iter().map(|body| body["proof"].clone()).collect()
}

fn payload_of(proof: &Value) -> Value {
    serde_json::from_slice(&unb64(proof["payload"].as_str().unwrap())).unwrap()
}

struct Scene {
    world: World,
    browser: Browser,
}

impl Scene {
    fn new(key: &dyn Fn(&World) -> testkit::SoftPasskey) -> (Self, testkit::SoftPasskey) {
        let world = crate::world();
        let key = key(&world);
        world.pin(&[&key], 1);
        let mut browser = Browser::behind_a_liar(&world);
        browser.bring(&world, "ada", &key);
        (Self { world, browser }, key)
    }

    /// Tells lies, lets the person try to approve, and says what the page signed, if it did.
    fn approve_under(&mut self, id: &str, lies: &Value) -> Option<Value> {
        posted(&mut self.browser);
        self.browser.tell("lie", json!({ "lies": lies }));
        self.browser.tell("goto", json!({ "name": "ada", "url": self.world.origin() }));
        let came = self.browser.tell("try_approve", json!({ "name": "ada", "id": id }));
        let told = self.browser.tell("truth", json!({})).as_u64().unwrap();
        assert!(told > 0, "the lie was never told: {lies}");
        let proof = posted(&mut self.browser).pop();
        assert_eq!(came["signed"], json!(proof.is_some()), "{lies}: {came}");
        assert!(
            proof.is_some() || !came["refusal"].as_str().unwrap().is_empty(),
            "{lies}: the person is told why"
        );
        proof
    }
}

#[test]
fn a_lie_about_any_member_of_an_item_ends_without_a_signature_or_in_a_refusal() {
    let (mut scene, key) = Scene::new(&|world| world.passkey(Alg::Es256));
    let smuggler = Arc::new(Smuggler::default());
    let proxy = smuggler.proxy(&scene.world);
    let machine = scene.world.machine("second", proxy.address());
    let desk = scene.world.desk(&key);
    for field in ["id", "executor", "agent", "session", "tool", "input", "cwd"] {
        let to = match field {
            "id" => "ask-00000000000000000000000000000000",
            "input" => r#"{"command":"true"}"#,
            _ => "something/else",
        };
        for care in ["clumsy", "careful", "thorough"] {
            let event = claude::bash(&format!("{field}-{care}"), scene.world.work(), "make deploy");
            smuggler.hand_over(None);
            let (hook, row) = machine.ask(&desk, &event, 60);
            let hash = Fields::of("ask", &row["item"]).with(field, to).hash();
            let item = json!({ "path": "/api/snapshot", "at": [["inbox", "*", "item", field]], "to": to });
            let words = json!({ "path": "/api/snapshot", "at": [["inbox", "*", field]], "to": to });
            let covers = json!({ "path": "/api/prepare", "at": [["covers", "*", "hash"]], "to": hash });
            let lies = match care {
                "clumsy" => json!([item]),
                "careful" => json!([item, words]),
                _ => json!([item, words, covers]),
            };
            let proof = scene.approve_under(row["id"].as_str().unwrap(), &lies);
            // Only a liar that is of one mind everywhere gets a signature, and it is over the lie.
            assert_eq!(proof.is_some(), care == "thorough" && field != "id", "{field}, {care}");
            if let Some(proof) = proof {
                assert_eq!(
                    payload_of(&proof)["items"],
                    json!([hash]),
                    "{field}: what was shown is what was signed"
                );
                smuggler.hand_over(Some(proof));
                claude::failed_closed(&hook.wait(), "does not list this item");
            }
            let _id = desk.deny(&[&row], "post", "tidy up").expect(201);
        }
    }
}

#[test]
fn a_lie_in_the_answer_to_prepare_changes_nothing_that_is_signed() {
    let (mut scene, key) = Scene::new(&|world| world.passkey(Alg::EdDsa));
    let desk = scene.world.desk(&key);
    // Where the hub's help contradicts what the page shows, the page does not sign; the rest it ignores.
    let lies = [
        (json!(["payload", "items"]), json!(["00".repeat(32)]), false),
        (json!(["payload", "verb"]), json!("revoke"), false),
        (json!(["payload", "nonce"]), json!("AAAAAAAAAAAAAAAAAAAAAA"), false),
        (json!(["payload", "expires"]), json!(9_007_199_254_740_991_i64), false),
        (json!(["payload", "not_before"]), json!(0), false),
        (json!(["payload", "issued"]), json!(0), false),
        (json!(["covers", "*", "hash"]), json!("00".repeat(32)), true),
        (json!(["covers", "*", "id"]), json!("ask-00000000000000000000000000000000"), true),
        (json!(["rp_id"]), json!("localhost"), true),
        (json!(["credentials"]), json!(["AAAA"]), true),
        (json!(["warnings"]), json!(["<img src=x onerror=alert(1)>"]), false),
    ];
    for (number, (at, to, contradicts)) in lies.into_iter().enumerate() {
        let event = claude::bash(&format!("s{number}"), scene.world.work(), "make deploy");
        let (hook, row) = scene.world.ask(&desk, &event, 60);
        let lie = json!([{ "path": "/api/prepare", "at": [at], "to": to }]);
        let Some(proof) = scene.approve_under(row["id"].as_str().unwrap(), &lie) else {
            assert!(contradicts, "{lie}: nothing speaks against signing");
            let _id = desk.deny(&[&row], "post", "tidy up").expect(201);
            continue;
        };
        assert!(!contradicts, "{lie}: the page signed in the face of it");
        let payload = payload_of(&proof);
        assert_eq!(payload["items"], json!([Fields::of("ask", &row["item"]).hash()]), "{lie}");
        assert_eq!(payload["verb"], "approve", "{lie}");
        assert_ne!(payload["nonce"], "AAAAAAAAAAAAAAAAAAAAAA", "{lie}");
        let (issued, expires) = (payload["issued"].as_i64().unwrap(), payload["expires"].as_i64().unwrap());
        assert!((0..=120_000).contains(&(testkit::now_ms() - issued)), "{lie}: issued {issued}");
        assert!(expires - issued <= 24 * 3_600_000, "{lie}: expires {expires}");
        claude::allowed(&hook.wait(), row["item"]["input"].as_str().unwrap());
    }
    scene.browser.kept_its_peace(&scene.world, "ada");
}

#[test]
fn a_login_that_asks_with_a_proofs_challenge_gets_no_signature_over_it() {
    let (mut scene, key) = Scene::new(&|world| world.passkey(Alg::Es256));
    let desk = scene.world.desk(&key);
    let (_hook, row) = scene.world.ask(&desk, &claude::bash("s1", scene.world.work(), "make deploy"), 60);
    let payload = testkit::Payload::approve(&[Fields::of("ask", &row["item"]).hash()]).bytes();
    let challenge = testkit::sha256(&testkit::pae(testkit::PROOF_TYPE, &payload));
    let nonces = [testkit::b64(&challenge), testkit::b64(&payload), testkit::b64(&challenge[..16])];
    for nonce in nonces {
        let lie = json!({ "path": "/api/login/start", "at": [["nonce"]], "to": nonce });
        scene.browser.tell("lie", json!({ "lies": [lie] }));
        scene.browser.tell("forget", json!({ "name": "ada" }));
        scene.browser.attempt("try_login", json!({ "name": "ada", "url": scene.world.origin() }));
        assert!(scene.browser.tell("truth", json!({})).as_u64().unwrap() > 0, "the lie was told");
        let sent = scene.browser.tell("posted", json!({ "path": "/api/login/finish" }));
        for body in sent.as_array().unwrap() {
            let data = unb64(body["signature"]["webauthn"]["clientDataJSON"].as_str().unwrap());
            let client: Value = serde_json::from_slice(&data).unwrap();
            let signed = unb64(client["challenge"].as_str().unwrap());
            assert_ne!(signed, challenge, "the page signed what it was given");
            let own = testkit::sha256(&testkit::pae(
                testkit::LOGIN_TYPE,
                &unb64(body["payload"].as_str().unwrap()),
            ));
            assert_eq!(signed, own, "a login signature is over the page's own bytes");
        }
    }
}
