//! Real processes at one store: races for one item, kills at any moment, and the limit that a copied store has.
//!
//! The processes are this test binary itself, started anew with one test named and a task in its environment.
#![cfg(test)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proof::{Approvers, ExecutorCheck, ReplayStore};
use proto::{AskItem, Item, Refusal, Timestamp};
use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey, Temp, write_private};

use crate::scene::HOOK;

/// Names the file with a child's task.
const TASK: &str = "SEALWARD_TEST_CLAIMER";
const CHILD: &str = "processes::a_claimer_gets_each_item_of_a_proof_once";

/// Items, a proof for all of them, a store: what a claimer is given.
struct Task {
    store: PathBuf,
    proof: Value,
    pins: Value,
    items: Vec<String>,
    now: i64,
}

fn item(id: &str) -> Item {
    Item::Ask(AskItem {
        id: id.to_owned(),
        executor: HOOK.to_owned(),
        agent: "claude".to_owned(),
        session: "s1".to_owned(),
        tool: "Bash".to_owned(),
        input: "{}".to_owned(),
        cwd: "/repo".to_owned(),
    })
}

impl Task {
    fn new(home: &Temp, phone: &SoftPasskey, count: usize) -> Self {
        let items: Vec<String> = (0..count).map(|_| testkit::new_id("ask")).collect();
        let now = testkit::now_ms() + 1000;
        let store = home.join("replay");
        ReplayStore::create(&store, Timestamp::from_millis(now)).unwrap();
        let pins = testkit::approvers_file(&[HOOK], &[phone]);
        let mut task = Self { store, proof: Value::Null, pins, items, now };
        task.proof = task.another_proof(phone);
        task
    }

    /// A further proof for the same items: other nonce, other signature.
    fn another_proof(&self, phone: &SoftPasskey) -> Value {
        let hashes: Vec<String> =
            self.items.iter().map(|id| proof::item_hash(&item(id)).to_string()).collect();
        phone.proof(&Payload::approve(&hashes))
    }

    fn write(&self, path: &Path) {
        let Self { store, proof, pins, items, now } = self;
        let text = json!({ "store": store, "proof": proof, "pins": pins, "items": items, "now": now });
        write_private(path, &text.to_string());
    }

    fn read(path: &Path) -> Self {
        let task: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let items =
            task["items"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        Self {
            store: task["store"].as_str().unwrap().into(),
            proof: task["proof"].clone(),
            pins: task["pins"].clone(),
            items,
            now: task["now"].as_i64().unwrap(),
        }
    }

    /// Checks and claims every item, and tells of each what it got, before it goes on to the next.
    fn claim_all(&self, mut tell: impl FnMut(&str, Result<(), Refusal>)) {
        let approvers = Approvers::parse(self.pins.to_string().as_bytes()).unwrap();
        let proof = self.proof.to_string();
        let now = Timestamp::from_millis(self.now);
        for id in &self.items {
            let item = item(id);
            let check = ExecutorCheck {
                approvers: &approvers,
                identity: Some(HOOK),
                item: &item,
                quorum_at_least: 0,
                human_only: false,
                now,
            };
            let store = ReplayStore::open(&self.store).unwrap();
            let got = check.check(proof.as_bytes()).and_then(|sealed| sealed.claim(&store, now)).map(
                |authorized| {
                    assert_eq!(authorized.item(), proof::item_hash(&item));
                },
            );
            tell(id, got);
        }
    }
}

/// Started by the other tests, this is a claimer that waits for a line on its standard input and then tells of each item
/// on its standard output. Started by itself, it claims in a store of its own.
#[test]
#[expect(clippy::print_stdout, reason = "the child's report to its parent")]
fn a_claimer_gets_each_item_of_a_proof_once() {
    if let Some(path) = std::env::var_os(TASK) {
        let task = Task::read(Path::new(&path));
        let mut start = [0];
        println!("\nready");
        std::io::stdin().read_exact(&mut start).unwrap();
        task.claim_all(|id, got| println!("{id} {}", got.map_or_else(Refusal::code, |()| "got")));
        return;
    }
    let home = Temp::new();
    let task = Task::new(&home, &SoftPasskey::new(Alg::EdDsa), 3);
    for meant in [Ok(()), Err(Refusal::AlreadyUsed)] {
        task.claim_all(|id, got| assert_eq!(got, meant, "{id}"));
    }
}

/// A claimer that has not been told to start yet.
struct Claimer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Claimer {
    fn new(task: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([CHILD, "--exact", "--nocapture"])
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.unwrap() == "ready"), "a claimer starts");
        Self { child, lines }
    }

    fn start(&mut self) {
        self.child.stdin.as_ref().unwrap().write_all(b"\n").unwrap();
    }

    /// Reads its report to the end: each item with what it got.
    fn report(mut self) -> Vec<(String, String)> {
        let mut told = vec![];
        for line in self.lines.by_ref() {
            if let Some((id, got)) = line.unwrap().split_once(' ').filter(|(id, _)| id.starts_with("ask-")) {
                told.push((id.to_owned(), got.to_owned()));
            }
        }
        self.child.wait().unwrap();
        told
    }
}

#[test]
fn eight_processes_race_each_item_with_two_different_proofs_and_exactly_one_gets_it() {
    let home = Temp::new();
    let phone = SoftPasskey::new(Alg::Es256);
    let mut task = Task::new(&home, &phone, 40);
    let files = [home.join("one.json"), home.join("two.json")];
    task.write(&files[0]);
    task.proof = task.another_proof(&phone);
    task.write(&files[1]);
    let mut claimers: Vec<Claimer> = (0..8).map(|n| Claimer::new(&files[n % 2])).collect();
    claimers.iter_mut().for_each(Claimer::start);
    let told: Vec<(String, String)> = claimers.into_iter().flat_map(Claimer::report).collect();
    assert_eq!(told.len(), 8 * task.items.len());
    for id in &task.items {
        let verdicts: Vec<&str> =
            told.iter().filter(|(of, _)| of == id).map(|(_, got)| got.as_str()).collect();
        assert_eq!(verdicts.iter().filter(|got| **got == "got").count(), 1, "{id}: {verdicts:?}");
        assert_eq!(verdicts.iter().filter(|got| **got == "already_used").count(), 7, "{id}: {verdicts:?}");
    }
}

/// Rounds of the kill test; `make soak` asks for more.
fn rounds() -> u64 {
    if std::env::var_os("SEALWARD_SOAK").is_some() { 2000 } else { 40 }
}

#[test]
fn killed_at_any_moment_around_the_claim_no_item_is_ever_got_twice() {
    let home = Temp::new();
    let phone = SoftPasskey::new(Alg::EdDsa);
    let task = Task::new(&home, &phone, 200);
    let file = home.join("task.json");
    task.write(&file);
    let mut got = BTreeSet::new();
    let mut cut_short = 0;
    for round in 0..rounds() {
        let mut claimer = Claimer::new(&file);
        claimer.start();
        // From before the first claim to after many: a few microseconds more each round.
        let until = Instant::now() + Duration::from_micros(round * 397 % 20_000);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        claimer.child.kill().unwrap();
        let told = claimer.report();
        cut_short += usize::from(told.len() < task.items.len());
        for (id, verdict) in told {
            assert!(verdict != "got" || got.insert(id.clone()), "{id} was got twice");
        }
    }
    assert!(cut_short > 0, "no process was killed at work");
    // What was claimed but never told of is burned, not free: the rest goes to exactly one more claimer.
    let mut last = Claimer::new(&file);
    last.start();
    for (id, verdict) in last.report() {
        assert!(verdict != "got" || got.insert(id.clone()), "{id} was got twice");
        assert!(["got", "already_used"].contains(&verdict.as_str()), "{id}: {verdict}");
    }
    assert!(got.len() <= task.items.len());
}

/// The limit that the design names: a restored or cloned store has forgotten what was used since.
#[test]
fn a_restored_copy_of_the_store_lets_an_item_pass_a_second_time() {
    let home = Temp::new();
    let task = Task::new(&home, &SoftPasskey::new(Alg::EdDsa), 1);
    let copy = home.folder("copy");
    for entry in std::fs::read_dir(&task.store).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let claim = |meant: Result<(), Refusal>| task.claim_all(|id, got| assert_eq!(got, meant, "{id}"));
    claim(Ok(()));
    claim(Err(Refusal::AlreadyUsed));
    std::fs::remove_dir_all(&task.store).unwrap();
    std::fs::rename(&copy, &task.store).unwrap();
    claim(Ok(()));
}
