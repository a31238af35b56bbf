//! Items: added once, capped, closed by their asker, expired.

use proto::{CallItem, CommandItem, DecisionItem, Item, ReviewItem, Status, api::BatchStatus};
use store::{Added, Caps, Closed, Closing, NewItem, Store, TooMany};

use crate::world::{ROOMY, add, ask, ask_id, at, batch, batch_of_two, kinds, status, twin};

pub(crate) async fn the_same_ask_again_changes_nothing(store: &dyn Store) {
    let new = ask(1, "claude");
    let Added::New(first) = store.add_item(&new, ROOMY, at(0)).await.unwrap() else { panic!("not new") };
    assert_eq!((&first.item, first.status, first.created), (&new.item, Status::Pending, at(0)));
    let again = store.add_item(&new, Caps { per_owner: 0, total: 0 }, at(9)).await.unwrap();
    assert_eq!(again, Added::Same(first));
    assert_eq!(kinds(store).await, ["asked"]);
}

pub(crate) async fn other_content_or_another_owner_under_an_id_conflicts(store: &dyn Store) {
    add(store, &ask(1, "claude")).await;
    let other_content = twin(1, "claude", "{}");
    let other_owner = NewItem { owner: "codex".to_owned(), ..ask(1, "claude") };
    for new in [other_content, other_owner] {
        assert_eq!(store.add_item(&new, ROOMY, at(1)).await.unwrap(), Added::Conflict);
    }
    assert_eq!(kinds(store).await, ["asked"]);
}

pub(crate) async fn caps_hold_at_their_number_and_answering_makes_room(store: &dyn Store) {
    let caps = Caps { per_owner: 2, total: 3 };
    let try_add =
        async |number: u64, owner: &str| store.add_item(&ask(number, owner), caps, at(0)).await.unwrap();
    let mut items = Vec::new();
    for number in [1, 2] {
        let Added::New(added) = try_add(number, "claude").await else { panic!("under the cap") };
        items.push(added.item);
    }
    assert_eq!(try_add(3, "claude").await, Added::TooMany(TooMany::Owner));
    assert!(matches!(try_add(4, "codex").await, Added::New(_)));
    assert_eq!(try_add(5, "codex").await, Added::TooMany(TooMany::Total));
    assert_eq!(store.close_item(&ask_id(4), "codex", Closing::Cancelled, at(1)).await.unwrap(), Closed::Done);
    assert_eq!(store.inbox(None, 10).await.unwrap().total, 2);
    assert!(matches!(try_add(5, "codex").await, Added::New(_)));
    // What is sealed waits for nobody any more, so it takes no place; taken back, it does again.
    let sealed = store.accept_batch(&batch("one", &items), at(1)).await.unwrap();
    assert!(matches!(sealed, store::Accepted::New(_)), "{sealed:?}");
    assert!(matches!(try_add(6, "claude").await, Added::New(_)));
    let undone = store.undo("bat-one", "ada's phone", at(2)).await.unwrap();
    assert!(matches!(undone, store::Undone::Done(_)), "{undone:?}");
    assert_eq!(try_add(7, "claude").await, Added::TooMany(TooMany::Owner));
}

pub(crate) async fn the_asker_closes_its_item_once(store: &dyn Store) {
    for (number, how, word) in
        [(1, Closing::Cancelled, Status::Cancelled), (2, Closing::Superseded, Status::Superseded)]
    {
        add(store, &ask(number, "claude")).await;
        for _ in 0..2 {
            assert_eq!(store.close_item(&ask_id(number), "claude", how, at(1)).await.unwrap(), Closed::Done);
        }
        assert_eq!(status(store, number).await, word);
    }
    let other_way = store.close_item(&ask_id(1), "claude", Closing::Superseded, at(2)).await.unwrap();
    assert_eq!(other_way, Closed::Ended(Status::Cancelled));
    assert_eq!(kinds(store).await, ["asked", "cancelled", "asked", "superseded"]);
}

pub(crate) async fn nobody_closes_what_another_asked(store: &dyn Store) {
    add(store, &ask(1, "claude")).await;
    for (number, owner) in [(1, "codex"), (2, "claude")] {
        let closed = store.close_item(&ask_id(number), owner, Closing::Cancelled, at(1)).await.unwrap();
        assert_eq!(closed, Closed::NotFound);
    }
    assert_eq!(status(store, 1).await, Status::Pending);
}

pub(crate) async fn an_item_that_is_closed_leaves_its_batch(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    let accepted = store.accept_batch(&batch("one", &items), at(0)).await.unwrap();
    assert!(matches!(accepted, store::Accepted::New(_)), "{accepted:?}");
    assert_eq!(
        store.close_item(&ask_id(1), "claude", Closing::Cancelled, at(1)).await.unwrap(),
        Closed::Done
    );
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released, [ask_id(2)]);
    assert_eq!((status(store, 1).await, status(store, 2).await), (Status::Cancelled, Status::Allowed));
    assert_eq!(store.answer(&ask_id(1)).await.unwrap().unwrap().proof, None);
}

pub(crate) async fn a_batch_that_has_lost_its_last_item_is_over(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let accepted = store.accept_batch(&batch_of_two("one", &[item]), at(0)).await.unwrap();
    assert!(matches!(accepted, store::Accepted::New(_)), "{accepted:?}");
    assert_eq!(
        store.close_item(&ask_id(1), "claude", Closing::Superseded, at(1)).await.unwrap(),
        Closed::Done
    );
    let over = store.batch("bat-one").await.unwrap().unwrap();
    assert_eq!((over.status, over.proof), (BatchStatus::Undone, None));
    assert_eq!(kinds(store).await, ["asked", "collecting", "undone", "superseded"]);
}

pub(crate) async fn what_nobody_answered_expires_at_its_time(store: &dyn Store) {
    let soon = NewItem { expires: at(100), ..ask(1, "claude") };
    let later = NewItem { expires: at(200), ..ask(2, "codex") };
    let collecting = add(store, &later).await;
    add(store, &soon).await;
    let accepted = store.accept_batch(&batch_of_two("one", &[collecting]), at(0)).await.unwrap();
    assert!(matches!(accepted, store::Accepted::New(_)), "{accepted:?}");
    assert_eq!(store.next_due().await.unwrap(), Some(at(100)));
    assert!(store.expire_due(at(99)).await.unwrap().is_empty());
    assert_eq!(store.expire_due(at(100)).await.unwrap(), [ask_id(1)]);
    assert!(store.expire_due(at(100)).await.unwrap().is_empty());
    assert_eq!(store.expire_due(at(250)).await.unwrap(), [ask_id(2)]);
    assert_eq!((status(store, 1).await, status(store, 2).await), (Status::Expired, Status::Expired));
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(kinds(store).await, ["asked", "asked", "collecting", "expired", "undone", "expired"]);
}

pub(crate) async fn what_is_settling_does_not_expire(store: &dyn Store) {
    let item = add(store, &NewItem { expires: at(100), ..ask(1, "claude") }).await;
    let accepted = store.accept_batch(&batch("one", &[item]), at(99)).await.unwrap();
    assert!(matches!(accepted, store::Accepted::New(_)), "{accepted:?}");
    assert!(store.expire_due(at(5_000)).await.unwrap().is_empty());
    assert_eq!(store.settle_due(at(5_099)).await.unwrap().released, [ask_id(1)]);
}

pub(crate) async fn every_kind_and_every_letter_comes_back_as_it_was(store: &dyn Store) {
    let odd = "\u{0} \u{202e}gnp.exe\u{200b} \u{1b}[31m </script> \" \\ \\u0041 \r\n 🦀".to_owned();
    let big = "x".repeat(256 * 1024);
    let id = |prefix: &str| format!("{prefix}-{:032x}", 7);
    let Item::Ask(ask) = twin(7, "claude", &big).item else { panic!("an ask") };
    let items = [
        Item::Ask(proto::AskItem { cwd: odd.clone(), tool: odd.clone(), ..ask }),
        Item::Call(CallItem {
            id: id("call"),
            executor: odd.clone(),
            session: odd.clone(),
            tool: String::new(),
            arguments: odd.clone(),
        }),
        Item::Review(ReviewItem {
            id: id("rev"),
            executor: "commit@laptop".to_owned(),
            repository: "/repo/.git".to_owned(),
            worktree: odd.clone(),
            branch: odd.clone(),
            tree: "t".to_owned(),
            base: String::new(),
            diff: String::new(),
            gate: "pass".to_owned(),
        }),
        Item::Decision(DecisionItem {
            id: id("dec"),
            executor: "hub".to_owned(),
            question: odd.clone(),
            choice: String::new(),
        }),
        Item::Command(CommandItem {
            id: id("cmd"),
            executor: "runner@build".to_owned(),
            task: String::new(),
            command: odd.clone(),
            directory: "/".to_owned(),
        }),
    ];
    for item in items {
        let new = NewItem { item: item.clone(), why: Some(odd.clone()), ..crate::world::ask(7, "claude") };
        assert!(matches!(store.add_item(&new, ROOMY, at(0)).await.unwrap(), Added::New(_)));
        let found = store.item(item.id()).await.unwrap().unwrap();
        assert_eq!((found.item, found.why), (item, new.why));
    }
    assert_eq!(store.item("ask-unknown").await.unwrap(), None);
}
