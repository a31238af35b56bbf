//! The inbox and the history, page by page.

use proto::{Channel, Item, api::Guard};
use store::{Closed, Closing, HISTORY_SCAN, HistoryQuery, NewItem, Store, TodayCounts};

use crate::world::{accept, add, ask, ask_id, at, batch, batch_of_two, denial, instant, twin};

async fn inbox(store: &dyn Store) -> Vec<(String, Vec<String>)> {
    let page = store.inbox(None, 500).await.unwrap();
    page.rows.into_iter().map(|row| (row.item.id().to_owned(), row.also)).collect()
}

pub(crate) async fn the_inbox_pages_through_everything_once_oldest_first(store: &dyn Store) {
    for number in 0..10 {
        add(store, &ask(number, "claude")).await;
    }
    assert_eq!(
        store.close_item(&ask_id(4), "claude", Closing::Cancelled, at(1)).await.unwrap(),
        Closed::Done
    );
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.inbox(after, 3).await.unwrap();
        assert_eq!(page.total, 9);
        seen.extend(page.rows.iter().map(|row| row.item.id().to_owned()));
        after = page.next;
        if after.is_none() {
            break;
        }
        assert_eq!(page.rows.len(), 3);
    }
    let expected: Vec<_> = (0..10).filter(|number| *number != 4).map(ask_id).collect();
    assert_eq!(seen, expected);
    assert_eq!(store.inbox(Some(u64::MAX), 3).await.unwrap().rows, []);
}

pub(crate) async fn equal_asks_of_a_session_are_one_row(store: &dyn Store) {
    for number in [1, 2, 3, 4] {
        let input = if number == 2 { "other" } else { "same" };
        let later = at(3_600_000 + i64::try_from(number).unwrap());
        add(store, &NewItem { expires: later, ..twin(number, "claude", input) }).await;
    }
    assert_eq!(inbox(store).await, [(ask_id(1), vec![ask_id(3), ask_id(4)]), (ask_id(2), vec![])]);
    let page = store.inbox(None, 1).await.unwrap();
    assert_eq!((page.rows.len(), page.total), (1, 4));
    let rest = store.inbox(page.next, 10).await.unwrap();
    assert_eq!(rest.rows.len(), 1, "twins of a row on an earlier page do not come again");
    // The oldest one gone, the next stands for the rest.
    assert_eq!(
        store.close_item(&ask_id(1), "claude", Closing::Cancelled, at(1)).await.unwrap(),
        Closed::Done
    );
    assert_eq!(inbox(store).await, [(ask_id(2), vec![]), (ask_id(3), vec![ask_id(4)])]);
}

pub(crate) async fn what_differs_in_anything_shown_is_a_row_of_its_own(store: &dyn Store) {
    let same = |number| twin(number, "claude", "same");
    let Item::Ask(item) = same(8).item else { panic!("an ask") };
    let elsewhere = Item::Ask(proto::AskItem { session: "another".to_owned(), ..item });
    let all = [
        same(1),
        twin(2, "codex", "same"),
        NewItem { quorum: 2, ..same(3) },
        NewItem { why: None, ..same(4) },
        NewItem { host: None, ..same(5) },
        NewItem { thread: Some("t".to_owned()), ..same(6) },
        NewItem { guard: Guard::System, ..same(7) },
        NewItem { item: elsewhere, ..same(8) },
    ];
    for new in &all {
        add(store, new).await;
    }
    assert_eq!(inbox(store).await.len(), all.len());
}

pub(crate) async fn twins_on_their_way_in_different_batches_stand_apart(store: &dyn Store) {
    let mut items = Vec::new();
    for number in 1..=5 {
        items.push(add(store, &twin(number, "claude", "same")).await);
    }
    accept(store, &batch("settling", &items[..2]), at(0)).await;
    accept(store, &batch_of_two("collecting", &items[2..4]), at(0)).await;
    let rows = [(ask_id(1), vec![ask_id(2)]), (ask_id(3), vec![ask_id(4)]), (ask_id(5), vec![])];
    assert_eq!(inbox(store).await, rows);
}

pub(crate) async fn history_pages_through_every_answer_newest_first(store: &dyn Store) {
    let mut items = Vec::new();
    for number in 0..7 {
        items.push(add(store, &ask(number, "claude")).await);
    }
    accept(store, &instant("one", &items[..3]), at(10)).await;
    let no = denial("no", Channel::PanPan, &items[3..5]);
    assert_eq!(store.deny(&no, at(20)).await.unwrap(), store::Denied::Done);
    assert_eq!(
        store.close_item(&ask_id(5), "claude", Closing::Cancelled, at(30)).await.unwrap(),
        Closed::Done
    );
    let mut query = HistoryQuery { limit: 2, ..HistoryQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = store.history(&query).await.unwrap();
        all.extend(page.entries);
        query.before = page.next;
        if query.before.is_none() {
            break;
        }
    }
    let told: Vec<_> = all
        .iter()
        .map(|entry| {
            let status = entry.item.status.as_str();
            (
                entry.item.item.id().to_owned(),
                status,
                entry.who.as_str(),
                entry.channel,
                entry.reason.as_str(),
            )
        })
        .collect();
    let allowed = |number| (ask_id(number), "allowed", "ada's phone", None, "");
    let denied = |number| (ask_id(number), "denied", "ada's phone", Some(Channel::PanPan), "not on a Friday");
    let cancelled = (ask_id(5), "cancelled", "", None, "");
    assert_eq!(told, [cancelled, denied(4), denied(3), allowed(2), allowed(1), allowed(0)]);
    assert_eq!(all[0].item.closed, Some(at(30)));
}

pub(crate) async fn history_is_searched_as_people_read_it(store: &dyn Store) {
    let inputs = [
        r#"{"command":"echo \"hello\" 100%"}"#,
        r#"{"command":"make Deploy_all"}"#,
        r#"{"file_path":"C:\\temp\\x"}"#,
    ];
    let mut items = Vec::new();
    for (number, input) in (0..).zip(inputs) {
        items.push(add(store, &twin(number, "claude", input)).await);
    }
    accept(store, &instant("one", &items[..2]), at(1)).await;
    let no = denial("no", Channel::Post, &items[2..]);
    assert_eq!(store.deny(&no, at(2)).await.unwrap(), store::Denied::Done);
    let search = async |text: &str| {
        let query = HistoryQuery { limit: 10, text: text.to_owned(), before: None };
        let page = store.history(&query).await.unwrap();
        assert_eq!(page.next, None);
        page.entries.iter().map(|entry| entry.item.item.id().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(search(r#"echo "hello""#).await, [ask_id(0)], "as the shell would read it");
    assert_eq!(search(r#"{"command":"echo \"hello\""#).await, [ask_id(0)], "as it stood on the wire");
    assert_eq!(search(r"C:\temp").await, [ask_id(2)]);
    assert_eq!(search("100%").await, [ask_id(0)]);
    assert_eq!(search("%").await, [ask_id(0)], "a wildcard is a letter");
    assert_eq!(search("y_a").await, [ask_id(1)]);
    assert_eq!(search("deploy").await, [ask_id(1)]);
    assert_eq!(search("friday").await, [ask_id(2)], "the reason of a denial");
    assert_eq!(search("claude").await.len(), 3);
    assert_eq!(search("nowhere").await, Vec::<String>::new());
    const { assert!(HISTORY_SCAN >= 1_000) };
}

pub(crate) async fn the_day_is_counted_by_how_things_ended(store: &dyn Store) {
    let mut items = Vec::new();
    for number in 0..6 {
        items.push(add(store, &NewItem { expires: at(100), ..ask(number, "claude") }).await);
    }
    accept(store, &instant("yesterday", &items[..1]), at(1)).await;
    accept(store, &instant("today", &items[1..3]), at(10)).await;
    let no = denial("no", Channel::Post, &items[3..4]);
    assert_eq!(store.deny(&no, at(11)).await.unwrap(), store::Denied::Done);
    assert_eq!(
        store.close_item(&ask_id(4), "claude", Closing::Cancelled, at(12)).await.unwrap(),
        Closed::Done
    );
    assert_eq!(store.expire_due(at(100)).await.unwrap(), [ask_id(5)]);
    let expected = TodayCounts { allowed_by_person: 2, denied: 1, expired: 1, ..TodayCounts::default() };
    assert_eq!(store.today(at(10)).await.unwrap(), expected);
}
