//! Claude Code's side of a hook: the events it writes, for every tool shape, and the only answers it understands.

use serde_json::{Value, json};
use std::path::Path;
use testkit::Run;

/// One `PreToolUse` event, with the tool's input given as the exact text that stands in it.
pub(crate) fn gate(session: &str, cwd: &Path, tool: &str, input: &str) -> String {
    event("PreToolUse", session, cwd, tool, input, r#","tool_use_id":"toolu_01ABC""#)
}

/// One `PermissionRequest` event: it has no `tool_use_id`, and it brings suggestions that must never be echoed.
pub(crate) fn request(session: &str, cwd: &Path, tool: &str, input: &str) -> String {
    let suggestions = r#","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"localSettings"}]"#;
    event("PermissionRequest", session, cwd, tool, input, suggestions)
}

fn event(name: &str, session: &str, cwd: &Path, tool: &str, input: &str, more: &str) -> String {
    let cwd = json!(cwd.to_str().unwrap());
    let (name, session, tool) = (json!(name), json!(session), json!(tool));
    format!(
        r#"{{"session_id":{session},"prompt_id":"6f1c2b7e-0000-4000-8000-000000000001","transcript_path":"/tmp/t.jsonl","cwd":{cwd},"permission_mode":"default","hook_event_name":{name},"tool_name":{tool},"tool_input":{input}{more}}}"#
    )
}

/// A `Bash` call of one command.
pub(crate) fn bash(session: &str, cwd: &Path, command: &str) -> String {
    gate(session, cwd, "Bash", &json!({ "command": command, "description": "as the test says" }).to_string())
}

/// Every tool shape of Claude Code, as exact text with the spacing and the escapes an agent might use.
pub(crate) fn shapes() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "Bash",
            r#"{"command":"make deploy && echo \u00e9","description":"Deploy the API","timeout":120000,"run_in_background":false}"#,
        ),
        ("PowerShell", r#"{ "command": "Get-ChildItem  -Path C:\\src", "description": "List" }"#),
        ("Write", r##"{"file_path":"/srv/api/README.md","content":"# Title\n\nzwei Zeilen ☃\n"}"##),
        (
            "Edit",
            r#"{"file_path":"/srv/api/main.rs","old_string":"let a = 1;","new_string":"let a = 2;","replace_all":true}"#,
        ),
        ("Read", r#"{"file_path":"/var/log/syslog","offset":10,"limit":1e2}"#),
        ("Glob", r#"{"pattern":"**/*.rs","path":"/srv/other"}"#),
        (
            "Grep",
            r#"{"pattern":"fn main","path":"/srv/other","glob":"*.rs","output_mode":"content","-i":true,"multiline":false}"#,
        ),
        ("WebFetch", r#"{"url":"https://example.com/a?b=c","prompt":"What does it say?"}"#),
        ("WebSearch", r#"{"query":"rust passkeys","allowed_domains":["example.com"],"blocked_domains":[]}"#),
        (
            "Agent",
            r#"{"prompt":"Look for bugs","description":"Find bugs","subagent_type":"general-purpose","model":"opus"}"#,
        ),
        (
            "AskUserQuestion",
            r#"{"questions":[{"question":"Which?","header":"Which","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":false}]}"#,
        ),
        ("ExitPlanMode", r##"{"plan":"# Plan\n1. do it","planFilePath":"/home/ada/.claude/plans/p.md"}"##),
        ("mcp__memory__create_entities", r#"{"entities":[{"name":"x","observations":[1,2.50,null]}]}"#),
    ]
}

/// The only object in a hook's standard output. Panics on anything before, after or beside it.
#[track_caller]
pub(crate) fn answer(run: &Run) -> Value {
    let text = std::str::from_utf8(&run.stdout).expect("UTF-8");
    assert!(text.starts_with('{'), "standard output: {text:?}\nstandard error: {}", run.err());
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next().unwrap().expect("one JSON object");
    assert!(values.next().is_none(), "more than one object: {text:?}");
    assert_eq!(
        first.as_object().map(|object| object.keys().collect::<Vec<_>>()),
        Some(vec![&"hookSpecificOutput".to_owned()])
    );
    assert_eq!(run.code, Some(0), "{}", run.err());
    first["hookSpecificOutput"].clone()
}

/// A `PreToolUse` allow that repeats `input` byte for byte.
#[track_caller]
pub(crate) fn allowed(run: &Run, input: &str) {
    let said = answer(run);
    let keys: Vec<&str> = said
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|key| *key != "additionalContext")
        .collect();
    assert_eq!(
        keys,
        ["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"],
        "{said}"
    );
    assert_eq!(
        (&said["hookEventName"], &said["permissionDecision"]),
        (&json!("PreToolUse"), &json!("allow")),
        "{said}"
    );
    let exact = format!(r#""updatedInput":{input}"#);
    assert!(run.out().contains(&exact), "the input is not repeated exactly: {}", run.out());
}

/// A `PreToolUse` block; gives its reason.
#[track_caller]
pub(crate) fn blocked(run: &Run) -> String {
    let said = answer(run);
    let keys: Vec<&str> = said
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|key| *key != "additionalContext")
        .collect();
    assert_eq!(keys, ["hookEventName", "permissionDecision", "permissionDecisionReason"], "{said}");
    assert_eq!(
        (&said["hookEventName"], &said["permissionDecision"]),
        (&json!("PreToolUse"), &json!("deny")),
        "{said}"
    );
    said["permissionDecisionReason"].as_str().unwrap().to_owned()
}

/// A `PreToolUse` block that is the hook's own, not a person's: the reason stands on standard error too.
#[track_caller]
pub(crate) fn failed_closed(run: &Run, because: &str) {
    let reason = blocked(run);
    let both = format!("{reason}\n{}", run.err());
    assert!(both.contains(because), "no `{because}` in: {both}");
    assert!(!run.err().trim().is_empty(), "nothing on standard error");
}

/// A block of an event that could not be read, so that nobody knows its kind: a gate's block for those who read standard
/// output, and exit 2 for those who do not.
#[track_caller]
pub(crate) fn refused_unread(run: &Run) {
    assert_eq!(run.code, Some(2), "{}", run.err());
    let _reason = blocked(&Run { code: Some(0), ..run.clone() });
    assert!(!run.err().trim().is_empty(), "a reason on standard error");
}

/// No decision at all: what a `PermissionRequest` gets when nobody answered.
#[track_caller]
pub(crate) fn silent(run: &Run) {
    assert_eq!((run.out(), run.code), (String::new(), Some(0)), "{}", run.err());
}
