//! What only the inside can show: plans of the list queries, and a disk that is really full.

use proto::{AskItem, Item, Timestamp, api::Guard};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use std::time::Duration;
use testkit::Golden;

use super::{SqliteStore, batches, connect, denials, items, log, pages, sessions, settle, tokens, trust};
use crate::{Accepted, Added, BatchEntry, Caps, NewBatch, NewItem, Store, StoreError, Undone};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

async fn open() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("hub.sqlite")).await.unwrap();
    (folder, store)
}

fn ask(number: u32, input: String) -> NewItem {
    NewItem {
        item: Item::Ask(AskItem {
            id: format!("ask-{number:032x}"),
            executor: "hook@laptop".to_owned(),
            agent: "claude".to_owned(),
            session: "s".to_owned(),
            tool: "Bash".to_owned(),
            input,
            cwd: "/".to_owned(),
        }),
        owner: "claude".to_owned(),
        quorum: 1,
        host: None,
        thread: None,
        guard: Guard::User,
        why: None,
        expires: NOW.plus(1_000),
    }
}

const ROOMY: Caps = Caps { per_owner: 1_000, total: 1_000 };

#[tokio::test]
async fn no_list_query_reads_a_whole_table() {
    let (_folder, store) = open().await;
    let queries = [
        ("item", items::ONE),
        ("answer", items::ANSWER),
        ("lapsed items", items::LAPSED),
        ("inbox", pages::INBOX),
        ("history", pages::HISTORY),
        ("search", pages::SEARCH),
        ("end of a search", pages::WINDOW_END),
        ("today", pages::TODAY),
        ("batch", batches::BY_ID),
        ("batch of a payload", batches::BY_DIGEST),
        ("open batches", batches::OPEN),
        ("lapsed batches", batches::LAPSED),
        ("members of a batch", batches::MEMBERS),
        ("due batches", settle::DUE),
        ("allowed items", settle::ALLOW),
        ("next settling", settle::NEXT[0]),
        ("next lapsing batch", settle::NEXT[1]),
        ("next lapsing item", settle::NEXT[2]),
        ("messages", denials::FOR_READER),
        ("pinned messages", denials::PINNED),
        ("trust", trust::SINCE),
        ("token", tokens::BY_HASH),
        ("token seen", tokens::STALE),
        ("session", sessions::BY_COOKIE),
        ("session seen", sessions::STALE),
        ("events", log::ALL),
        ("events of a kind", log::OF_KIND),
        ("events of a topic", log::OF_TOPIC),
        ("last answer", items::LAST_ENDED),
    ];
    let mut plans = String::new();
    for (name, sql) in queries {
        let plan = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
            .fetch_all(store.readers())
            .await
            .unwrap();
        plans += &format!("{name}\n");
        for step in plan {
            let step: String = step.get("detail");
            assert!(!scans(&step), "{name}: {step}");
            plans += &format!("    {step}\n");
        }
    }
    // A search may still walk a wide range of a poor index: which index each takes is for a reviewer to read.
    Golden::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).check("plans.txt", &plans);
}

/// Whether a step of a plan walks a table of ours from end to end. Partial indexes hold only the rows that wait; the
/// other walked parts are windows with a limit, lists of parameters, and tables of one row.
fn scans(step: &str) -> bool {
    let allowed = [
        "items USING INDEX items_waiting",
        "batches USING INDEX batches_open",
        "m USING INDEX messages_pinned",
        "json_each",
        "w",
        "place",
        "pause",
        "(subquery",
    ];
    step.strip_prefix("SCAN ").is_some_and(|what| !allowed.iter().any(|allowed| what.starts_with(allowed)))
}

#[test]
fn a_walk_through_a_table_is_seen() {
    assert!(scans("SCAN items"));
    assert!(scans("SCAN i USING INDEX sqlite_autoindex_items_1"));
    assert!(!scans("SEARCH i USING INTEGER PRIMARY KEY (rowid>?)"));
}

#[tokio::test]
async fn a_full_database_is_said_and_room_lets_it_go_on() {
    let (_folder, store) = open().await;
    let mut work = store.begin(NOW).await.unwrap();
    sqlx::query("PRAGMA max_page_count = 1").execute(work.db()).await.unwrap();
    work.abandon().await.unwrap();
    let big = ask(1, "x".repeat(400_000));
    let full = store.add_item(&big, ROOMY, NOW).await.unwrap_err();
    assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
    assert_eq!(store.item(big.item.id()).await.unwrap(), None);
    // The failed connection was given up, and with it the limit that stood for the full disk.
    assert!(matches!(store.add_item(&big, ROOMY, NOW).await.unwrap(), Added::New(_)));
}

#[tokio::test]
async fn a_database_that_another_holds_is_busy_and_then_free() {
    let (_folder, store) = open().await;
    let held = store.begin(NOW).await.unwrap();
    let hasty = connect::writing(store.path()).busy_timeout(Duration::from_millis(20));
    let mut other = hasty.connect().await.unwrap();
    let busy =
        sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.map_err(StoreError::from).unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }), "{busy:?}");
    held.abandon().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
}

#[test]
fn the_busy_timeout_that_is_set_again_is_the_one_of_new_connections() {
    assert_eq!(connect::BUSY, Duration::from_millis(5_000));
}

#[tokio::test]
async fn a_reader_in_the_way_of_a_destroyed_proof_only_puts_it_off() {
    let (folder, store) = open().await;
    let new = ask(1, "{}".to_owned());
    assert!(matches!(store.add_item(&new, ROOMY, NOW).await.unwrap(), Added::New(_)));
    let mut snapshot = store.readers().begin().await.unwrap();
    sqlx::query("SELECT seq FROM chain").fetch_one(&mut *snapshot).await.unwrap();
    let batch = NewBatch {
        id: "bat-1".to_owned(),
        payload: b"payload".to_vec(),
        proof: "{\"signature\":\"tell-tale\"}".to_owned(),
        entries: vec![BatchEntry { item: new.item, choice: String::new(), sha256: String::new() }],
        not_before: NOW,
        expires: NOW.plus(1_000),
        undo_ms: 100,
        need: 1,
        have: 1,
        signers: Vec::new(),
    };
    assert!(matches!(store.accept_batch(&batch, NOW).await.unwrap(), Accepted::New(_)));
    assert!(matches!(store.undo("bat-1", "phone", NOW).await.unwrap(), Undone::Done(_)));
    let stands = || {
        std::fs::read_dir(folder.path()).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(9).any(|window| window == b"tell-tale")
        })
    };
    assert!(stands(), "the reader's snapshot keeps it");
    drop(snapshot);
    store.check().await.unwrap();
    // The rollback of the dropped snapshot runs on its own thread: another write may be needed before it is out of the way.
    while stands() {
        store.check().await.unwrap();
    }
}
