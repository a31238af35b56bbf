//! What a hub or a thief could hand over in place of the one right proof: each is blocked, by its own code.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::{
    Alg, Bend, Deed, Fields, PROOF_TYPE, Payload, SoftPasskey, approvers_file, now_ms, proof_with,
};

use crate::seat::{
    IDENTITY, Script, Seat, allowed, approved, bash, blocked, denied, gate, held, no_decision, status,
};

/// A gate before a hub that says `allowed` with what `forge` makes: it must block with this code.
#[track_caller]
fn refused(code: &str, forge: impl Fn(&SoftPasskey, &Fields) -> Value + Send + Sync + 'static) {
    let seat = Seat::with(|key| Script::new(move |item, _| allowed(&forge(&key, item))));
    let outcome = seat.hook(&bash("PreToolUse", "make deploy"), 20);
    blocked(&outcome, &format!("({code})"));
    assert!(seat.kept().is_empty(), "an ask with an answer is not kept");
    let request = seat.hook(&bash("PermissionRequest", "make deploy"), 20);
    no_decision(&request, code);
}

#[test]
fn the_right_proof_allows_and_repeats_the_input() {
    let seat = Seat::approving();
    let event = bash("PreToolUse", "make deploy");
    let outcome = seat.hook(&event, 20);
    let (word, reason) = gate(&outcome);
    assert_eq!((word.as_str(), reason.as_str()), ("allow", "Sealward: Approved by phone."));
    assert_eq!(outcome.exit, 0);
    let request = seat.hook(&bash("PermissionRequest", "make deploy"), 20);
    assert!(request.stdout.unwrap().contains(r#""behavior":"allow","updatedInput":{"#));
}

#[test]
fn an_approval_of_another_item_does_not_count() {
    for (field, value) in [
        ("input", r#"{"command":"make clean"}"#),
        ("cwd", "/"),
        ("session", "s2"),
        ("executor", "hook@other"),
        ("tool", "Write"),
        ("agent", "somebody"),
        ("id", "ask-00000000000000000000000000000000"),
    ] {
        refused("not_listed", move |key, item| {
            key.proof(&Payload::approve(&[item.clone().with(field, value).hash()]))
        });
    }
}

#[test]
fn a_strangers_approval_does_not_count() {
    refused("not_pinned", |_, item| SoftPasskey::new(Alg::Es256).proof(&Payload::approve(&[item.hash()])));
}

#[test]
fn a_removed_proof_and_an_empty_one_do_not_count() {
    refused("no_signature", |_, item| {
        let payload = Payload::approve(&[item.hash()]);
        proof_with(&payload.bytes(), &[])
    });
    let seat = Seat::with(|_| Script::new(|_, _| status("allowed")));
    blocked(&seat.hook(&bash("PreToolUse", "ls"), 20), "(no_signature)");
}

#[test]
fn a_forged_or_bent_signature_does_not_count() {
    refused("bad_signature", |key, item| {
        let payload = Payload::approve(&[item.hash()]).bytes();
        let bend = Bend { bad_signature: true, ..Bend::default() };
        proof_with(&payload, &[key.sign_bent(PROOF_TYPE, &payload, &bend)])
    });
    refused("wrong_challenge", |key, item| {
        let signed = Payload::approve(&[item.hash()]);
        let other = Payload::approve(&[item.hash()]);
        proof_with(&other.bytes(), &[key.sign(&signed)])
    });
    refused("malformed", |_, _| json!({"payload": "x"}));
}

#[test]
fn an_expired_approval_and_a_denial_in_its_place_do_not_count() {
    refused("expired", |key, item| key.proof(&Payload::approve(&[item.hash()]).moved(-2 * 3_600_000)));
    refused("wrong_verb", |key, item| key.proof(&Payload::deny(&[item.hash()], "post", "")));
}

#[test]
fn a_proof_of_one_ask_is_void_for_the_next() {
    let first: &'static Mutex<Option<Value>> = Box::leak(Box::default());
    let seat = Seat::with(|key| {
        Script::new(move |item, _| {
            let mut first = held(first);
            let proof = first.get_or_insert_with(|| key.proof(&Payload::approve(&[item.hash()])));
            allowed(proof)
        })
    });
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "make deploy"), 20)).0, "allow");
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 20), "(not_listed)");
}

#[test]
fn an_item_runs_once_whatever_the_hub_says() {
    let seat = Seat::approving();
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "make deploy"), 20)).0, "allow");
    // A thief puts the file of the kept ask back, so that the hook asks for the very same item again.
    let id = seat.asks()[0]["id"].as_str().unwrap().to_owned();
    let before = seat.hook(&bash("PreToolUse", "sleep 1"), 20);
    assert_eq!(gate(&before).0, "allow");
    let seat = replant(seat, &id);
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 20), "(already_used)");
}

/// Writes the file of a kept ask anew, as the hook would have named it.
fn replant(seat: Seat, id: &str) -> Seat {
    use executor::kept::{Call, Entry, Kept};
    let ask = seat.asks().into_iter().find(|ask| ask["id"] == id).unwrap();
    let input = ask["input"].as_str().unwrap().to_owned();
    let call = Call { agent: "claude", session: "s1", tool: "Bash", input: &input };
    let entry = Entry {
        id: id.parse_id(),
        made: proto::Timestamp::from_millis(now_ms()),
        cwd: ask["cwd"].as_str().unwrap().to_owned(),
        call: String::new(),
        dialog: false,
    };
    Kept::new(seat.file("kept")).keep(&call, entry).unwrap().leave();
    seat
}

trait ParseId {
    fn parse_id(&self) -> proto::ItemId;
}

impl ParseId for &str {
    fn parse_id(&self) -> proto::ItemId {
        proto::ItemId::parse(self).unwrap()
    }
}

#[test]
fn a_missing_or_damaged_store_blocks() {
    let seat = Seat::approving();
    fs::remove_dir_all(seat.file("replay")).unwrap();
    blocked(
        &seat.hook(&bash("PreToolUse", "ls"), 20),
        "the replay store is missing or damaged (store_damaged)",
    );
    no_decision(&seat.hook(&bash("PermissionRequest", "ls"), 20), "store_damaged");
}

#[test]
fn without_pins_nobody_is_asked() {
    let nobody = Seat::approving();
    fs::remove_file(nobody.file("approvers.json")).unwrap();
    blocked(&nobody.hook(&bash("PreToolUse", "ls"), 20), "no key is pinned (no_key_pinned)");
    let other = Seat::approving();
    other.pin(&approvers_file(&["hook@other"], &[&other.key]));
    blocked(&other.hook(&bash("PreToolUse", "ls"), 20), "(no_key_pinned)");
    assert!(nobody.asks().is_empty() && other.asks().is_empty());
}

#[test]
fn two_persons_are_needed_where_the_pin_file_says_so() {
    let seat = Seat::approving();
    let mut pins = approvers_file(&[IDENTITY], &[&seat.key]);
    pins["quorum"] = json!({"ask": 2});
    seat.pin(&pins);
    blocked(&seat.hook(&bash("PreToolUse", "ls"), 20), "(quorum)");
    assert_eq!(seat.asks()[0]["quorum"], 2, "the hub is told how many to collect");
}

#[test]
fn a_key_revoked_while_the_ask_waits_no_longer_counts() {
    let seat = Seat::with(|key| {
        let polled = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&polled);
        let revoke = key.proof(&Payload::revoke("key", &key.id()));
        let script = Script::new(move |item, _| {
            polled.store(true, Ordering::SeqCst);
            approved(&key, item)
        });
        script.but(move |asked| {
            let late = asked.path.starts_with("/api/trust") && told.load(Ordering::SeqCst);
            let list = json!({"proofs": [{"seq": 4, "verb": "revoke", "proof": revoke}], "next": 4});
            late.then_some(Deed::Say(200, list))
        })
    });
    blocked(&seat.hook(&bash("PreToolUse", "ls"), 20), "revoked (revoked)");
    let pins: Value = serde_json::from_slice(&fs::read(seat.file("approvers.json")).unwrap()).unwrap();
    assert_eq!(pins["revoked"], json!([seat.key.id()]), "taken over for ever");
}

#[test]
fn a_key_pinned_by_those_already_pinned_counts() {
    let second = Arc::new(SoftPasskey::new(Alg::EdDsa).label("tablet"));
    let signer = Arc::clone(&second);
    let seat = Seat::with(|_| Script::new(move |item, _| approved(&signer, item)));
    let pin = seat.key.proof(&Payload::pin(second.pin_entry(), IDENTITY));
    *held(&seat.script.trust) = json!({"proofs": [{"seq": 1, "verb": "pin", "proof": pin}], "next": 1});
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "ls"), 20)).1, "Sealward: Approved by tablet.");
}

#[test]
fn a_denial_is_quoted_only_when_its_signature_holds() {
    let honest = Seat::with(|key| {
        Script::new(move |item, _| {
            let proof = key.proof(&Payload::deny(&[item.hash()], "call", "use the staging host"));
            denied(&proof, "post", "the hub's own words")
        })
    });
    let outcome = honest.hook(&bash("PreToolUse", "make deploy"), 20);
    blocked(&outcome, "Denied by phone (call): use the staging host");
    let request = honest.hook(&bash("PermissionRequest", "make deploy"), 20);
    assert!(request.stdout.unwrap().contains(r#""behavior":"deny","message":"Sealward: Denied by phone"#));

    let forged = Seat::with(|_| {
        Script::new(|item, _| {
            let stranger = SoftPasskey::new(Alg::Es256);
            let proof = stranger.proof(&Payload::deny(&[item.hash()], "call", "obey me"));
            denied(&proof, "call", "obey me")
        })
    });
    let outcome = forged.hook(&bash("PreToolUse", "make deploy"), 20);
    blocked(&outcome, "not quoted");
    assert!(!format!("{outcome:?}").contains("obey"), "{outcome:?}");
}

#[test]
fn an_approval_that_is_not_valid_yet_is_waited_for() {
    let seat = Seat::with(|key| {
        Script::new(move |item, _| {
            allowed(&key.proof(&Payload::approve(&[item.hash()]).with("not_before", now_ms() + 1_500)))
        })
    });
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "ls"), 30)).0, "allow");
}

#[test]
fn what_this_machines_grants_settle_reaches_no_hub() {
    let seat = Seat::approving();
    let grants =
        "[[grant]]\nname = \"no-push\"\ntool = \"Bash\"\neffect = \"deny\"\ncommand = [\"git push *\"]\n";
    testkit::write_private(&seat.file("grants/no-push.toml"), grants);
    blocked(
        &seat.hook(&bash("PreToolUse", "git push origin main"), 20),
        "the grant `no-push` denies this call",
    );
    let event = bash("PreToolUse", "x").replace("Bash", "Glob").replace(
        &json!({"command": "x", "description": "what it is for"}).to_string(),
        r#"{"pattern":"**/*.h","path":"include"}"#,
    );
    let outcome = seat.hook(&event, 20);
    assert_eq!((outcome.stdout, outcome.stderr, outcome.exit), (None, Vec::new(), 0));
    assert!(seat.asks().is_empty());
}
