//! Random operations in random order: the log alone tells where every item stands, and items move along allowed edges only.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proto::{Channel, HubEvent, Item, Status, chain::Record};
use store::{Accepted, Closed, Closing, EventQuery, NewBatch, NewItem, NewSignature, Store};

use crate::world::{ROOMY, World, ask, ask_id, at, batch, denial, kinds, signer, twin, verified};

/// How many different asks the operations are about.
const ASKS: u64 = 6;

#[derive(Debug, Clone)]
enum Step {
    Ask { number: u64, lives: i64 },
    Seal { items: Vec<u64>, need: u32, undo_ms: i64, lives: i64 },
    Sign { batch: usize, person: u8 },
    Undo { batch: usize },
    Deny { items: Vec<u64>, channel: Channel },
    Close { number: u64, how: Closing },
    Pause,
    Resume,
    Settle,
    Expire,
    Wait { ms: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let numbers =
        prop::collection::btree_set(0..ASKS, 1..4).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    let channel = prop::sample::select(Channel::ALL.to_vec());
    let how = prop::sample::select(vec![Closing::Cancelled, Closing::Superseded]);
    let step = prop_oneof![
        6 => (0..ASKS, 50_i64..2_000).prop_map(|(number, lives)| Step::Ask { number, lives }),
        6 => (numbers.clone(), 1_u32..3, prop::sample::select(vec![0_i64, 100]), 50_i64..1_000)
            .prop_map(|(items, need, undo_ms, lives)| Step::Seal { items, need, undo_ms, lives }),
        3 => (0_usize..8, 0_u8..3).prop_map(|(batch, person)| Step::Sign { batch, person }),
        2 => (0_usize..8).prop_map(|batch| Step::Undo { batch }),
        2 => (numbers, channel).prop_map(|(items, channel)| Step::Deny { items, channel }),
        2 => (0..ASKS, how).prop_map(|(number, how)| Step::Close { number, how }),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
        4 => Just(Step::Settle),
        2 => Just(Step::Expire),
        3 => (1_i64..400).prop_map(|ms| Step::Wait { ms }),
    ];
    prop::collection::vec(step, 1..40)
}

/// What the test keeps between steps: time, and how often each thing was made.
#[derive(Default)]
struct Run {
    now: i64,
    batches: Vec<String>,
    denials: usize,
}

impl Run {
    async fn take(&mut self, store: &dyn Store, step: &Step) {
        let now = at(self.now);
        match step {
            Step::Ask { number, lives } => {
                let owner = if number % 2 == 0 { "claude" } else { "codex" };
                let new = NewItem { expires: at(self.now + lives), ..twin(*number, owner, "same") };
                drop(store.add_item(&new, ROOMY, now).await.unwrap());
            }
            Step::Seal { items, need, undo_ms, lives } => {
                let name = self.batches.len().to_string();
                let mut new = batch(&name, &seen(store, items).await);
                new = NewBatch {
                    need: *need,
                    undo_ms: *undo_ms,
                    not_before: now,
                    expires: at(self.now + lives),
                    ..new
                };
                if let Accepted::New(taken) = store.accept_batch(&new, now).await.unwrap() {
                    self.batches.push(taken.id);
                }
            }
            Step::Sign { batch, person } => {
                let Some(batch) = self.batches.get(*batch) else { return };
                let signer = signer(&format!("person {person}"));
                let new = NewSignature { batch: batch.clone(), signature: "{}".to_owned(), signer };
                drop(store.add_signature(&new, now).await.unwrap());
            }
            Step::Undo { batch } => {
                let Some(batch) = self.batches.get(*batch) else { return };
                drop(store.undo(batch, "ada's phone", now).await.unwrap());
            }
            Step::Deny { items, channel } => {
                self.denials += 1;
                let new = denial(&self.denials.to_string(), *channel, &seen(store, items).await);
                drop(store.deny(&new, now).await.unwrap());
            }
            Step::Close { number, how } => {
                let owner = if number % 2 == 0 { "claude" } else { "codex" };
                let closed = store.close_item(&ask_id(*number), owner, *how, now).await.unwrap();
                assert_ne!(closed, Closed::Ended(Status::Pending), "what waits can be closed");
            }
            Step::Pause => drop(store.pause("claude", now).await.unwrap()),
            Step::Resume => drop(store.resume("ada's phone", now).await.unwrap()),
            Step::Settle => drop(store.settle_due(now).await.unwrap()),
            Step::Expire => drop(store.expire_due(now).await.unwrap()),
            Step::Wait { ms } => self.now += ms,
        }
    }
}

/// The items as a caller reads them, made up where there are none yet.
async fn seen(store: &dyn Store, numbers: &[u64]) -> Vec<Item> {
    let mut items = Vec::new();
    for number in numbers {
        let found = store.item(&ask_id(*number)).await.unwrap();
        items.push(found.map_or_else(|| ask(*number, "claude").item, |row| row.item));
    }
    items
}

/// What an event does: the items it names, the statuses they may come from, and the one they go to.
type Move = (Vec<String>, &'static [Option<Status>], Status);

fn edges(event: &HubEvent) -> Option<Move> {
    use Status::{Allowed, Cancelled, Collecting, Denied, Expired, Pending, Settling, Superseded};
    const NEW: &[Option<Status>] = &[None];
    const FRESH: &[Option<Status>] = &[Some(Pending)];
    const UNANSWERED: &[Option<Status>] = &[Some(Pending), Some(Collecting)];
    const SEALED: &[Option<Status>] = &[Some(Collecting), Some(Settling)];
    const READY: &[Option<Status>] = &[Some(Settling)];
    const WAITING: &[Option<Status>] = &[Some(Pending), Some(Collecting), Some(Settling)];
    match event.clone() {
        HubEvent::Asked { id, .. } => Some((vec![id], NEW, Pending)),
        HubEvent::Collecting { ids, .. } => Some((ids, FRESH, Collecting)),
        HubEvent::Approved { ids, .. } => Some((ids, UNANSWERED, Settling)),
        HubEvent::Undone { ids, .. } => Some((ids, SEALED, Pending)),
        HubEvent::Allowed { ids, .. } => Some((ids, READY, Allowed)),
        HubEvent::Denied { ids, .. } => Some((ids, UNANSWERED, Denied)),
        HubEvent::Expired { id } => Some((vec![id], UNANSWERED, Expired)),
        HubEvent::Cancelled { id, .. } => Some((vec![id], WAITING, Cancelled)),
        HubEvent::Superseded { id, .. } => Some((vec![id], WAITING, Superseded)),
        HubEvent::Signed { .. }
        | HubEvent::Message { .. }
        | HubEvent::Pinned { .. }
        | HubEvent::Revoked { .. }
        | HubEvent::Rule { .. }
        | HubEvent::RuleChange { .. }
        | HubEvent::Paused { .. }
        | HubEvent::Resumed { .. }
        | HubEvent::AgentAdded { .. }
        | HubEvent::AgentRevoked { .. }
        | HubEvent::Login { .. }
        | HubEvent::Logout { .. }
        | HubEvent::EnrolProposed { .. }
        | HubEvent::ProofRefused { .. }
        | HubEvent::Warning { .. } => None,
    }
}

/// Where the log says that every item stands. Panics at a move that is not allowed.
async fn replayed(store: &dyn Store) -> BTreeMap<String, Status> {
    let mut statuses = BTreeMap::new();
    let query = EventQuery { limit: 500, ..EventQuery::default() };
    for line in store.events(&query).await.unwrap() {
        let record: Record = serde_json::from_str(&line.line).unwrap();
        let event: HubEvent = serde_json::from_str(record.event.get()).unwrap();
        let Some((ids, from, to)) = edges(&event) else { continue };
        for id in ids {
            let before = statuses.insert(id.clone(), to);
            assert!(from.contains(&before), "line {}: {id} went from {before:?} to {to}", line.seq);
        }
    }
    statuses
}

async fn check(store: &dyn Store) {
    let mut stored = BTreeMap::new();
    for number in 0..ASKS {
        if let Some(row) = store.item(&ask_id(number)).await.unwrap() {
            let in_batch = row.status == Status::Collecting || row.status == Status::Settling;
            assert!(!in_batch || row.batch.is_some(), "{row:?}");
            let released = store.answer(&ask_id(number)).await.unwrap().unwrap().proof;
            assert_eq!(released.is_some(), row.status == Status::Allowed, "{row:?}");
            stored.insert(ask_id(number), row.status);
        }
    }
    assert_eq!(replayed(store).await, stored, "the log tells every change, each once");
    let waiting = stored.values().filter(|status| status.waits()).count();
    let page = store.inbox(None, 500).await.unwrap();
    assert_eq!(page.total, u64::try_from(waiting).unwrap());
    let shown: usize = page.rows.iter().map(|row| 1 + row.also.len()).sum();
    assert_eq!(shown, waiting, "every waiting item is in exactly one row");
    for batch in store.open_batches().await.unwrap() {
        assert!(batch.proof.is_some(), "{batch:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn items_move_along_allowed_edges_and_the_log_tells_each_move_once(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new().await;
            let mut run = Run::default();
            for step in &steps {
                run.take(&world.store, step).await;
                check(&world.store).await;
            }
            assert_eq!(verified(&world.store).await.failure, None, "{:?}", kinds(&world.store).await);
        });
    }
}
