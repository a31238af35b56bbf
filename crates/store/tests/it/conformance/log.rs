//! The log as readers see it.

use proto::{Digest, HubEvent};
use store::{Audience, Closing, EventQuery, Head, Store, VerifyDepth};

use crate::world::{accept, add, ask, ask_id, at, batch, instant, kinds, kinds_for};

pub(crate) async fn a_machine_reads_its_own_events_only(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    add(store, &ask(2, "codex")).await;
    accept(store, &instant("one", &[item]), at(0)).await;
    let closed = store.close_item(&ask_id(2), "codex", Closing::Superseded, at(1)).await.unwrap();
    assert_eq!(closed, store::Closed::Done);
    assert_eq!(kinds_for(store, Some("claude")).await, ["asked", "approved", "allowed"]);
    assert_eq!(kinds_for(store, Some("codex")).await, ["asked", "superseded"]);
    assert!(kinds_for(store, Some("claude/")).await.is_empty());
    assert_eq!(kinds(store).await, ["asked", "asked", "approved", "allowed", "superseded"]);
}

pub(crate) async fn events_are_read_by_kind_and_in_pages(store: &dyn Store) {
    for number in 0..5 {
        let item = add(store, &ask(number, "claude")).await;
        accept(store, &instant(&number.to_string(), &[item]), at(0)).await;
    }
    for agent in [None, Some("claude".to_owned())] {
        let mut query = EventQuery { limit: 3, agent, ..EventQuery::default() };
        let mut seqs = Vec::new();
        loop {
            let page = store.events(&query).await.unwrap();
            assert!(page.len() <= 3);
            let Some(last) = page.last() else { break };
            query.since = last.seq;
            seqs.extend(page.into_iter().map(|line| line.seq));
        }
        assert_eq!(seqs, (1..=15).collect::<Vec<_>>());
        let kinds = vec!["allowed".to_owned(), "asked".to_owned(), "no such kind".to_owned()];
        let some = EventQuery { since: 2, kinds, limit: 4, ..query };
        let found = store.events(&some).await.unwrap();
        let found: Vec<_> = found.iter().map(|line| (line.seq, line.kind.as_str())).collect();
        assert_eq!(found, [(3, "allowed"), (4, "asked"), (6, "allowed"), (7, "asked")]);
    }
    let none = EventQuery { since: u64::MAX, limit: 9, ..EventQuery::default() };
    assert_eq!(store.events(&none).await.unwrap(), []);
}

pub(crate) async fn the_story_of_an_item_is_its_events_in_order(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "codex")).await];
    accept(store, &batch("one", &items), at(0)).await;
    let undone = store.undo("bat-one", "ada's phone", at(1)).await.unwrap();
    assert!(matches!(undone, store::Undone::Done(_)), "{undone:?}");
    accept(store, &instant("two", &items[..1]), at(2)).await;
    let story = store.item_events(&ask_id(1)).await.unwrap();
    let told: Vec<_> = story.iter().map(|line| line.kind.as_str()).collect();
    assert_eq!(told, ["asked", "approved", "undone", "approved", "allowed"]);
    assert!(story.is_sorted_by_key(|line| line.seq));
    assert_eq!(store.item_events("ask-unknown").await.unwrap(), []);
}

pub(crate) async fn the_head_is_the_last_line(store: &dyn Store) {
    assert_eq!(store.head().await.unwrap(), Head { seq: 0, hash: Digest::ZERO });
    for number in 0..3 {
        add(store, &ask(number, "claude")).await;
    }
    let query = EventQuery { limit: 9, ..EventQuery::default() };
    let last = store.events(&query).await.unwrap().pop().unwrap();
    let head = store.head().await.unwrap();
    assert_eq!(head.seq, last.seq);
    assert!(last.line.ends_with(&format!(",\"hash\":\"{}\"}}", head.hash)), "{}", last.line);
    let report = store.verify_log(VerifyDepth::New).await.unwrap();
    assert_eq!((report.records, report.head, report.failure), (3, head, None));
    add(store, &ask(9, "claude")).await;
    let report = store.verify_log(VerifyDepth::New).await.unwrap();
    assert_eq!((report.records, report.failure), (4, None));
}

pub(crate) async fn bare_events_reach_their_audience(store: &dyn Store) {
    let warn = |text: &str| HubEvent::Warning { text: text.to_owned() };
    let to_claude = Audience::Agent("claude".to_owned());
    assert_eq!(store.record(&warn("persons"), &Audience::Persons, at(0)).await.unwrap(), 1);
    assert_eq!(store.record(&warn("claude"), &to_claude, at(0)).await.unwrap(), 2);
    assert_eq!(store.record(&warn("all"), &Audience::AllAgents, at(0)).await.unwrap(), 3);
    let seen = async |agent: Option<&str>| {
        let query = EventQuery { limit: 9, agent: agent.map(str::to_owned), ..EventQuery::default() };
        store.events(&query).await.unwrap().iter().map(|line| line.seq).collect::<Vec<_>>()
    };
    assert_eq!(seen(None).await, [1, 2, 3]);
    assert_eq!(seen(Some("claude")).await, [2, 3]);
    assert_eq!(seen(Some("codex")).await, [3]);
}
