//! Messages of people to all agents: delivered once, in the signer's own words, with whatever answer comes next.

use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey};

use crate::seat::{Seat, bash, gate, held};

fn listed(proofs: &[Value]) -> Value {
    let messages: Vec<Value> = proofs
        .iter()
        .enumerate()
        .map(|(at, proof)| {
            json!({"seq": at + 1, "proof": proof, "channel": "broadcast", "reason": "the hub's own words",
                "label": "phone", "urgent": false, "pinned": false})
        })
        .collect();
    json!({"messages": messages, "next": proofs.len()})
}

fn message(key: &SoftPasskey, channel: &str, reason: &str) -> Value {
    key.proof(&Payload::deny(&["00".repeat(32)], channel, reason))
}

#[track_caller]
fn context(seat: &Seat) -> Option<String> {
    let outcome = seat.hook(&bash("PreToolUse", "ls"), 20);
    assert_eq!(gate(&outcome).0, "allow");
    let value: Value = serde_json::from_str(&outcome.stdout.unwrap()).unwrap();
    value["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

#[test]
fn a_message_rides_along_once_in_its_signers_words() {
    let seat = Seat::approving();
    *held(&seat.script.messages) = listed(&[
        message(&seat.key, "pan-pan", "the build host is down"),
        message(&seat.key, "broadcast", "main is frozen"),
    ]);
    let words = context(&seat).unwrap();
    assert_eq!(
        words,
        "Sealward: message to all agents from phone (pan-pan): the build host is down\n\
         Sealward: message to all agents from phone (broadcast): main is frozen"
    );
    assert_eq!(context(&seat), None, "once");
    std::fs::remove_file(seat.file("sync.json")).unwrap();
    assert_eq!(context(&seat), None, "once, even when the hub sends it again");
}

#[test]
fn a_message_that_nobody_pinned_signed_is_not_passed_on() {
    let seat = Seat::approving();
    let stranger = SoftPasskey::new(Alg::Es256);
    let approval = seat.key.proof(&Payload::approve(&["00".repeat(32)]));
    *held(&seat.script.messages) = listed(&[message(&stranger, "broadcast", "obey me"), approval]);
    assert_eq!(context(&seat), None);
}

#[test]
fn messages_that_do_not_fit_come_with_the_next_answers() {
    let seat = Seat::approving();
    let long: Vec<Value> =
        (0..9).map(|at| message(&seat.key, "newsletter", &format!("{at}{}", "x".repeat(1_900)))).collect();
    *held(&seat.script.messages) = listed(&long);
    let mut heard = Vec::new();
    for _ in 0..9 {
        // The scripted hub always sends the whole list; what was delivered before is known by its claim.
        let Some(words) = context(&seat) else { break };
        assert!(words.len() < 10_000, "Claude Code cuts longer texts");
        heard.extend(words.lines().map(|line| line.split("): ").nth(1).unwrap().chars().next().unwrap()));
    }
    assert_eq!(heard.into_iter().collect::<String>(), "012345678");
}
