//! Denials: what the asker reads, which channel reaches whom, what stays pinned.

use proto::{Channel, Status, api::BatchStatus};
use store::{Denied, NewDenial, NewTrust, Store, TrustAdded, TrustChange};

use crate::world::{accept, add, ask, ask_id, at, batch, batch_of_two, denial, kinds, kinds_for, status};

async fn deny(store: &dyn Store, new: &NewDenial) {
    assert_eq!(store.deny(new, at(1)).await.unwrap(), Denied::Done);
}

async fn nonces(store: &dyn Store, agent: &str, now: i64) -> Vec<String> {
    let found = store.messages(agent, 0, 50, at(now)).await.unwrap();
    found.into_iter().map(|message| message.denial.nonce).collect()
}

pub(crate) async fn a_denied_asker_reads_channel_reason_and_proof(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    let new = denial("no", Channel::Post, &[item]);
    deny(store, &new).await;
    let answer = store.answer(&ask_id(1)).await.unwrap().unwrap();
    let told = answer.denial.unwrap();
    assert_eq!((answer.status, answer.proof), (Status::Denied, None));
    assert_eq!((told.nonce, told.channel, told.reason), (new.nonce, Channel::Post, new.reason));
    assert_eq!((told.label, told.proof), (new.label, new.proof));
    assert_eq!(kinds_for(store, Some("claude")).await, ["asked", "denied"]);
}

pub(crate) async fn each_channel_reaches_whom_its_row_says(store: &dyn Store) {
    let mut table = String::new();
    for (number, channel) in (1..).zip(Channel::ALL) {
        let item = add(store, &ask(number, "claude")).await;
        deny(store, &denial(channel.as_str(), channel, &[item])).await;
        let reads = async |agent| {
            let found = store.messages(agent, 0, 50, at(2)).await.unwrap();
            let message = found.into_iter().find(|message| message.denial.nonce == channel.as_str());
            message.map_or("-", |message| if message.pinned { "pinned" } else { "reads" })
        };
        table += &format!("{:10} {:6} {}\n", channel.as_str(), reads("claude").await, reads("codex").await);
    }
    let expected = "post       -      -\n\
                    call       reads  -\n\
                    newsletter reads  reads\n\
                    broadcast  reads  reads\n\
                    pan-pan    reads  reads\n\
                    security   pinned pinned\n";
    assert_eq!(table, expected, "channel, asking agent, other agent");
    // Another agent's stream tells that there is a message, and nothing of the item.
    assert_eq!(kinds_for(store, Some("codex")).await, ["message"; 4]);
}

pub(crate) async fn a_denial_is_all_or_nothing(store: &dyn Store) {
    let good = add(store, &ask(1, "claude")).await;
    let unknown = ask(2, "claude").item;
    let refused = store.deny(&denial("no", Channel::Post, &[good.clone(), unknown]), at(1)).await.unwrap();
    assert_eq!(refused, Denied::Stale(vec![ask_id(2)]));
    let twice = store.deny(&denial("no", Channel::Post, &[good.clone(), good]), at(1)).await.unwrap();
    assert_eq!(twice, Denied::Stale(vec![ask_id(1)]));
    assert_eq!(status(store, 1).await, Status::Pending);
    assert_eq!(kinds(store).await, ["asked"]);
}

pub(crate) async fn the_same_denial_again_changes_nothing(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "claude")).await];
    let new = denial("no", Channel::Call, &items[..1]);
    deny(store, &new).await;
    assert_eq!(store.deny(&new, at(2)).await.unwrap(), Denied::Same);
    let other_items = NewDenial { items: items[1..].to_vec(), ..new.clone() };
    let other_payload = NewDenial { payload: b"other".to_vec(), ..new };
    for used in [other_items, other_payload] {
        assert_eq!(store.deny(&used, at(2)).await.unwrap(), Denied::Used);
    }
    assert_eq!(kinds(store).await, ["asked", "asked", "denied", "message"]);
}

pub(crate) async fn one_no_ends_what_others_were_signing(store: &dyn Store) {
    let items = [add(store, &ask(1, "claude")).await, add(store, &ask(2, "codex")).await];
    accept(store, &batch_of_two("one", &items), at(0)).await;
    deny(store, &denial("first", Channel::Post, &items[..1])).await;
    assert_eq!((status(store, 1).await, status(store, 2).await), (Status::Denied, Status::Collecting));
    deny(store, &denial("second", Channel::Post, &items[1..])).await;
    let over = store.batch("bat-one").await.unwrap().unwrap();
    assert_eq!((over.status, over.proof), (BatchStatus::Undone, None));
}

pub(crate) async fn what_is_sealed_already_cannot_be_denied(store: &dyn Store) {
    let item = add(store, &ask(1, "claude")).await;
    accept(store, &batch("one", std::slice::from_ref(&item)), at(0)).await;
    let new = denial("no", Channel::Broadcast, &[item]);
    assert_eq!(store.deny(&new, at(1)).await.unwrap(), Denied::Stale(vec![ask_id(1)]));
    assert_eq!(store.settle_due(at(5_000)).await.unwrap().released, [ask_id(1)]);
    assert_eq!(store.deny(&new, at(5_000)).await.unwrap(), Denied::Stale(vec![ask_id(1)]));
    assert!(nonces(store, "claude", 5_000).await.is_empty());
}

pub(crate) async fn a_pinned_message_stays_until_it_expires_or_is_revoked(store: &dyn Store) {
    for number in 1..=3 {
        let item = add(store, &ask(number, "claude")).await;
        let channel = if number == 3 { Channel::Newsletter } else { Channel::Security };
        let expires = at(1_000 * i64::try_from(number).unwrap());
        deny(store, &NewDenial { expires, ..denial(&format!("n{number}"), channel, &[item]) }).await;
    }
    let pinned = async |now| {
        let found = store.pinned_messages(at(now)).await.unwrap();
        found.into_iter().map(|message| message.denial.nonce).collect::<Vec<_>>()
    };
    assert_eq!(pinned(2).await, ["n1", "n2"]);
    assert_eq!(nonces(store, "codex", 2).await, ["n1", "n2", "n3"]);
    assert_eq!(pinned(1_000).await, ["n2"]);
    assert_eq!(nonces(store, "codex", 1_000).await, ["n2", "n3"]);
    let revoke = NewTrust {
        change: TrustChange::Revoke { what: "warning".to_owned(), id: "n2".to_owned() },
        nonce: "revocation".to_owned(),
        payload: b"revoke n2".to_vec(),
        proof: "{}".to_owned(),
        label: "ada's phone".to_owned(),
    };
    assert!(matches!(store.add_trust(&revoke, at(1_500)).await.unwrap(), TrustAdded::New(_)));
    assert_eq!(pinned(1_500).await, Vec::<String>::new());
    assert_eq!(nonces(store, "codex", 1_500).await, ["n3"]);
    // Pages go on where the last one ended.
    let first = store.messages("codex", 0, 1, at(1_500)).await.unwrap().remove(0);
    assert_eq!(first.denial.nonce, "n3");
    assert!(store.messages("codex", first.seq, 1, at(1_500)).await.unwrap().is_empty());
}
