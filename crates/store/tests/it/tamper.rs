//! Somebody edits the file: the log's check finds it, and rows are handed out as they stand, never mended.

use std::path::Path;

use proptest::prelude::*;
use proto::Item;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};
use store::{Accepted, LogReport, SqliteStore, Store, StoreError, VerifyDepth};

use crate::world::{World, accept, add, ask, ask_id, at, batch, instant, verified};

async fn editor(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

async fn edit(path: &Path, sql: &'static str) {
    let mut connection = editor(path).await;
    let done = sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    assert!(done.rows_affected() > 0, "the edit found its row: {sql}");
    connection.close().await.unwrap();
}

/// A closed database whose log has 12 lines.
async fn written() -> World {
    let world = World::new().await;
    for number in 0..4 {
        let item = add(&world.store, &ask(number, "claude")).await;
        accept(&world.store, &instant(&number.to_string(), &[item]), at(0)).await;
    }
    assert_eq!(verified(&world.store).await.records, 12);
    world.store.close().await.unwrap();
    world
}

/// One edit of the log.
#[derive(Debug, Clone)]
enum Edit {
    Byte { line: u8, at: prop::sample::Index, to: u8 },
    Remove { line: u8 },
    Swap { one: u8, other: u8 },
    Copy { line: u8 },
    Relabel { line: u8 },
    MoveHead { by: i8 },
    Rehash,
}

fn edits() -> impl Strategy<Value = Edit> {
    let line = 1_u8..=12;
    prop_oneof![
        4 => (line.clone(), any::<prop::sample::Index>(), 32_u8..127).prop_map(|(line, at, to)| Edit::Byte { line, at, to }),
        2 => line.clone().prop_map(|line| Edit::Remove { line }),
        2 => (line.clone(), line.clone()).prop_map(|(one, other)| Edit::Swap { one, other }),
        1 => line.clone().prop_map(|line| Edit::Copy { line }),
        1 => line.prop_map(|line| Edit::Relabel { line }),
        1 => (-12_i8..12).prop_map(|by| Edit::MoveHead { by }),
        1 => Just(Edit::Rehash),
    ]
}

/// Makes the edit; `false` where it changes nothing.
async fn apply(connection: &mut SqliteConnection, edit: &Edit) -> bool {
    let text = async |connection: &mut SqliteConnection, line: u8| -> String {
        let row = sqlx::query("SELECT line FROM events WHERE seq = ?").bind(line).fetch_one(connection).await;
        row.unwrap().get(0)
    };
    let changed = match *edit {
        Edit::Byte { line, at, to } => {
            let mut bytes = text(connection, line).await.into_bytes();
            let at = at.index(bytes.len());
            if bytes[at] == to {
                return false;
            }
            bytes[at] = to;
            let edited = String::from_utf8(bytes).unwrap();
            sqlx::query("UPDATE events SET line = ? WHERE seq = ?").bind(edited).bind(line)
        }
        Edit::Remove { line } => sqlx::query("DELETE FROM events WHERE seq = ?").bind(line),
        Edit::Swap { one, other } if one == other => return false,
        Edit::Swap { one, other } => {
            let (first, second) = (text(connection, one).await, text(connection, other).await);
            let swap = "UPDATE events SET line = CASE seq WHEN ?1 THEN ?4 ELSE ?3 END WHERE seq IN (?1, ?2)";
            sqlx::query(swap).bind(one).bind(other).bind(first).bind(second)
        }
        Edit::Copy { line } => {
            let copy = "INSERT INTO events (seq, kind, line) SELECT 13, kind, line FROM events WHERE seq = ?";
            sqlx::query(copy).bind(line)
        }
        Edit::Relabel { line } => sqlx::query("UPDATE events SET kind = 'login' WHERE seq = ?").bind(line),
        Edit::MoveHead { by: 0 } => return false,
        Edit::MoveHead { by } => sqlx::query("UPDATE chain SET seq = seq + ?").bind(by),
        Edit::Rehash => {
            sqlx::query("UPDATE chain SET hash = replace(hash, substr(hash, 9, 1), 'a') WHERE hash LIKE ?")
                .bind("________b%")
        }
    };
    changed.execute(connection).await.unwrap().rows_affected() > 0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_edit_of_the_log_is_found(edit in edits()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (changed, report) = runtime.block_on(async {
            let world = copy().await;
            let mut connection = editor(&world.1).await;
            let changed = apply(&mut connection, &edit).await;
            connection.close().await.unwrap();
            let store = SqliteStore::open(&world.1).await.unwrap();
            let report: LogReport = store.verify_log(VerifyDepth::Whole).await.unwrap();
            (changed, report)
        });
        prop_assert_eq!(report.failure.is_some(), changed, "{:?}", report);
    }
}

/// A copy of one written database: made once, because a case needs only the file.
async fn copy() -> (tempfile::TempDir, std::path::PathBuf) {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    if BYTES.get().is_none() {
        let made = std::fs::read(written().await.path()).unwrap();
        BYTES.get_or_init(|| made);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    std::fs::write(&path, BYTES.get().unwrap()).unwrap();
    (folder, path)
}

#[tokio::test]
async fn what_was_edited_after_its_check_is_found_by_the_whole_check() {
    let world = World::new().await;
    add(&world.store, &ask(1, "claude")).await;
    assert_eq!(world.store.verify_log(VerifyDepth::New).await.unwrap().failure, None);
    edit(&world.path(), "UPDATE events SET line = replace(line, 'Bash', 'Read')").await;
    assert_eq!(
        world.store.verify_log(VerifyDepth::New).await.unwrap().failure,
        None,
        "it looks at new lines only"
    );
    let report = world.store.verify_log(VerifyDepth::Whole).await.unwrap();
    assert_eq!(report.failure.as_deref(), Some("line 1: the hash does not fit the line"));
}

#[tokio::test]
async fn an_edited_item_is_handed_out_as_it_stands_and_what_was_seen_before_is_stale() {
    let world = World::new().await;
    let store = &world.store;
    let seen = add(store, &ask(1, "claude")).await;
    edit(&world.path(), "UPDATE items SET fields = json_set(fields, '$.cwd', '/etc')").await;
    let found = store.item(&ask_id(1)).await.unwrap().unwrap().item;
    let Item::Ask(found_ask) = &found else { panic!("an ask") };
    assert_eq!(found_ask.cwd, "/etc");
    let before = store.accept_batch(&batch("one", &[seen]), at(1)).await.unwrap();
    assert_eq!(before, Accepted::Stale(vec![ask_id(1)]));
    accept(store, &batch("two", &[found]), at(1)).await;
}

#[tokio::test]
async fn an_edited_twin_stands_alone_instead_of_vanishing() {
    let world = World::new().await;
    for number in 1..=3 {
        add(&world.store, &crate::world::twin(number, "claude", "same")).await;
    }
    assert_eq!(world.store.inbox(None, 9).await.unwrap().rows.len(), 1);
    edit(&world.path(), "UPDATE items SET fields = json_set(fields, '$.input', 'other') WHERE seq = 2").await;
    let rows = world.store.inbox(None, 9).await.unwrap().rows;
    let shown: Vec<_> = rows.iter().map(|row| (row.item.id().to_owned(), row.also.clone())).collect();
    assert_eq!(shown, [(ask_id(1), vec![ask_id(3)]), (ask_id(2), vec![])]);
}

#[tokio::test]
async fn an_edited_or_removed_proof_is_handed_out_as_it_stands() {
    let world = World::new().await;
    let item = add(&world.store, &ask(1, "claude")).await;
    accept(&world.store, &instant("one", &[item]), at(0)).await;
    edit(&world.path(), "UPDATE batches SET proof = 'not even JSON'").await;
    let answer = world.store.answer(&ask_id(1)).await.unwrap().unwrap();
    assert_eq!(answer.proof.as_deref(), Some("not even JSON"));
    edit(&world.path(), "UPDATE batches SET proof = NULL").await;
    let answer = world.store.answer(&ask_id(1)).await.unwrap().unwrap();
    assert_eq!((answer.status, answer.proof), (proto::Status::Allowed, None));
}

#[tokio::test]
async fn an_item_marked_allowed_by_hand_releases_nothing() {
    let world = World::new().await;
    let item = add(&world.store, &ask(1, "claude")).await;
    accept(&world.store, &batch("one", &[item]), at(0)).await;
    edit(&world.path(), "UPDATE items SET status = 'allowed'").await;
    assert_eq!(world.store.answer(&ask_id(1)).await.unwrap().unwrap().proof, None);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_said_with_its_name() {
    let world = World::new().await;
    add(&world.store, &ask(1, "claude")).await;
    edit(&world.path(), "UPDATE items SET fields = '{}'").await;
    let error = world.store.item(&ask_id(1)).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { what, .. } if what.contains(&ask_id(1))), "{error:?}");
}
