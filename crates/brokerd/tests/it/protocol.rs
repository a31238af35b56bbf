//! Frames, connections and clicks; who may be a broker and who may speak to one.

use std::{fs, os::unix::net::UnixStream};

use proto::{AuditEvent, DecisionRecord, DenyReason};
use serde_json::json;
use testkit::until;

use crate::broker::{Broker, Line};

const CLICK: &str = "[[grant]]\nname = 'click'\ntool = 'read_file'\neffect = 'ask'\nassurance = 'client'\n";

fn reasons(broker: &Broker) -> Vec<Option<DenyReason>> {
    let outcomes = broker.decisions().into_iter().map(|event| {
        let AuditEvent::Decision { outcome: DecisionRecord::Denied { reason }, .. } = event else {
            return None;
        };
        Some(reason)
    });
    outcomes.collect()
}

#[test]
fn a_broken_frame_is_answered_and_ends_its_connection_and_nothing_else() {
    let broker = Broker::new("", "");
    let long =
        [b"{\"type\":\"hello\",\"version\":1,\"x\":\"".as_slice(), &vec![b'x'; 2 << 20], b"\"}\n"].concat();
    let broken: [&[u8]; 8] = [
        b"\n",
        b"{}\n",
        b"garbage\n",
        b"{\"type\":\"hello\",\"version\":2}\n",
        b"{\"type\":\"tools/list\",\"id\":1}\n",
        b"{\"type\":\"hello\",\"version\":1,\"more\":1}\n",
        b"\xff\xfe\n",
        &long,
    ];
    for bytes in broken {
        let mut line = Line::silent(&broker);
        line.send_bytes(bytes);
        if let Some(frame) = line.receive() {
            assert_eq!(frame["type"], "error");
            assert_eq!(line.receive(), None);
        }
    }
    drop(Line::silent(&broker));
    let mut line = Line::open(&broker);
    line.send(&json!({"type":"tools/list","id":7}));
    let tools = line.receive().unwrap();
    assert_eq!((tools["id"].as_u64(), tools["type"].as_str()), (Some(7), Some("tools")));
    assert_eq!(broker.log().len(), 0, "connections without a call leave no trace");
}

#[test]
fn every_denial_has_its_reason_and_its_record() {
    let broker = Broker::new("[[grant]]\nname = 'no'\ntool = 'list_dir'\neffect = 'deny'\n", "");
    let mut line = Line::open(&broker);
    let mut told = |tool: &str, arguments: serde_json::Value| {
        line.call(1, tool, &arguments);
        line.result()["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(told("read_file", json!({"path":"/etc/hostname"})), "Denied: no grant allows this call.");
    assert_eq!(told("list_dir", json!({"path":"/etc"})), "Denied: the grant `no` denies this call.");
    assert_eq!(told("format_disk", json!({})), "Denied: there is no such tool.");
    assert!(told("read_file", json!({"path":1})).starts_with("Denied: the arguments do not fit the tool"));
    let reasons = reasons(&broker);
    assert_eq!(reasons.len(), 4);
    assert_eq!(
        reasons[..3],
        [
            Some(DenyReason::NoGrant),
            Some(DenyReason::Grant { name: "no".to_owned() }),
            Some(DenyReason::UnknownTool),
        ]
    );
    assert!(matches!(reasons[3], Some(DenyReason::BadArguments { .. })));
}

#[test]
fn a_click_counts_only_where_a_grant_takes_one_and_after_the_question() {
    let broker = Broker::new(CLICK, "");
    let path = json!({"path":"/etc/hostname"});
    let mut line = Line::open(&broker);
    for (decision, outcome) in [("accept", "ok"), ("decline", "denied"), ("cancel", "denied")] {
        line.call(1, "read_file", &path);
        assert_eq!(line.asked(), "client");
        line.send(&json!({"type":"answer","call":1,"decision":decision}));
        assert_eq!(line.result()["outcome"], outcome, "{decision}");
    }
    assert_eq!(
        reasons(&broker),
        [None, Some(DenyReason::Person { reason: String::new() }), Some(DenyReason::Cancelled)]
    );
    // No question, no click: neither for a call that is not there nor a second time.
    line.send(&json!({"type":"answer","call":1,"decision":"accept"}));
    assert_eq!(line.receive().unwrap()["type"], "error");
}

#[test]
fn a_click_never_covers_what_only_a_person_may_allow() {
    let broker = Broker::new(&CLICK.replace("'read_file'", "['read_file', 'write_file']"), "");
    let mut line = Line::open(&broker);
    line.call(1, "read_file", &json!({"path":"/etc/shadow"}));
    // No click is asked for: only a person with a passkey would do, and without a hub there is none.
    assert!(line.result()["text"].as_str().unwrap().starts_with("Unavailable:"));
}

#[test]
fn a_client_that_goes_away_cancels_what_waits() {
    let broker = Broker::new(CLICK, "");
    let mut line = Line::open(&broker);
    for id in 1..=3 {
        line.call(id, "read_file", &json!({"path":"/etc/hostname"}));
        line.asked();
    }
    drop(line);
    until("three cancellations are recorded", || broker.log().len() == 3);
    assert_eq!(reasons(&broker), vec![Some(DenyReason::Cancelled); 3]);
}

#[test]
fn a_stopping_broker_cancels_what_waits_and_leaves_no_socket() {
    let broker = Broker::new(CLICK, "");
    let mut line = Line::open(&broker);
    line.call(1, "read_file", &json!({"path":"/etc/hostname"}));
    line.asked();
    broker.process().signal(rustix::process::Signal::TERM);
    assert_eq!(line.result()["reason"]["code"], "cancelled");
    until("the socket is gone", || !broker.socket().exists());
    assert_eq!(reasons(&broker), [Some(DenyReason::Cancelled)]);
}

#[test]
fn the_sixty_fifth_call_in_flight_is_told_so() {
    let broker = Broker::new(CLICK, "");
    let mut line = Line::open(&broker);
    for id in 1..=65 {
        line.call(id, "read_file", &json!({"path":"/etc/hostname"}));
    }
    let result = line.result();
    assert_eq!(result["reason"]["code"], "overloaded");
}

#[test]
fn a_second_broker_does_not_start_and_a_dead_ones_socket_is_replaced() {
    let mut broker = Broker::new("", "");
    let second = broker.program("serve").run();
    assert_eq!(second.code, Some(3));
    assert!(second.err().contains("another broker"), "{}", second.err());
    broker.kill();
    assert!(broker.socket().exists() && UnixStream::connect(broker.socket()).is_err());
    broker.start();
    drop(Line::open(&broker));
}

#[test]
fn grants_are_read_again_on_a_signal_and_bad_ones_change_nothing() {
    let broker = Broker::new("", "");
    let mut line = Line::open(&broker);
    let mut outcome = || {
        line.call(1, "list_dir", &json!({"path":"/etc"}));
        line.result()["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(), "denied");
    let file = broker.home.join("grants/g.toml");
    fs::write(&file, "[[grant]]\nname = 'g'\ntool = 'list_dir'\neffect = 'allow'\n").unwrap();
    broker.process().signal(rustix::process::Signal::HUP);
    until("the new grants count", || outcome() == "ok");
    fs::write(&file, "[[grant]]\nname = 'g'\ncolour = 1\n").unwrap();
    broker.process().signal(rustix::process::Signal::HUP);
    until("the bad file is complained about", || broker.process().said().contains("the loaded ones stay"));
    assert_eq!(outcome(), "ok");
}

#[test]
fn a_bad_grants_file_names_file_line_and_key_and_explain_tells_every_stage() {
    let broker = Broker::laid_out("\n[[grant]]\nname = 'g'\ntool = 'x'\neffect = 'maybe'\n", "");
    let run = broker.program("check").run();
    assert_eq!(run.code, Some(3));
    assert!(run.err().contains("g.toml`, line 5, `effect`"), "{}", run.err());
    let broker = Broker::laid_out(
        "[[grant]]\nname = 'etc'\ntool = 'read_file'\neffect = 'allow'\npath = '/etc/**'\n",
        "",
    );
    assert!(broker.program("check").run().out().contains("allow  etc (read_file)"));
    let explain = |path: &str| {
        let arguments = json!({ "path": path }).to_string();
        broker.program("explain").args(["--tool", "read_file", "--arguments", &arguments]).run()
    };
    let allowed = explain("/etc/hostname");
    assert_eq!((allowed.code, allowed.out().lines().last()), (Some(0), Some("allow")), "{}", allowed.out());
    let denied = explain("/etc/../usr/bin/env");
    assert_eq!((denied.code, denied.out().lines().last()), (Some(1), Some("deny")));
    assert!(denied.out().contains("no grant allows this call"));
    assert_eq!(explain("/etc/shadow").code, Some(4), "only a person may allow that");
    assert!(!broker.home.join("home").exists(), "explaining does nothing");
}
