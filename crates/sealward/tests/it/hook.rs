//! `sealward hook` as the agent meets it: one process, its exit code, one line or nothing.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Program, Temp};

use crate::SEALWARD;

const EVENT: &str = r#"{"session_id":"s","cwd":"/usr","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

/// A hook in a home without anything.
fn hook(event: &str) -> Program {
    let home = Temp::new();
    Program::new(SEALWARD).args(["hook", "claude", "--wait", "10", "--home"]).arg(home.path()).stdin(event)
}

#[test]
fn a_gate_that_cannot_ask_prints_one_line_and_ends_well() {
    let run = hook(EVENT).run().expect(0);
    assert_eq!(run.out().matches('\n').count(), 1, "{}", run.out());
    let said: Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(run.err().contains("home cannot be used"), "{}", run.err());
}

#[test]
fn a_dialog_and_a_finished_call_get_nothing() {
    for event in ["PermissionRequest", "PostToolUse", "Notification"] {
        let run = hook(&EVENT.replace("PreToolUse", event)).run().expect(0);
        assert_eq!(run.out(), "", "{event}");
        assert_ne!(run.err(), "", "{event}");
    }
}

#[test]
fn the_environment_and_the_folder_have_no_say() {
    let (home, elsewhere) = (Temp::new(), Temp::new());
    let settings = "hub = \"http://127.0.0.1:9\"\ntoken_file = \"token\"\n[identity]\nhook = \"hook@evil\"\n";
    testkit::write_private(&elsewhere.join(".local/share/sealward/executor.toml"), settings);
    testkit::write_private(&elsewhere.join("executor.toml"), settings);
    let run = Program::new(SEALWARD)
        .args(["hook", "claude", "--wait", "10", "--home"])
        .arg(home.path())
        .env("HOME", elsewhere.path())
        .env("SEALWARD_HOME", elsewhere.path())
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .cwd(elsewhere.path())
        .stdin(EVENT)
        .run()
        .expect(0);
    assert!(run.err().contains(&home.path().display().to_string()), "{}", run.err());
}

#[test]
fn wrong_use_and_a_lost_answer_end_with_the_code_that_blocks() {
    let wrong = Program::new(SEALWARD).args(["hook", "claude", "--wait", "0"]).stdin(EVENT).run();
    assert_eq!(wrong.code, Some(2), "{}", wrong.err());
    let home = Temp::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(SEALWARD)
        .args(["hook", "claude", "--wait", "10", "--home"])
        .arg(home.path())
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}
