//! Batches of several persons: collecting, further signatures, the last one.

use proto::{Status, api::BatchStatus};
use store::{NewBatch, NewSignature, Signed, Store, StoredBatch, Undone};

use crate::world::{accept, add, ask, ask_id, at, batch, batch_of_two, kinds, signer, status};

fn signature(batch: &str, key: &str, person: &str) -> NewSignature {
    let signer = store::Signer { keyid: format!("key-{key}"), person: person.to_owned(), ..signer(key) };
    NewSignature { batch: batch.to_owned(), signature: format!("{{\"by\":\"{key}\"}}"), signer }
}

async fn sign(store: &dyn Store, new: &NewSignature, now: proto::Timestamp) -> StoredBatch {
    match store.add_signature(new, now).await.unwrap() {
        Signed::Done(batch) => batch,
        other @ (Signed::NotCollecting(_) | Signed::NotFound) => panic!("{other:?}"),
    }
}

pub(crate) async fn a_quorum_collects_and_then_waits_its_window_from_the_last_signature(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let first = accept(store, &batch_of_two("one", &[item]), at(0)).await;
    assert_eq!((first.status, first.settles, first.have, first.need), (BatchStatus::Collecting, None, 1, 2));
    let row = store.item(&ask_id(1)).await.unwrap().unwrap();
    assert_eq!((row.status, row.have), (Status::Collecting, 1));
    assert_eq!(row.batch.as_deref(), Some("bat-one"));
    let done = sign(store, &signature("bat-one", "bob", "bob"), at(9_000)).await;
    assert_eq!((done.status, done.settles, done.have), (BatchStatus::Settling, Some(at(14_000)), 2));
    assert_eq!(store.settle_due(at(14_000)).await.unwrap().released, [ask_id(1)]);
    let proof = store.answer(&ask_id(1)).await.unwrap().unwrap().proof.unwrap();
    assert!(proof.contains("[\"ada-one-signature\",{\"by\":\"bob\"}]"), "{proof}");
    assert_eq!(kinds(store).await, ["asked", "collecting", "signed", "approved", "allowed"]);
}

pub(crate) async fn two_keys_of_one_person_are_one_person(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &batch_of_two("one", &[item]), at(0)).await;
    let still = sign(store, &signature("bat-one", "ada's laptop", "ada"), at(1)).await;
    assert_eq!((still.status, still.have), (BatchStatus::Collecting, 1));
    assert_eq!(sign(store, &signature("bat-one", "bob", "bob"), at(2)).await.status, BatchStatus::Settling);
}

pub(crate) async fn the_same_key_twice_changes_nothing(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &NewBatch { need: 3, ..batch_of_two("one", &[item]) }, at(0)).await;
    let once = sign(store, &signature("bat-one", "bob", "bob"), at(1)).await;
    assert_eq!(sign(store, &signature("bat-one", "bob", "robert"), at(2)).await, once);
    assert_eq!(kinds(store).await, ["asked", "collecting", "signed"]);
}

pub(crate) async fn a_batch_that_does_not_collect_takes_no_signature(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    accept(store, &batch("settling", &items[..1]), at(0)).await;
    accept(store, &batch_of_two("undone", &items[1..]), at(0)).await;
    let undone = store.undo("bat-undone", "ada's phone", at(1)).await.unwrap();
    assert!(matches!(undone, Undone::Done(_)), "{undone:?}");
    accept(store, &NewBatch { expires: at(50), ..batch_of_two("lapsed", &items[1..]) }, at(2)).await;
    for name in ["bat-settling", "bat-undone", "bat-lapsed"] {
        let refused = store.add_signature(&signature(name, "bob", "bob"), at(50)).await.unwrap();
        assert!(matches!(&refused, Signed::NotCollecting(batch) if batch.id == name), "{refused:?}");
    }
    let unknown = store.add_signature(&signature("bat-none", "bob", "bob"), at(3)).await.unwrap();
    assert_eq!(unknown, Signed::NotFound);
}

pub(crate) async fn a_collecting_batch_whose_payload_expired_gives_its_items_back(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &NewBatch { expires: at(100), ..batch_of_two("one", &[item]) }, at(0)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(100)));
    assert_eq!(store.expire_due(at(100)).await.unwrap(), [ask_id(1)]);
    assert_eq!(status(store, 1).await, Status::Pending);
    let lapsed = store.batch("bat-one").await.unwrap().unwrap();
    assert_eq!((lapsed.status, lapsed.proof), (BatchStatus::Expired, None));
    let late = store.undo("bat-one", "ada's phone", at(101)).await.unwrap();
    assert!(matches!(late, Undone::Closed(_)), "{late:?}");
}

pub(crate) async fn a_quorum_without_an_undo_window_is_released_with_the_last_signature(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &NewBatch { undo_ms: 0, ..batch_of_two("one", &[item]) }, at(0)).await;
    assert_eq!(sign(store, &signature("bat-one", "bob", "bob"), at(1)).await.status, BatchStatus::Settled);
    assert_eq!(status(store, 1).await, Status::Allowed);
    assert_eq!(kinds(store).await, ["asked", "collecting", "signed", "approved", "allowed"]);
}
