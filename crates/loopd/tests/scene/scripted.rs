//! The contract's scene with a model server that answers from a script, and what happens when somebody dies.

use std::fs;

use loopd::{
    session::Session,
    turn::{Outcome, TurnError},
};
use proto::{AuditEvent, DecisionRecord, DenyReason, SessionId, TurnEvent};
use testkit::{FakeModel, Reply};

use crate::home::{Home, decisions, turn};

const ARGUMENTS: &str = r#"{"path":"/etc/hostname"}"#;

fn reads_then(answer: &str) -> Vec<Reply> {
    vec![Reply::calls(&[("c1", "read_file", ARGUMENTS)], "tool_calls"), Reply::words(answer)]
}

#[test]
fn a_call_no_grant_allows_is_denied_and_audited_and_the_turn_goes_on() {
    let home = Home::new("");
    let model = FakeModel::start(&home.path().join("model.sock"), reads_then("I may not read it."));
    let runtime = home.runtime(model.socket());
    let mut session = home.session("scene", &runtime);
    let turn = turn(&mut session, &runtime, "Read /etc/hostname");

    assert_eq!(turn.outcome.unwrap(), Outcome::Done { text: "I may not read it.".to_owned() });
    let denial = TurnEvent::ToolDenied { name: "read_file".to_owned(), reason: DenyReason::NoGrant };
    assert!(turn.events.contains(&denial), "{:?}", turn.events);
    let second: serde_json::Value = serde_json::from_str(&model.bodies()[1]).unwrap();
    assert_eq!(second["messages"][3]["content"], "Denied: no grant allows this call.");

    let log = home.log();
    assert_eq!(log.len(), 1);
    let AuditEvent::Decision { session, tool, arguments, outcome, grant, .. } = &log[0].event else {
        panic!("{:?}", log[0])
    };
    assert_eq!((session.as_str(), tool.as_str(), arguments.as_str()), ("scene", "read_file", ARGUMENTS));
    assert_eq!(outcome, &DecisionRecord::Denied { reason: DenyReason::NoGrant });
    assert_eq!(grant, &None);
}

#[test]
fn a_broker_that_is_asked_nothing_leaves_no_log() {
    let mut home = Home::new("");
    home.kill_broker();
    assert_eq!(home.log().len(), 0);
    assert!(!home.path().join("broker/audit/00000001.jsonl").exists());
}

#[test]
fn with_a_grant_the_same_call_reads_the_file() {
    let home =
        Home::new("[[grant]]\nname = 'etc'\ntool = 'read_file'\neffect = 'allow'\npath = '/etc/hostname'\n");
    let model = FakeModel::start(&home.path().join("model.sock"), reads_then("done"));
    let runtime = home.runtime(model.socket());
    let mut session = home.session("scene", &runtime);
    let turn = turn(&mut session, &runtime, "Read /etc/hostname");
    let text = fs::read_to_string("/etc/hostname").unwrap();
    assert!(
        turn.events.contains(&TurnEvent::ToolResult { name: "read_file".to_owned(), text }),
        "{:?}",
        turn.events
    );
    let log = home.log();
    assert_eq!(log.len(), 2, "a decision and an outcome");
    assert!(matches!(
        decisions(&log)[..],
        [AuditEvent::Decision { outcome: DecisionRecord::Allowed { .. }, .. }]
    ));
}

#[test]
fn the_baseline_is_the_same_bytes_in_every_request_and_after_a_resume() {
    let home = Home::new("");
    let script = [reads_then("one"), reads_then("two")].concat();
    let model = FakeModel::start(&home.path().join("model.sock"), script);
    let runtime = home.runtime(model.socket());
    let mut session = home.session("scene", &runtime);
    turn(&mut session, &runtime, "first").outcome.unwrap();
    drop(session);
    let mut session = Session::open(&runtime.cfg.sessions, SessionId::new("scene").unwrap()).unwrap();
    turn(&mut session, &runtime, "second").outcome.unwrap();
    let bodies = model.bodies();
    let (baseline, _) = bodies[0].split_once(r#"{"content":"first""#).unwrap();
    assert!(baseline.contains("read_file") && baseline.contains("system"));
    assert_eq!(bodies.len(), 4);
    assert!(bodies.iter().all(|body| body.starts_with(baseline)));
}

#[test]
fn a_broker_that_was_killed_leaves_a_whole_log_and_a_session_that_goes_on() {
    let mut home = Home::new("");
    let script = [reads_then("one")[..1].to_vec(), reads_then("two")].concat();
    let model = FakeModel::start(&home.path().join("model.sock"), script);
    let runtime = home.runtime(model.socket());
    let mut session = home.session("scene", &runtime);
    home.kill_broker();
    assert!(matches!(turn(&mut session, &runtime, "first").outcome, Err(TurnError::Port(_))));
    home.start_broker();
    assert_eq!(
        turn(&mut session, &runtime, "again").outcome.unwrap(),
        Outcome::Done { text: "two".to_owned() }
    );
    assert_eq!(home.log().len(), 1);
}
