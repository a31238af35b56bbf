//! The same scene against llama.cpp's own server and a real small model. Structure is asserted, never words.

use std::time::Duration;

use loopd::turn::Outcome;
use proto::{AuditEvent, DecisionRecord, DenyReason, TurnEvent};
use testkit::{Program, Running, within};

use crate::home::{Home, decisions, turn};

/// Starts the server where `make test` installed it (`SEALWARD_PYTHON` names the interpreter that has the wheels).
fn serve(home: &Home) -> Option<Running> {
    let python = std::env::var_os("SEALWARD_PYTHON")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_model/serve.py");
    let socket = home.path().join("model.sock");
    let server = Program::new(python).arg(script).arg(&socket).start();
    within(Duration::from_secs(60), "the real model listens", || socket.exists());
    Some(server)
}

#[test]
fn a_real_model_is_told_of_the_denial_and_answers_in_words() {
    let home = Home::new("");
    let Some(_server) = serve(&home) else {
        let asked = std::env::var_os("SEALWARD_REAL_MODEL").is_some();
        assert!(!asked, "SEALWARD_REAL_MODEL is set and SEALWARD_PYTHON is not");
        return;
    };
    let runtime = home.runtime(&home.path().join("model.sock"));
    runtime.client.check(0, &model::Cancel::new()).unwrap();
    let mut session = home.session("real", &runtime);
    let turn = turn(&mut session, &runtime, "Read /etc/hostname");
    assert!(matches!(turn.outcome.unwrap(), Outcome::Done { .. }));
    let denial = TurnEvent::ToolDenied { name: "read_file".to_owned(), reason: DenyReason::NoGrant };
    assert!(turn.events.contains(&denial), "{:?}", turn.events);
    let log = home.log();
    assert_eq!(log.len(), decisions(&log).len(), "nothing ran");
    let AuditEvent::Decision { session, tool, arguments, outcome, grant, .. } = &log[0].event else {
        panic!("{:?}", log[0])
    };
    assert_eq!((session.as_str(), tool.as_str()), ("real", "read_file"));
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments["path"], "/etc/hostname");
    assert_eq!((outcome, grant), (&DecisionRecord::Denied { reason: DenyReason::NoGrant }, &None));
}
