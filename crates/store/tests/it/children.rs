//! Other processes: several that write at once, one that is killed, one whose disk is full.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use proto::Status;
use store::{Added, EventQuery, SqliteStore, Store};

use crate::world::{ROOMY, accept, ask, ask_id, at, instant, verified};

const PATH: &str = "STORE_TEST_CHILD_PATH";
const FIRST: &str = "STORE_TEST_CHILD_FIRST";
const COUNT: &str = "STORE_TEST_CHILD_COUNT";

/// The part that runs in a child, which is this very program with three variables set: asks and releases one item after
/// the other and tells each on stdout once the store has said that it is done.
#[tokio::test]
async fn a_child_writes_what_its_parent_tells_it_to() {
    let Some(path) = env::var_os(PATH) else { return };
    let number = |name| env::var(name).unwrap().parse::<u64>().unwrap();
    let (first, count) = (number(FIRST), number(COUNT));
    let tell = |text: String| writeln!(std::io::stdout(), "\n{text}").unwrap();
    let store = SqliteStore::open(Path::new(&path)).await.unwrap();
    for number in first..first + count {
        let new = ask(number, "claude");
        match store.add_item(&new, ROOMY, at(0)).await {
            Ok(added) => assert!(matches!(added, Added::New(_)), "{added:?}"),
            Err(error) => {
                tell(format!("failed {error:?}"));
                assert!(store.inbox(None, 1).await.is_ok(), "what is there can still be read");
                return;
            }
        }
        tell(format!("asked {number}"));
        match store.accept_batch(&instant(&number.to_string(), &[new.item]), at(0)).await {
            Ok(_) => tell(format!("allowed {number}")),
            Err(error) => return tell(format!("failed {error:?}")),
        }
    }
}

fn child(path: &Path, first: u64, count: u64) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    told(&mut command, path, first, count);
    command
}

fn told(command: &mut Command, path: &Path, first: u64, count: u64) {
    command
        .args(["--exact", "children::a_child_writes_what_its_parent_tells_it_to", "--nocapture"])
        .env(PATH, path)
        .env(FIRST, first.to_string())
        .env(COUNT, count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
}

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing it tells; `None` at its end.
    fn hear(&mut self) -> Option<(String, String)> {
        loop {
            let line = self.lines.next()?.unwrap();
            if let Some((word, rest)) = line.split_once(' ')
                && ["asked", "allowed", "failed"].contains(&word)
            {
                return Some((word.to_owned(), rest.to_owned()));
            }
        }
    }
}

/// Everything that was told is there, and the log is whole.
async fn check(path: &Path, told: &[(String, String)]) {
    let store = SqliteStore::open(path).await.unwrap();
    for (word, number) in told {
        let status = store.answer(&ask_id(number.parse().unwrap())).await.unwrap().unwrap().status;
        let kept = if word == "allowed" {
            status == Status::Allowed
        } else {
            status.waits() || status == Status::Allowed
        };
        assert!(kept, "{word} {number} is {status}");
    }
    let report = verified(&store).await;
    assert_eq!(report.failure, None);
    let query = EventQuery { limit: 1, since: report.head.seq, ..EventQuery::default() };
    assert_eq!(store.events(&query).await.unwrap(), []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn processes_that_write_at_once_make_one_whole_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    let store = SqliteStore::open(&path).await.unwrap();
    let mut children: Vec<_> = (1..=3).map(|n| Running::start(&mut child(&path, n * 1_000, 25))).collect();
    for number in 0..25 {
        let new = ask(number, "codex");
        assert!(matches!(store.add_item(&new, ROOMY, at(0)).await.unwrap(), Added::New(_)));
        accept(&store, &instant(&number.to_string(), &[new.item]), at(0)).await;
    }
    let mut told = Vec::new();
    for running in &mut children {
        while let Some(heard) = running.hear() {
            assert_ne!(heard.0, "failed", "{heard:?}");
            told.push(heard);
        }
        assert!(running.child.wait().unwrap().success());
    }
    assert_eq!(told.len(), 3 * 25 * 2);
    assert_eq!(verified(&store).await.records, 4 * 25 * 3);
    check(&path, &told).await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_was_told_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    let mut told = Vec::new();
    for round in 0..12_u64 {
        let mut running = Running::start(&mut child(&path, round * 10_000, 5_000));
        // Another number each round, so that the kill meets another point of the work.
        for _ in 0..(round * 7) % 31 + 1 {
            told.push(running.hear().unwrap());
        }
        running.child.kill().unwrap();
        while let Some(heard) = running.hear() {
            told.push(heard);
        }
        assert!(!running.child.wait().unwrap().success());
        check(&path, &told).await;
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_takes_nothing_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.sqlite");
    SqliteStore::open(&path).await.unwrap().close().await.unwrap();
    // No file of the child may grow over some hundred KiB; the signal that would end it for that is ignored, as on a full disk.
    let mut command = Command::new("sh");
    command.args([
        OsStr::new("-c"),
        OsStr::new("trap '' XFSZ; ulimit -f 1500; exec \"$@\""),
        OsStr::new("sh"),
    ]);
    command.arg(env::current_exe().unwrap());
    told(&mut command, &path, 0, 5_000);
    let mut running = Running::start(&mut command);
    let mut told = Vec::new();
    let failure = loop {
        let heard = running.hear().expect("the disk is full before everything is written");
        if heard.0 == "failed" {
            break heard.1;
        }
        told.push(heard);
    };
    assert!(running.child.wait().unwrap().success(), "{failure}");
    assert!(failure.starts_with("Full") || failure.starts_with("Other"), "{failure}");
    assert!(!told.is_empty());
    check(&path, &told).await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert!(matches!(store.add_item(&ask(9_999, "codex"), ROOMY, at(0)).await.unwrap(), Added::New(_)));
}
