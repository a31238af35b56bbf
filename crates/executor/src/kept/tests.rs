//! Which call finds which ask again.

use proto::Kind;

use super::*;

const CALL: Call<'static> =
    Call { agent: "claude", session: "s1", tool: "Bash", input: r#"{"command":"ls"}"# };

struct World {
    dir: tempfile::TempDir,
    made: std::cell::Cell<u8>,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), made: std::cell::Cell::new(0) }
    }

    fn kept(&self) -> Kept {
        Kept::new(self.dir.path().join("kept"))
    }

    fn entry(&self, call: &str, dialog: bool) -> Entry {
        let number = self.made.replace(self.made.get() + 1);
        Entry {
            id: ItemId::from_random(Kind::Ask, [number; 16]),
            made: Timestamp::from_millis(testkit::now_ms() + i64::from(number)),
            cwd: "/repo".into(),
            call: call.into(),
            dialog,
        }
    }
}

#[test]
fn the_identical_call_finds_its_ask_again() {
    let world = World::new();
    let entry = world.entry("t1", false);
    world.kept().keep(&CALL, entry.clone()).unwrap().leave();
    let held = world.kept().take(&CALL, "/repo").unwrap().unwrap();
    assert_eq!(held.entry(), &entry);
    held.forget().unwrap();
    assert!(world.kept().take(&CALL, "/repo").unwrap().is_none());
}

#[test]
fn any_other_call_does_not() {
    let world = World::new();
    world.kept().keep(&CALL, world.entry("t1", false)).unwrap().leave();
    for other in [
        Call { agent: "other", ..CALL },
        Call { session: "s2", ..CALL },
        Call { tool: "Read", ..CALL },
        Call { input: r#"{"command": "ls"}"#, ..CALL },
        // The same bytes, cut elsewhere.
        Call { session: "s1B", tool: "ash", ..CALL },
    ] {
        assert!(world.kept().take(&other, "/repo").unwrap().is_none(), "{other:?}");
    }
    assert!(world.kept().take(&CALL, "/elsewhere").unwrap().is_none());
}

#[test]
fn two_equal_calls_at_once_never_share_an_ask() {
    let world = World::new();
    let waiting = world.kept().keep(&CALL, world.entry("t1", false)).unwrap();
    assert!(world.kept().take(&CALL, "/repo").unwrap().is_none(), "another process waits on it");
    world.kept().keep(&CALL, world.entry("t2", false)).unwrap().leave();
    let second = world.kept().take(&CALL, "/repo").unwrap().unwrap();
    assert_ne!(second.entry().id, waiting.entry().id);
}

#[test]
fn the_oldest_ask_is_taken_up_first() {
    let world = World::new();
    let (older, younger) = (world.entry("t1", false), world.entry("t2", false));
    world.kept().keep(&CALL, younger).unwrap().leave();
    world.kept().keep(&CALL, older.clone()).unwrap().leave();
    assert_eq!(world.kept().take(&CALL, "/repo").unwrap().unwrap().entry(), &older);
}

#[test]
fn the_end_of_a_call_closes_its_own_asks_and_those_of_the_dialog() {
    let world = World::new();
    let waiting = world.kept().keep(&CALL, world.entry("t1", false)).unwrap();
    let dialog = world.kept().keep(&CALL, world.entry("", true)).unwrap();
    assert_eq!(world.kept().ended(&CALL, "t9").unwrap(), vec![dialog.entry().id.clone()]);
    assert_eq!(world.kept().ended(&CALL, "t1").unwrap(), vec![waiting.entry().id.clone()]);
    dialog.forget().unwrap();
    waiting.forget().unwrap();
    assert_eq!(world.kept().ended(&CALL, "").unwrap(), Vec::new());
}

#[test]
fn an_ask_on_which_nobody_waits_is_closed_too() {
    let world = World::new();
    let entry = world.entry("t1", false);
    world.kept().keep(&CALL, entry.clone()).unwrap().leave();
    assert_eq!(world.kept().ended(&CALL, "t9").unwrap(), vec![entry.id]);
}

#[test]
fn old_files_and_foreign_files_go_away_by_themselves() {
    let world = World::new();
    let old = world.entry("t1", false);
    let mut young = world.entry("t2", false);
    young.made = old.made.plus(KEPT_MS + 1);
    world.kept().keep(&CALL, old).unwrap().leave();
    fs::write(world.dir.path().join("kept/readme"), "hello").unwrap();
    world.kept().keep(&CALL, young.clone()).unwrap().leave();
    let held = world.kept().take(&CALL, "/repo").unwrap().unwrap();
    assert_eq!(held.entry(), &young);
    assert_eq!(
        fs::read_dir(world.dir.path().join("kept")).unwrap().count(),
        2,
        "a foreign file is not ours to remove yet"
    );
}
