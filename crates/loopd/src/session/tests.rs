//! Sessions on disk: what is kept, healed and refused.

use std::fs;

use proptest::prelude::*;

use super::*;

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn baseline() -> Baseline {
    Baseline::from_parts("Be careful. ü".to_owned(), r#"[{"b":1,"a":[1.0,2]}]"#.to_owned())
}

fn said() -> Vec<Entry> {
    vec![
        Entry::User("hello\nü".to_owned()),
        Entry::Call { call: "c1".to_owned(), name: "read_file".to_owned(), arguments: "{}".to_owned() },
        Entry::Output { call: "c1".to_owned(), text: "out".to_owned() },
        Entry::Assistant("done".to_owned()),
    ]
}

#[test]
fn a_session_opens_as_it_was_left_baseline_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path(), id("s"), baseline(), 3).unwrap();
    session.record(said()).unwrap();
    drop(session);
    let session = Session::open(dir.path(), id("s")).unwrap();
    assert_eq!((session.baseline(), session.slot()), (&baseline(), 3));
    assert_eq!(session.entries(), said());
    assert_eq!(list(dir.path()).unwrap(), [id("s")]);
}

#[test]
fn one_writer_one_session_of_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), id("s"), baseline(), 0).unwrap();
    assert!(matches!(Session::open(dir.path(), id("s")), Err(SessionError::Locked(_))));
    assert!(matches!(Session::create(dir.path(), id("s"), baseline(), 0), Err(SessionError::Exists(_))));
    drop(session);
    assert!(Session::open(dir.path(), id("s")).is_ok());
    assert!(matches!(Session::open(dir.path(), id("t")), Err(SessionError::Unknown(_))));
}

#[test]
fn a_call_without_a_result_gets_one_and_only_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path(), id("s"), baseline(), 0).unwrap();
    session.record(said()[..2].to_vec()).unwrap();
    drop(session);
    for _ in 0..2 {
        let session = Session::open(dir.path(), id("s")).unwrap();
        let outputs: Vec<_> =
            session.entries().iter().filter(|entry| matches!(entry, Entry::Output { .. })).collect();
        assert_eq!(outputs, [&Entry::Output { call: "c1".to_owned(), text: INTERRUPTED.to_owned() }]);
    }
}

#[test]
fn a_fork_begins_with_what_was_said_and_goes_its_own_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path(), id("s"), baseline(), 0).unwrap();
    session.record(said()).unwrap();
    let mut fork = session.fork(dir.path(), id("f")).unwrap();
    fork.record(vec![Entry::User("more".to_owned())]).unwrap();
    assert_eq!((session.entries().len(), fork.entries().len()), (4, 5));
    assert!(fs::read_to_string(fork.path()).unwrap().contains("\"forked_from_id\":\"s\""));
}

#[test]
fn lines_and_members_we_do_not_know_are_kept_and_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rollout-x.jsonl");
    let foreign = concat!(
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"x","cwd":"/","cli_version":"0.1","base_instructions":{"text":"S"}}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"turn_context","payload":{"model":"m"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}],"id":"i"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"reasoning","summary":[]}}"#,
        "\n",
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":{"type":"token_count"}}"#,
        "\n",
    );
    fs::write(&path, foreign).unwrap();
    let mut session = Session::open(dir.path(), id("x")).unwrap();
    assert_eq!(session.entries(), [Entry::User("hi".to_owned())]);
    assert_eq!(session.baseline().system(), "S");
    session.record(vec![Entry::Assistant("ho".to_owned())]).unwrap();
    assert!(fs::read_to_string(&path).unwrap().starts_with(foreign));
}

#[test]
fn damage_in_the_middle_is_named_and_a_file_without_meta_is_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path(), id("s"), baseline(), 0).unwrap();
    session.record(said()).unwrap();
    let path = session.path().to_owned();
    drop(session);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("{\"payload\"", "{payload", 1)).unwrap();
    assert!(matches!(Session::open(dir.path(), id("s")), Err(SessionError::Damaged { line: 2, .. })));
    fs::write(&path, "{}\n").unwrap();
    assert!(matches!(Session::open(dir.path(), id("s")), Err(SessionError::NoMeta(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_session_cut_anywhere_after_its_first_line_opens_with_every_call_answered_once(cut in 0.0_f64..1.0) {
        let dir = tempfile::tempdir().unwrap();
        let mut session = Session::create(dir.path(), id("s"), baseline(), 0).unwrap();
        session.record(said()).unwrap();
        let path = session.path().to_owned();
        drop(session);
        let text = fs::read(&path).unwrap();
        let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        #[expect(
            clippy::as_conversions, clippy::cast_precision_loss,
            clippy::cast_possible_truncation, clippy::cast_sign_loss,
            reason = "a share of a small length"
        )]
        let end = first + ((text.len() - first) as f64 * cut) as usize;
        fs::write(&path, &text[..end]).unwrap();
        let session = Session::open(dir.path(), id("s")).unwrap();
        prop_assert_eq!(history::dangling(session.entries()), Vec::<String>::new());
        let outputs = session.entries().iter().filter(|entry| matches!(entry, Entry::Output { .. })).count();
        let calls = session.entries().iter().filter(|entry| matches!(entry, Entry::Call { .. })).count();
        prop_assert_eq!(outputs, calls);
    }
}
