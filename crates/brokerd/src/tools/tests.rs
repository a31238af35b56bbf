//! The tools themselves, given an authority.

use std::fs;

use policy::{Evidence, Grants, Person, RealPaths, Reviewer, WithoutGrant, decide};
use proto::{CallItem, Item, Timestamp, audit::AuditEvent};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn item(tool: &str, arguments: &str) -> Item {
    Item::Call(CallItem {
        id: "call-00000000000000000000000000000000".to_owned(),
        executor: "broker@test".to_owned(),
        session: "s".to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    })
}

fn granted(item: &Item) -> policy::Granted {
    let grants = Grants::none()
        .with_files(&[("g", "[[grant]]\nname = 'all'\ntool = '*'\neffect = 'allow'\n")])
        .unwrap();
    let decision = decide(&Evidence {
        item,
        grants: &grants,
        paths: &RealPaths::unknown(),
        now: NOW,
        without_grant: WithoutGrant::Deny,
        rule: None,
        reviewer: Reviewer::Silent,
        person: Person::Silent,
    });
    decision.granted.unwrap()
}

fn receipt() -> Receipt {
    let home = tempfile::tempdir().unwrap();
    let options = audit::Options { free_bytes_min: 0, ..audit::Options::new(audit::Durability::None) };
    let (journal, _) = audit::Journal::open(home.path(), options, NOW).unwrap();
    journal.append(NOW, &AuditEvent::Warning { text: String::new() }).unwrap()
}

fn run(tool: &str, arguments: &serde_json::Value) -> Ran {
    let arguments = arguments.to_string();
    let item = item(tool, &arguments);
    let prepared = prepare(tool, &arguments).unwrap();
    block_on(prepared.run(
        proof::item_hash(&item),
        Power::Granted(granted(&item)),
        receipt(),
        &Link::unheard(),
    ))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn done(ran: Ran) -> (String, bool) {
    match ran {
        Ran::Done { content, truncated, .. } => (content, truncated),
        Ran::Failed { text } => panic!("{text}"),
    }
}

#[test]
fn every_tool_of_files_has_a_schema_that_demands_exactly_its_arguments() {
    for tool in list() {
        assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
        for bad in
            ["", "null", "[]", "{}", "{\"path\":1}", "{\"path\":\"/x\",\"path\":\"/y\"}", "{\"other\":1}"]
        {
            assert!(matches!(prepare(&tool.name, bad), Err(NoCall::BadArguments(_))), "{}: {bad}", tool.name);
        }
    }
    assert!(matches!(prepare("format_disk", "{}"), Err(NoCall::UnknownTool)));
}

#[test]
fn a_file_is_written_read_edited_and_listed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("f").display().to_string();
    done(run("write_file", &serde_json::json!({ "path": path, "content": "one two" })));
    done(run("edit_file", &serde_json::json!({ "path": path, "old": "two", "new": "zwei" })));
    assert_eq!(done(run("read_file", &serde_json::json!({ "path": path }))), ("one zwei".to_owned(), false));
    fs::create_dir(home.path().join("d\n")).unwrap();
    let listed = done(run("list_dir", &serde_json::json!({ "path": home.path() })));
    assert_eq!(listed, ("d\\n/\nf\n".to_owned(), false));
    for old in ["e", "none", ""] {
        let edit = serde_json::json!({ "path": path, "old": old, "new": "x" });
        assert!(matches!(run("edit_file", &edit), Ran::Failed { .. }), "{old}");
    }
}

#[test]
fn a_huge_file_keeps_head_and_tail_and_says_what_is_missing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("huge");
    let file = fs::File::create(&path).unwrap();
    file.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let (content, truncated) = done(run("read_file", &serde_json::json!({ "path": path })));
    assert!(truncated && content.len() < limits::RESULT_BYTES + 100);
    let left_out = 10 * 1024 * 1024 * 1024 - limits::RESULT_BYTES;
    assert!(content.contains(&format!("[{left_out} bytes left out here]")));
}

#[test]
fn an_authority_for_another_call_runs_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("f").display().to_string();
    let arguments = serde_json::json!({ "path": path, "content": "x" }).to_string();
    let other = item("write_file", "{}");
    let prepared = prepare("write_file", &arguments).unwrap();
    let hash = proof::item_hash(&item("write_file", &arguments));
    let ran = block_on(prepared.run(hash, Power::Granted(granted(&other)), receipt(), &Link::unheard()));
    assert!(matches!(ran, Ran::Failed { .. }));
    assert!(!home.path().join("f").exists());
}
