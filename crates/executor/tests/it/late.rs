//! Answers that come after the agent stopped waiting, and asks that are answered elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use testkit::Deed;

use crate::seat::{Script, Seat, approved, bash, blocked, denied, gate, held, no_decision, status};

/// A seat whose hub says `pending` until the switch is thrown, then what `then` says.
fn until_thrown(
    then: impl Fn(&testkit::SoftPasskey, &testkit::Fields) -> Deed + Send + Sync + 'static,
) -> (Seat, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&switch);
    let seat = Seat::with(move |key| {
        Script::new(
            move |item, _| if seen.load(Ordering::SeqCst) { then(&key, item) } else { status("pending") },
        )
    });
    (seat, switch)
}

const PROMISE: &str = "asked, not yet answered; the same call will pick up the answer";

#[test]
fn the_same_call_picks_up_an_approval_that_came_late() {
    let (seat, answered) = until_thrown(approved);
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 3), PROMISE);
    assert_eq!(seat.kept().len(), 1);
    answered.store(true, Ordering::SeqCst);
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "make deploy"), 20)).0, "allow");
    assert_eq!(seat.asks().len(), 1, "one ask for both");
    assert!(seat.kept().is_empty());
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "make deploy"), 20)).0, "allow");
    assert_eq!(seat.asks().len(), 2, "a used answer is not picked up again");
}

#[test]
fn the_same_call_picks_up_a_denial_that_came_late() {
    let (seat, answered) = until_thrown(|key, item| {
        denied(&key.proof(&testkit::Payload::deny(&[item.hash()], "post", "not on a Friday")), "post", "")
    });
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 3), PROMISE);
    answered.store(true, Ordering::SeqCst);
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 20), "not on a Friday");
    assert!(seat.kept().is_empty());
}

#[test]
fn another_call_or_another_session_asks_anew() {
    let (seat, answered) = until_thrown(approved);
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 3), PROMISE);
    answered.store(true, Ordering::SeqCst);
    let others = [
        bash("PreToolUse", "make deploy "),
        bash("PreToolUse", "make deploy").replace(r#""s1""#, r#""s2""#),
        bash("PreToolUse", "make deploy").replace(r#""Bash""#, r#""PowerShell""#),
    ];
    for other in &others {
        assert_eq!(gate(&seat.hook(other, 20)).0, "allow");
    }
    assert_eq!(seat.asks().len(), 1 + others.len());
}

#[test]
fn a_dialog_that_is_not_answered_in_time_stands() {
    let (seat, _) = until_thrown(approved);
    no_decision(&seat.hook(&bash("PermissionRequest", "make deploy"), 3), PROMISE);
}

#[test]
fn an_ask_that_lapsed_meanwhile_is_asked_anew() {
    let seat = Seat::with(|key| {
        Script::new(move |item, polls| if polls == 0 { status("pending") } else { approved(&key, item) }).but(
            {
                let posts = std::sync::atomic::AtomicUsize::new(0);
                move |asked| {
                    let second = asked.method == "POST" && posts.fetch_add(1, Ordering::SeqCst) == 1;
                    second.then(|| {
                        let body: serde_json::Value = serde_json::from_slice(&asked.body).unwrap();
                        Deed::Say(200, json!({"id": body["id"], "status": "expired"}))
                    })
                }
            },
        )
    });
    blocked(&seat.hook(&bash("PreToolUse", "make deploy"), 2), PROMISE);
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "make deploy"), 20)).0, "allow");
    let ids: Vec<_> = seat.asks().iter().map(|ask| ask["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_finished_call_closes_the_ask_that_its_dialog_answered() {
    let (seat, _) = until_thrown(approved);
    no_decision(&seat.hook(&bash("PermissionRequest", "make deploy"), 2), PROMISE);
    let other = seat.hook(&bash("PostToolUse", "something else"), 20);
    assert_eq!((other.stdout, other.stderr, other.exit), (None, Vec::new(), 0));
    assert!(held(&seat.script.closes).is_empty());
    let outcome = seat.hook(&bash("PostToolUse", "make deploy"), 20);
    assert_eq!((outcome.stdout, outcome.stderr, outcome.exit), (None, Vec::new(), 0));
    let id = seat.asks()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(*held(&seat.script.closes), vec![(id, json!({"status": "superseded"}))]);
    assert!(seat.kept().is_empty());
}

#[test]
fn a_finished_call_finds_its_ask_though_it_left_the_folder() {
    let (seat, _) = until_thrown(approved);
    blocked(&seat.hook(&bash("PreToolUse", "cd /"), 2), PROMISE);
    let after = bash("PostToolUse", "cd /").replace(r#""cwd":"/usr""#, r#""cwd":"/""#);
    assert_eq!(seat.hook(&after, 20).stdout, None);
    assert_eq!(held(&seat.script.closes).len(), 1);
}
