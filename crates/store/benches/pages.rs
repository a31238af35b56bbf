//! What a page of the inbox costs with few and with many items waiting, and what an approval costs in flushes of the disk.
//!
//! Ratios are taken in one run, round by round, so that a busy machine slows both sides. Prints one line for each and fails
//! when a page with 10,000 waiting costs over twice that with 50. The whole road over HTTP is measured elsewhere.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark: it ends where a measurement fails, and prints what it found"
)]

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use proto::{AskItem, Item, Timestamp, api::Guard};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use store::{Accepted, Added, BatchEntry, Caps, NewBatch, NewItem, Signer, SqliteStore, Store};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const ROUNDS: usize = 300;

fn ask(number: usize) -> NewItem {
    NewItem {
        item: Item::Ask(AskItem {
            id: format!("ask-{number:032x}"),
            executor: "hook@laptop".to_owned(),
            agent: "claude".to_owned(),
            session: "session".to_owned(),
            tool: "Bash".to_owned(),
            input: format!(
                "{{\"command\":\"cargo test --package p{number}\",\"description\":\"run the tests\"}}"
            ),
            cwd: "/home/ada/repo".to_owned(),
        }),
        owner: "claude".to_owned(),
        quorum: 1,
        host: Some("laptop".to_owned()),
        thread: None,
        guard: Guard::User,
        why: Some("to see whether it still works".to_owned()),
        expires: NOW.plus(3_600_000),
    }
}

async fn add(store: &SqliteStore, number: usize) -> Item {
    let new = ask(number);
    let roomy = Caps { per_owner: u32::MAX, total: u32::MAX };
    match store.add_item(&new, roomy, NOW).await.unwrap() {
        Added::New(row) => row.item,
        Added::Same(_) | Added::Conflict | Added::TooMany(_) => panic!("ask {number} was not new"),
    }
}

/// A store in which `waiting` items wait: one added as usual, the others copied from it in one transaction.
async fn with_waiting(folder: &Path, waiting: usize) -> SqliteStore {
    let path = folder.join(format!("{waiting}.sqlite"));
    let store = SqliteStore::open(&path).await.unwrap();
    add(&store, 0).await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let copy = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) \
         INSERT INTO items (id, kind, owner, twin, quorum, guard, status, created, expires, host, why, fields) \
         SELECT printf('ask-%032x', i), kind, owner, randomblob(32), quorum, guard, status, created, expires, host, why, \
         json_set(fields, '$.input', '{\"command\":\"cargo test --package p' || i || '\"}') FROM items, n WHERE seq = 1";
    let copies = i64::try_from(waiting).unwrap() - 1;
    sqlx::query(copy).bind(copies).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    assert_eq!(store.inbox(None, 1).await.unwrap().total, u64::try_from(waiting).unwrap());
    store
}

/// One page of 50 from somewhere in the middle of what waits.
async fn page(store: &SqliteStore, after: u64) -> Duration {
    let start = Instant::now();
    let page = store.inbox(Some(after), 50).await.unwrap();
    let taken = start.elapsed();
    assert_eq!(page.rows.len(), 50);
    taken
}

async fn approve(store: &SqliteStore, number: usize, item: Item) -> Duration {
    let new = NewBatch {
        id: format!("bat-{number}"),
        payload: format!("payload {number}").into_bytes(),
        proof: format!("{{\"signatures\":[\"{}\"]}}", "s".repeat(600)),
        entries: vec![BatchEntry { item, choice: String::new(), sha256: String::new() }],
        not_before: NOW,
        expires: NOW.plus(3_600_000),
        undo_ms: 0,
        need: 1,
        have: 1,
        signers: vec![Signer {
            keyid: "key".to_owned(),
            person: "ada".to_owned(),
            label: "phone".to_owned(),
        }],
    };
    let start = Instant::now();
    let accepted = store.accept_batch(&new, NOW).await.unwrap();
    let taken = start.elapsed();
    assert!(matches!(accepted, Accepted::New(_)), "{accepted:?}");
    taken
}

/// A page of a file written and flushed, in the same folder.
fn flush(file: &mut std::fs::File) -> Duration {
    let start = Instant::now();
    file.write_all(&[7; 4096]).unwrap();
    file.sync_data().unwrap();
    start.elapsed()
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let few = with_waiting(folder.path(), 51).await;
    let many = with_waiting(folder.path(), 10_000).await;
    let (mut with_few, mut with_many) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        with_few.push(page(&few, 1).await);
        with_many.push(page(&many, u64::try_from(round * 33).unwrap()).await);
    }
    let (small, large) = (median(&mut with_few), median(&mut with_many));
    let ratio = large.as_secs_f64() / small.as_secs_f64();
    println!(
        "inbox page of 50, p50 of {ROUNDS}: {small:?} with 51 waiting, {large:?} with 10,000: {ratio:.2} times"
    );

    let mut file = OpenOptions::new().create(true).append(true).open(folder.path().join("flushes")).unwrap();
    let (mut approvals, mut flushes) = (Vec::new(), Vec::new());
    for number in 20_000..20_000 + ROUNDS {
        let item = add(&many, number).await;
        flushes.push(flush(&mut file));
        approvals.push(approve(&many, number, item).await);
    }
    let (approval, one) = (median(&mut approvals), median(&mut flushes));
    let over = approval.as_secs_f64() - one.as_secs_f64();
    println!(
        "approve and release, p50 of {ROUNDS}: {approval:?}; one flush {one:?}; {:.2} ms over it",
        over * 1_000.0
    );
    assert!(ratio <= 2.0, "a page with 10,000 waiting costs {ratio:.2} times one with 51");
}
