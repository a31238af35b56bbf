//! The database file: made private, refused when it is not ours, closed whole, rid of destroyed proofs, never left locked.

use std::{
    fs,
    future::Future,
    os::unix::fs::PermissionsExt,
    path::Path,
    pin::pin,
    task::{Context, Waker},
};

use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use store::{SqliteStore, Store, StoreError, Undone};

use crate::world::{ROOMY, World, accept, add, ask, ask_id, at, batch, kinds, verified};

async fn raw(path: &Path, sql: &'static str) {
    let mut connection =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn the_file_and_its_journal_are_readable_by_their_owner_only() {
    let world = World::new().await;
    add(&world.store, &ask(1, "claude")).await;
    let mut seen = 0;
    for entry in fs::read_dir(world.path().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
        seen += 1;
    }
    assert_eq!(seen, 3, "database, journal, shared memory");
}

#[tokio::test]
async fn a_closed_store_is_one_file_that_opens_again_with_everything_in_it() {
    let world = World::new().await;
    add(&world.store, &ask(1, "claude")).await;
    world.store.close().await.unwrap();
    world.store.close().await.unwrap();
    let names: Vec<_> = fs::read_dir(world.path().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["hub.sqlite"]);
    for refused in [
        world.store.add_item(&ask(2, "claude"), ROOMY, at(0)).await.map(drop),
        world.store.item(&ask_id(1)).await.map(drop),
        world.store.check().await,
    ] {
        assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    }
    let again = SqliteStore::open(&world.path()).await.unwrap();
    assert!(again.item(&ask_id(1)).await.unwrap().is_some());
    again.check().await.unwrap();
    assert_eq!(kinds(&again).await, ["asked"]);
}

#[tokio::test]
async fn what_is_not_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    let letter = "Dear diary, this is no database. ".repeat(40);
    fs::write(&path, &letter).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);

    let foreign = folder.path().join("foreign.sqlite");
    raw(&foreign, "CREATE TABLE recipes (title TEXT)").await;
    let refused = SqliteStore::open(&foreign).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");

    let nowhere = SqliteStore::open(&folder.path().join("no such folder/hub.sqlite")).await.unwrap_err();
    assert!(matches!(nowhere, StoreError::Open { .. }), "{nowhere:?}");
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let world = World::new().await;
    world.store.close().await.unwrap();
    raw(&world.path(), "PRAGMA user_version = 2").await;
    let refused = SqliteStore::open(&world.path()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 2, known: 1 }), "{refused:?}");
}

#[tokio::test]
async fn several_may_open_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    let opening = (0..8).map(|_| {
        let path = path.clone();
        tokio::spawn(async move { SqliteStore::open(&path).await })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap().unwrap().check().await.unwrap();
    }
}

/// Whether the bytes stand anywhere in the folder's files.
fn stands_in(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let content = fs::read(entry.unwrap().path()).unwrap();
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[tokio::test]
async fn an_undone_proof_stands_in_no_file_any_more() {
    let world = World::new().await;
    let item = add(&world.store, &ask(1, "claude")).await;
    // One short enough to stand in its row's page, one that fills pages of its own.
    for (name, length) in [("short", 10), ("long", 50_000)] {
        let secret = format!("signature-{name}-{}", "s".repeat(length));
        let mut new = batch(name, std::slice::from_ref(&item));
        new.proof = format!("{{\"signatures\":[\"{secret}\"]}}");
        accept(&world.store, &new, at(0)).await;
        let folder = world.path().parent().unwrap().to_owned();
        let trace = format!("signature-{name}-sssss");
        assert!(stands_in(&folder, trace.as_bytes()), "it was there");
        let undone = world.store.undo(&new.id, "ada's phone", at(1)).await.unwrap();
        assert!(matches!(undone, Undone::Done(_)), "{undone:?}");
        assert!(!stands_in(&folder, trace.as_bytes()), "{name} proof");
        assert!(!stands_in(&folder, "s".repeat(200).as_bytes()), "{name} proof");
    }
}

/// Polls a future at most `times` times and drops it. Whether it came to its end.
async fn poll_and_drop<F: Future>(future: F, times: u32) -> bool {
    let mut future = pin!(future);
    for _ in 0..times {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn a_dropped_operation_leaves_no_lock_and_no_half() {
    let world = World::new().await;
    let mut finished = 0;
    for number in 0..200 {
        let new = ask(u64::from(number), "claude");
        if poll_and_drop(world.store.add_item(&new, ROOMY, at(0)), number * 40).await {
            finished += 1;
        }
        // What was dropped after it had sent its commit may still be at it; it holds the lock that this waits for.
        world.store.check().await.unwrap();
        let whole = verified(&world.store).await;
        assert_eq!(whole.failure, None);
        let waiting = world.store.inbox(None, 1).await.unwrap().total;
        assert!(whole.records >= finished && waiting == whole.records, "{whole:?} {waiting}");
    }
    assert!(finished < 200, "some were dropped");
    add(&world.store, &ask(1_000, "claude")).await;
}
