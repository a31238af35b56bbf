//! What the store's tests share: a fresh database, items, batches and denials with sensible values.

use std::path::PathBuf;

use proto::{AskItem, Channel, Item, Status, Timestamp, api::Guard};
use store::{
    Accepted, Added, BatchEntry, Caps, EventQuery, LogReport, NewBatch, NewDenial, NewItem, Signer,
    SqliteStore, Store, StoredBatch, VerifyDepth,
};

/// Caps that no test meets by accident.
pub(crate) const ROOMY: Caps = Caps { per_owner: 10_000, total: 100_000 };

/// A moment: milliseconds after a fixed day.
pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000 + ms)
}

/// A database in a folder of its own, gone with it.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) store: SqliteStore,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("hub.sqlite")).await.unwrap();
        Self { folder, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("hub.sqlite")
    }
}

/// An id of an ask with this number.
pub(crate) fn ask_id(number: u64) -> String {
    format!("ask-{number:032x}")
}

/// An ask of `owner`; different numbers ask for different things.
pub(crate) fn ask(number: u64, owner: &str) -> NewItem {
    twin(number, owner, &format!("{{\"command\":\"echo {number}\"}}"))
}

/// An ask with this input.
pub(crate) fn twin(number: u64, owner: &str, input: &str) -> NewItem {
    NewItem {
        item: Item::Ask(AskItem {
            id: ask_id(number),
            executor: "hook@laptop".to_owned(),
            agent: owner.to_owned(),
            session: format!("session-of-{owner}"),
            tool: "Bash".to_owned(),
            input: input.to_owned(),
            cwd: "/repo".to_owned(),
        }),
        owner: owner.to_owned(),
        quorum: 1,
        host: Some("laptop".to_owned()),
        thread: None,
        guard: Guard::User,
        why: Some("to see it".to_owned()),
        expires: at(3_600_000),
    }
}

/// Adds an ask that must be new.
pub(crate) async fn add(store: &dyn Store, new: &NewItem) -> Item {
    let added = store.add_item(new, ROOMY, at(0)).await.unwrap();
    assert!(matches!(added, Added::New(_)), "{added:?}");
    new.item.clone()
}

/// Who signs.
pub(crate) fn signer(name: &str) -> Signer {
    Signer { keyid: format!("key-of-{name}"), person: name.to_owned(), label: format!("{name}'s phone") }
}

/// A batch over `items`, signed by ada, with the default undo window.
pub(crate) fn batch(name: &str, items: &[Item]) -> NewBatch {
    let entry = |item: &Item| BatchEntry { item: item.clone(), choice: String::new(), sha256: String::new() };
    NewBatch {
        id: format!("bat-{name}"),
        payload: format!("payload {name}").into_bytes(),
        proof: format!("{{\"payload\":\"{name}\",\"signatures\":[\"ada-{name}-signature\"]}}"),
        entries: items.iter().map(entry).collect(),
        not_before: at(5_000),
        expires: at(3_600_000),
        undo_ms: 5_000,
        need: 1,
        have: 1,
        signers: vec![signer("ada")],
    }
}

/// The same, of two persons.
pub(crate) fn batch_of_two(name: &str, items: &[Item]) -> NewBatch {
    NewBatch { need: 2, not_before: at(0), ..batch(name, items) }
}

/// The same, released at once.
pub(crate) fn instant(name: &str, items: &[Item]) -> NewBatch {
    NewBatch { undo_ms: 0, not_before: at(0), ..batch(name, items) }
}

/// A denial of `items`.
pub(crate) fn denial(nonce: &str, channel: Channel, items: &[Item]) -> NewDenial {
    NewDenial {
        nonce: nonce.to_owned(),
        payload: format!("denial {nonce}").into_bytes(),
        proof: format!("{{\"payload\":\"{nonce}\"}}"),
        items: items.to_vec(),
        channel,
        reason: "not on a Friday".to_owned(),
        label: "ada's phone".to_owned(),
        expires: at(86_400_000),
    }
}

/// Every kind in the log so far, in order.
pub(crate) async fn kinds(store: &dyn Store) -> Vec<String> {
    kinds_for(store, None).await
}

/// What one machine sees of it; `None` for a person.
pub(crate) async fn kinds_for(store: &dyn Store, agent: Option<&str>) -> Vec<String> {
    let query = EventQuery { limit: 500, agent: agent.map(str::to_owned), ..EventQuery::default() };
    store.events(&query).await.unwrap().into_iter().map(|line| line.kind).collect()
}

/// The whole log checked.
pub(crate) async fn verified(store: &dyn Store) -> LogReport {
    store.verify_log(VerifyDepth::Whole).await.unwrap()
}

/// Where an item stands.
pub(crate) async fn status(store: &dyn Store, number: u64) -> Status {
    store.answer(&ask_id(number)).await.unwrap().unwrap().status
}

/// Takes a batch that must be new.
pub(crate) async fn accept(store: &dyn Store, new: &NewBatch, now: Timestamp) -> StoredBatch {
    match store.accept_batch(new, now).await.unwrap() {
        Accepted::New(batch) => batch,
        other @ (Accepted::Same(_) | Accepted::Used | Accepted::Stale(_)) => panic!("{other:?}"),
    }
}
