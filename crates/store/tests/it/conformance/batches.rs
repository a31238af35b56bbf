//! Batches of one person: accepted whole, undone, settled, held by a pause.

use proto::{Status, api::BatchStatus};
use store::{Accepted, Closed, Closing, NewBatch, NewItem, Settled, Store, Undone};

use crate::world::{accept, add, ask, ask_id, at, batch, instant, kinds, kinds_for, status, twin};

pub(crate) async fn an_approval_settles_after_its_window_and_releases_the_proof(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let new = batch("one", &[item]);
    let accepted = accept(store, &new, at(1)).await;
    assert_eq!((accepted.status, accepted.settles), (BatchStatus::Settling, Some(at(5_001))));
    let waiting = store.answer(&ask_id(1)).await.unwrap().unwrap();
    assert_eq!((waiting.status, waiting.proof), (Status::Settling, None));
    assert_eq!(store.next_due().await.unwrap(), Some(at(5_001)));
    assert_eq!(store.settle_due(at(5_000)).await.unwrap(), Settled::default());
    assert_eq!(store.settle_due(at(5_001)).await.unwrap().released, [ask_id(1)]);
    let answer = store.answer(&ask_id(1)).await.unwrap().unwrap();
    assert_eq!((answer.status, answer.proof), (Status::Allowed, Some(new.proof)));
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(kinds(store).await, ["asked", "approved", "allowed"]);
}

pub(crate) async fn a_batch_is_all_or_nothing(store: &dyn Store) {
    let good = add(store, &ask(1, "claude")).await;
    let closed = add(store, &ask(2, "claude")).await;
    assert_eq!(
        store.close_item(&ask_id(2), "claude", Closing::Cancelled, at(0)).await.unwrap(),
        Closed::Done
    );
    add(store, &ask(3, "claude")).await;
    let changed = twin(3, "claude", "{\"command\":\"echo 3 \"}").item;
    let unknown = ask(4, "claude").item;
    for (odd, id) in
        [(closed, ask_id(2)), (changed, ask_id(3)), (unknown, ask_id(4)), (good.clone(), ask_id(1))]
    {
        let refused = store.accept_batch(&batch("one", &[good.clone(), odd]), at(1)).await.unwrap();
        assert_eq!(refused, Accepted::Stale(vec![id]));
    }
    assert_eq!(status(store, 1).await, Status::Pending);
    assert_eq!(kinds(store).await, ["asked", "asked", "cancelled", "asked"]);
    assert_eq!(store.batch("bat-one").await.unwrap(), None);
}

pub(crate) async fn what_is_past_its_time_cannot_be_sealed_even_before_it_is_swept(store: &dyn Store) {
    let item = add(store, &NewItem { expires: at(100), ..ask(1, "claude") }).await;
    let stale = vec![ask_id(1)];
    let late = store.accept_batch(&batch("one", std::slice::from_ref(&item)), at(100)).await.unwrap();
    assert_eq!(late, Accepted::Stale(stale.clone()));
    let denial = crate::world::denial("no", proto::Channel::Post, &[item]);
    assert_eq!(store.deny(&denial, at(100)).await.unwrap(), store::Denied::Stale(stale));
}

pub(crate) async fn the_same_payload_again_is_the_same_batch(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    let new = batch("one", &items);
    let first = accept(store, &new, at(0)).await;
    let mut again = NewBatch { id: "bat-other".to_owned(), ..new.clone() };
    again.entries.reverse();
    assert_eq!(store.accept_batch(&again, at(1)).await.unwrap(), Accepted::Same(first.clone()));
    assert_eq!(store.batch_of_payload(&new.payload).await.unwrap(), Some(first));
    assert_eq!(store.batch_of_payload(b"another").await.unwrap(), None);
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released.len(), 2);
    let settled = store.accept_batch(&again, at(6_000)).await.unwrap();
    assert!(matches!(&settled, Accepted::Same(batch) if batch.status == BatchStatus::Settled), "{settled:?}");
    assert_eq!(kinds(store).await, ["asked", "asked", "approved", "allowed"]);
}

pub(crate) async fn a_used_payload_takes_no_other_entries(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    accept(store, &batch("one", &items[..1]), at(0)).await;
    for other in [&items[1..], &items[..]] {
        assert_eq!(store.accept_batch(&batch("one", other), at(1)).await.unwrap(), Accepted::Used);
    }
    let mut chosen = batch("one", &items[..1]);
    chosen.entries[0].choice = "the other".to_owned();
    assert_eq!(store.accept_batch(&chosen, at(1)).await.unwrap(), Accepted::Used);
    assert_eq!(status(store, 2).await, Status::Pending);
}

pub(crate) async fn an_undone_batch_gives_its_items_back_and_stays_undone(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let new = batch("one", std::slice::from_ref(&item));
    accept(store, &new, at(0)).await;
    for _ in 0..2 {
        let Undone::Done(undone) = store.undo("bat-one", "ada's phone", at(4_999)).await.unwrap() else {
            panic!("in time")
        };
        assert_eq!((undone.status, undone.proof), (BatchStatus::Undone, None));
    }
    assert_eq!(status(store, 1).await, Status::Pending);
    assert_eq!(store.settle_due(at(5_000)).await.unwrap(), Settled::default());
    let again = store.accept_batch(&new, at(5_000)).await.unwrap();
    assert!(matches!(&again, Accepted::Same(batch) if batch.status == BatchStatus::Undone), "{again:?}");
    accept(store, &batch("two", &[item]), at(5_000)).await;
    assert_eq!(store.settle_due(at(10_000)).await.unwrap().released, [ask_id(1)]);
    assert_eq!(kinds(store).await, ["asked", "approved", "undone", "approved", "allowed"]);
    assert_eq!(store.undo("bat-none", "ada's phone", at(0)).await.unwrap(), Undone::NotFound);
}

pub(crate) async fn a_settled_batch_cannot_be_undone(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let new = batch("one", &[item]);
    accept(store, &new, at(0)).await;
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released, [ask_id(1)]);
    let late = store.undo("bat-one", "ada's phone", at(5_000)).await.unwrap();
    assert!(matches!(&late, Undone::Closed(batch) if batch.status == BatchStatus::Settled), "{late:?}");
    assert_eq!(store.answer(&ask_id(1)).await.unwrap().unwrap().proof, Some(new.proof));
}

pub(crate) async fn without_an_undo_window_it_is_released_at_once(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let accepted = accept(store, &instant("one", &[item]), at(0)).await;
    assert_eq!(accepted.status, BatchStatus::Settled);
    assert_eq!(status(store, 1).await, Status::Allowed);
    assert_eq!(kinds(store).await, ["asked", "approved", "allowed"]);
}

pub(crate) async fn a_not_before_ahead_is_waited_for_even_without_an_undo_window(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let new = NewBatch { not_before: at(700), ..instant("one", &[item]) };
    let accepted = accept(store, &new, at(0)).await;
    assert_eq!((accepted.status, accepted.settles), (BatchStatus::Settling, Some(at(700))));
    assert_eq!(store.settle_due(at(700)).await.unwrap().released, [ask_id(1)]);
}

pub(crate) async fn a_pause_holds_every_release(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    accept(store, &batch("one", &items[..1]), at(0)).await;
    assert!(store.pause("bob's laptop", at(1)).await.unwrap());
    let at_once = accept(store, &instant("two", &items[1..]), at(2)).await;
    assert_eq!(at_once.status, BatchStatus::Settling);
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.settle_due(at(9_000)).await.unwrap(), Settled::default());
    assert!(store.resume("ada's phone", at(9_000)).await.unwrap());
    assert_eq!(store.next_due().await.unwrap(), Some(at(2)));
    assert_eq!(store.settle_due(at(9_000)).await.unwrap().released, [ask_id(2), ask_id(1)]);
    let told = ["asked", "asked", "approved", "paused", "approved", "resumed", "allowed", "allowed"];
    assert_eq!(kinds(store).await, told);
}

pub(crate) async fn an_approval_that_expired_in_a_pause_is_not_released(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &NewBatch { expires: at(8_000), ..batch("one", &[item]) }, at(0)).await;
    assert!(store.pause("bob's laptop", at(1)).await.unwrap());
    assert!(store.resume("ada's phone", at(8_000)).await.unwrap());
    let settled = store.settle_due(at(8_000)).await.unwrap();
    assert_eq!(settled, Settled { released: Vec::new(), returned: vec![ask_id(1)] });
    assert_eq!(status(store, 1).await, Status::Pending);
    let lapsed = store.batch("bat-one").await.unwrap().unwrap();
    assert_eq!((lapsed.status, lapsed.proof), (BatchStatus::Expired, None));
}

pub(crate) async fn a_batch_over_two_machines_tells_each_of_its_own_items_only(store: &dyn Store) {
    let items = [
        add(store, &ask(1, "claude")).await,
        add(store, &ask(2, "codex")).await,
        add(store, &ask(3, "claude")).await,
    ];
    accept(store, &batch("one", &items), at(0)).await;
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released.len(), 3);
    assert_eq!(kinds_for(store, Some("claude")).await, ["asked", "asked", "approved", "allowed"]);
    assert_eq!(kinds_for(store, Some("codex")).await, ["asked", "approved", "allowed"]);
    let query =
        store::EventQuery { agent: Some("codex".to_owned()), limit: 9, ..store::EventQuery::default() };
    for line in store.events(&query).await.unwrap() {
        assert!(!line.line.contains(&ask_id(1)) && !line.line.contains(&ask_id(3)), "{}", line.line);
    }
}

pub(crate) async fn many_entries_settle_together(store: &dyn Store) {
    let mut items = Vec::new();
    for number in 0..256 {
        items.push(add(store, &ask(number, if number % 2 == 0 { "claude" } else { "codex" })).await);
    }
    accept(store, &batch("one", &items), at(0)).await;
    assert_eq!(store.open_batches().await.unwrap().len(), 1);
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released.len(), 256);
    assert_eq!(store.open_batches().await.unwrap(), []);
    assert_eq!(store.inbox(None, 10).await.unwrap().total, 0);
}
