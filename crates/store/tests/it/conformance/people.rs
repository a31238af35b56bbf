//! Tokens, browser sessions, trust proofs, the pause.

use proto::{api::Role, sha256};
use store::{
    NewSession, NewToken, NewTrust, SEEN_STEP_MS, Store, StoredTrust, TokenAdded, TokenRevoked, TrustAdded,
    TrustChange,
};

use crate::world::{at, kinds};

fn token(name: &str, secret: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        hash: sha256(secret.as_bytes()),
        role: Role::Hook,
        executors: vec!["hook@laptop".to_owned(), "commit@laptop".to_owned()],
    }
}

pub(crate) async fn a_token_is_found_by_its_hash_until_another_takes_its_name(store: &dyn Store) {
    let new = token("claude", "secret");
    assert_eq!(store.add_token(&new, at(0)).await.unwrap(), TokenAdded::New);
    let found = store.token(&new.hash).await.unwrap().unwrap();
    assert_eq!((found.name, found.role, found.executors), (new.name, Role::Hook, new.executors));
    assert_eq!((found.created, found.seen, found.revoked), (at(0), None, None));
    assert_eq!(store.token(&sha256(b"guess")).await.unwrap(), None);
    assert_eq!(store.revoke_token("claude", at(5)).await.unwrap(), TokenRevoked::Done);
    assert_eq!(store.token(&new.hash).await.unwrap().unwrap().revoked, Some(at(5)));
    assert_eq!(store.revoke_token("claude", at(6)).await.unwrap(), TokenRevoked::NotFound);
    assert_eq!(store.add_token(&token("claude", "fresh"), at(7)).await.unwrap(), TokenAdded::New);
    let all = store.tokens().await.unwrap();
    let live: Vec<_> = all.iter().map(|token| (token.created, token.revoked)).collect();
    assert_eq!(live, [(at(0), Some(at(5))), (at(7), None)]);
    assert_eq!(kinds(store).await, ["agent_added", "agent_revoked", "agent_added"]);
}

pub(crate) async fn a_name_has_one_live_token(store: &dyn Store) {
    assert_eq!(store.add_token(&token("claude", "one"), at(0)).await.unwrap(), TokenAdded::New);
    assert_eq!(store.add_token(&token("claude", "two"), at(1)).await.unwrap(), TokenAdded::NameTaken);
    assert_eq!(store.token(&sha256(b"two")).await.unwrap(), None);
    assert_eq!(kinds(store).await, ["agent_added"]);
}

pub(crate) async fn last_seen_is_noted_at_most_once_a_minute(store: &dyn Store) {
    let new = token("claude", "secret");
    assert_eq!(store.add_token(&new, at(0)).await.unwrap(), TokenAdded::New);
    store.add_session(&session("one", 9 * SEEN_STEP_MS), at(0)).await.unwrap();
    let mut notes = Vec::new();
    for now in [1, 2, SEEN_STEP_MS + 1, SEEN_STEP_MS + 2] {
        store.saw_token("claude", at(now)).await.unwrap();
        store.saw_session("id-one", at(now)).await.unwrap();
        let seen = store.token(&new.hash).await.unwrap().unwrap().seen.unwrap();
        let browser = store.session(&sha256(b"cookie-one"), at(now)).await.unwrap().unwrap().seen;
        notes.push((seen.since(at(0)), browser.since(at(0))));
    }
    let second = SEEN_STEP_MS + 2;
    assert_eq!(notes, [(1, 0), (1, 0), (1, SEEN_STEP_MS + 1), (second, SEEN_STEP_MS + 1)]);
    store.saw_token("nobody", at(0)).await.unwrap();
}

fn session(name: &str, expires: i64) -> NewSession {
    NewSession {
        id: format!("id-{name}"),
        cookie_hash: sha256(format!("cookie-{name}").as_bytes()),
        page_hash: sha256(format!("page-{name}").as_bytes()),
        keyid: "key".to_owned(),
        label: "ada's phone".to_owned(),
        person: "ada".to_owned(),
        expires: at(expires),
    }
}

pub(crate) async fn a_browser_session_lives_until_it_ends_or_expires(store: &dyn Store) {
    for (name, expires) in [("one", 100), ("two", 200), ("three", 300)] {
        store.add_session(&session(name, expires), at(0)).await.unwrap();
    }
    let found = store.session(&sha256(b"cookie-one"), at(99)).await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), found.page_hash), ("id-one", sha256(b"page-one")));
    assert_eq!(store.session(&sha256(b"cookie-one"), at(100)).await.unwrap(), None);
    assert_eq!(store.session(&sha256(b"page-two"), at(0)).await.unwrap(), None);
    let open = store.sessions(at(100)).await.unwrap();
    assert_eq!(open.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["id-three", "id-two"]);
    assert!(store.end_session("id-two", at(100)).await.unwrap());
    assert!(!store.end_session("id-two", at(100)).await.unwrap());
    assert!(!store.end_session("id-one", at(100)).await.unwrap());
    assert_eq!(store.session(&sha256(b"cookie-two"), at(100)).await.unwrap(), None);
    assert_eq!(kinds(store).await, ["login", "login", "login", "logout"]);
}

pub(crate) async fn a_trust_proof_is_taken_once_and_listed_in_order(store: &dyn Store) {
    let new = |nonce: &str, payload: &str, change| NewTrust {
        change,
        nonce: nonce.to_owned(),
        payload: payload.as_bytes().to_vec(),
        proof: format!("{{\"payload\":\"{payload}\"}}"),
        label: "ada's phone".to_owned(),
    };
    let pin = TrustChange::Pin { key: "key".to_owned(), executor: "hook@laptop".to_owned() };
    let revoke = TrustChange::Revoke { what: "key".to_owned(), id: "key".to_owned() };
    let proofs = [new("a", "pin", pin.clone()), new("b", "revoke", revoke.clone())];
    let mut expected = Vec::new();
    for proof in &proofs {
        let TrustAdded::New(seq) = store.add_trust(proof, at(0)).await.unwrap() else { panic!("new") };
        expected.push(StoredTrust { seq, change: proof.change.clone(), proof: proof.proof.clone() });
        assert_eq!(store.add_trust(proof, at(1)).await.unwrap(), TrustAdded::Duplicate);
    }
    let same_nonce = new("a", "another payload", pin);
    assert_eq!(store.add_trust(&same_nonce, at(1)).await.unwrap(), TrustAdded::Duplicate);
    assert_eq!(store.trust(0, 50).await.unwrap(), expected);
    assert_eq!(store.trust(0, 1).await.unwrap(), expected[..1]);
    assert_eq!(store.trust(expected[0].seq, 50).await.unwrap(), expected[1..]);
    assert_eq!(store.trust(u64::MAX, 50).await.unwrap(), []);
    assert_eq!(kinds(store).await, ["pinned", "revoked"]);
}

pub(crate) async fn a_pause_is_one_however_often_it_is_pressed(store: &dyn Store) {
    assert_eq!(store.paused().await.unwrap(), None);
    assert!(!store.resume("ada's phone", at(0)).await.unwrap());
    assert!(store.pause("claude", at(1)).await.unwrap());
    assert!(!store.pause("codex", at(2)).await.unwrap());
    let paused = store.paused().await.unwrap().unwrap();
    assert_eq!((paused.by.as_str(), paused.at), ("claude", at(1)));
    assert!(store.resume("ada's phone", at(3)).await.unwrap());
    assert_eq!(store.paused().await.unwrap(), None);
    assert_eq!(kinds(store).await, ["paused", "resumed"]);
}
