//! From a person's yes to a claimed right: approve, released, fetched, checked and claimed, without an undo window.

use crate::SEALWARD;
use crate::samples::Samples;
use client::{Address, Hub, Token};
use proof::{Approvers, Authorized, ExecutorCheck, ReplayStore};
use proto::api::NewAsk;
use proto::{AskItem, Item, ItemId, Kind, Timestamp};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{Alg, Desk, Fields, Payload, SoftPasskey, World, now_ms};

/// No undo window, and no rate in the way.
pub(crate) const OPEN_LIMITS: &str =
    "[inbox]\nundo_s = 0\n[limits]\npending_per_agent = 1000\nasks_per_minute = 100000\n";
const WARM_UP: usize = 20;
const SAMPLES: usize = 300;
const PATIENCE: Duration = Duration::from_secs(20);

/// The road's times.
#[derive(Debug, Default)]
pub(crate) struct Road {
    /// The ask itself, before the person sees it.
    pub(crate) ask: Samples,
    /// From the post of the signed proof to the claimed right in the executor.
    pub(crate) approve_to_claim: Samples,
    /// Both: what compares with create to consume.
    pub(crate) whole: Samples,
}

struct Executor {
    hub: Hub,
    approvers: Approvers,
    store: ReplayStore,
}

pub(crate) fn run() -> Road {
    let world = World::configured(SEALWARD, OPEN_LIMITS);
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let machine = world.machine("bench", world.address());
    let token = Token::parse(&std::fs::read_to_string(machine.home().join("token")).unwrap()).unwrap();
    let address = Address::parse(&format!("http://{}", world.address())).unwrap();
    let executor = Executor {
        hub: Hub::new(address, Some(token), None).unwrap(),
        approvers: Approvers::read(&machine.home().join("approvers.json")).unwrap(),
        store: ReplayStore::open(&machine.home().join("replay")).unwrap(),
    };
    let desk = world.desk(&key);
    let mut road = Road::default();
    for number in 0..WARM_UP + SAMPLES {
        let (ask, rest) = sample(number, &executor, &desk, &key);
        if number >= WARM_UP {
            road.ask.push(ask);
            road.approve_to_claim.push(rest);
            road.whole.push(ask + rest);
        }
    }
    road
}

fn sample(number: usize, executor: &Executor, desk: &Desk<'_>, key: &SoftPasskey) -> (Duration, Duration) {
    let item = AskItem {
        id: testkit::new_id("ask"),
        executor: "hook@bench".to_owned(),
        agent: "bench".to_owned(),
        session: "bench".to_owned(),
        tool: "Bash".to_owned(),
        input: format!(r#"{{"command":"make target-{number}"}}"#),
        cwd: "/srv".to_owned(),
    };
    let row = json!({ "kind": "ask", "id": item.id, "item": item });
    // The finger on the sensor is no part of the machinery: the proof is ready before the clock starts.
    let proof = key.proof(&Payload::approve(&[Fields::of("ask", &row["item"]).hash()]));
    let start = Instant::now();
    executor.hub.ask(&new_ask(&item), PATIENCE).unwrap();
    let ask = start.elapsed();
    let rest = std::thread::scope(|scope| {
        let (waiting, told) = std::sync::mpsc::channel();
        let claimed = scope.spawn(move || {
            waiting.send(()).unwrap();
            let authorized = claim(executor, item);
            (Instant::now(), authorized)
        });
        told.recv().unwrap();
        let start = Instant::now();
        drop(desk.post_proof(&proof, &[&row]).expect(202));
        let (end, authorized) = claimed.join().unwrap();
        drop(authorized);
        end - start
    });
    (ask, rest)
}

/// Waits for the proof as an executor does, checks and claims it.
fn claim(executor: &Executor, item: AskItem) -> Authorized {
    let id = ItemId::parse(&item.id).unwrap();
    let item = Item::Ask(item);
    loop {
        let state = executor.hub.ask_state(&id, PATIENCE.as_secs(), PATIENCE).unwrap();
        let Some(proof) = state.proof else { continue };
        let now = Timestamp::from_millis(now_ms());
        let check = ExecutorCheck {
            approvers: &executor.approvers,
            identity: Some("hook@bench"),
            item: &item,
            quorum_at_least: 1,
            human_only: false,
            now,
        };
        return check.check(proof.get().as_bytes()).unwrap().claim(&executor.store, now).unwrap();
    }
}

fn new_ask(item: &AskItem) -> NewAsk {
    NewAsk {
        kind: Kind::Ask,
        quorum: 1,
        id: item.id.clone(),
        executor: item.executor.clone(),
        session: item.session.clone(),
        tool: item.tool.clone(),
        input: Some(item.input.clone()),
        cwd: Some(item.cwd.clone()),
        arguments: None,
        why: None,
        host: None,
        thread: None,
        guard: None,
    }
}
