//! Somebody with the hub's database: changes before a seal make it void, changes after it change nothing, and every foreign
//! proof is refused with its own words.

use crate::browser::Browser;
use crate::claude;
use serde_json::{Value, json};
use testkit::{Alg, Desk, Payload, SoftPasskey, World, proof_of, until};

/// the hashed fields of an ask that a database can change, and what to write there
const FIELDS: [(&str, &str); 6] = [
    ("input", r#"{"command":"true"}"#),
    ("cwd", "/somewhere/else"),
    ("session", "another-session"),
    ("executor", "hook@elsewhere"),
    ("tool", "Read"),
    ("agent", "somebody"),
];

fn change(world: &World, id: &str, field: &str, value: &str) {
    world.sql(&format!(
        "UPDATE items SET fields = json_set(fields, '$.{field}', '{value}') WHERE id = '{id}'"
    ));
    let stored = world.sql(&format!("SELECT json_extract(fields, '$.{field}') FROM items WHERE id = '{id}'"));
    assert!(stored.out().contains(value), "{field} is changed in the database: {}", stored.out());
}

#[test]
fn a_field_changed_before_the_seal_is_not_what_the_hook_asked_for() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &key);
    for (field, value) in FIELDS {
        let event = claude::bash(&format!("session-{field}"), world.work(), "rm -r build");
        let (hook, row) = world.ask(&desk, &event, 60);
        let id = row["id"].as_str().unwrap();
        change(&world, id, field, value);
        browser.tell("goto", json!({ "name": "ada", "url": world.origin() }));
        browser.tell("wait_row", json!({ "name": "ada", "id": id }));
        let before = browser.signatures("ada");
        if field == "agent" {
            // The row's own agent and the item's differ now: the page sees that and does not sign. Another page might.
            let told = browser.tell("problem", json!({ "name": "ada", "id": id }));
            assert_eq!(told, "unseal_mismatch");
            let changed = desk.row(id);
            let _batch = desk.approve(&[&changed]).expect(202);
        } else {
            // The page signs what it is shown: the changed item.
            browser.approve("ada", id);
            assert_eq!(browser.signatures("ada"), before + 1, "{field}: the page did sign");
        }
        claude::failed_closed(&hook.wait(), "does not list this item");
    }
}

#[test]
fn a_field_changed_after_the_seal_has_no_effect() {
    let world = World::configured(crate::SEALWARD, "[inbox]\nundo_s = 3\n");
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let mut waiting = Vec::new();
    for (field, value) in FIELDS {
        let event = claude::bash(&format!("session-{field}"), world.work(), "make deploy");
        let (hook, row) = world.ask(&desk, &event, 60);
        let _batch = desk.approve(&[&row]).expect(202);
        change(&world, row["id"].as_str().unwrap(), field, value);
        waiting.push((hook, row));
    }
    for (hook, row) in waiting {
        claude::allowed(&hook.wait(), row["item"]["input"].as_str().unwrap());
    }
}

/// Puts a proof of the test's own under the item's batch before it settles.
fn replace_proof(world: &World, desk: &Desk<'_>, row: &Value, proof: Option<&Value>) {
    let _batch = desk.approve(&[row]).expect(202);
    let batch = desk.row(row["id"].as_str().unwrap())["batch"].as_str().unwrap().to_owned();
    let value = proof.map_or_else(|| "NULL".to_owned(), |proof| format!("'{proof}'"));
    world.sql(&format!("UPDATE batches SET proof = {value} WHERE id = '{batch}'"));
}

#[test]
fn each_foreign_proof_is_refused_in_its_own_words() {
    let world = World::configured(crate::SEALWARD, "[inbox]\nundo_s = 2\n");
    let key = world.passkey(Alg::Es256);
    let stranger = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let hash = |row: &Value| testkit::Fields::of("ask", &row["item"]).hash();
    let sealed_by = |who: &SoftPasskey, row: &Value| proof_of(&Payload::approve(&[hash(row)]), &[who]);
    let ask = |session: &str| world.ask(&desk, &claude::bash(session, world.work(), "make deploy"), 60);

    let (other_hook, other) = ask("other");
    let (hook, row) = ask("foreign");
    replace_proof(&world, &desk, &row, Some(&sealed_by(&key, &other)));
    claude::failed_closed(&hook.wait(), "does not list this item");
    drop(other_hook);

    let (hook, row) = ask("strange");
    replace_proof(&world, &desk, &row, Some(&sealed_by(&stranger, &row)));
    claude::failed_closed(&hook.wait(), "not pinned");

    let (hook, row) = ask("removed");
    replace_proof(&world, &desk, &row, None);
    claude::failed_closed(&hook.wait(), "no signature");

    let (hook, row) = ask("unsigned");
    let mut unsigned = sealed_by(&key, &row);
    unsigned["signatures"] = json!([]);
    replace_proof(&world, &desk, &row, Some(&unsigned));
    claude::failed_closed(&hook.wait(), "no signature");

    let (hook, row) = ask("denied");
    let verb = proof_of(&Payload::deny(&[hash(&row)], "post", "no"), &[&key]);
    replace_proof(&world, &desk, &row, Some(&verb));
    claude::failed_closed(&hook.wait(), "verb does not fit");

    let (hook, row) = ask("old");
    let old = proof_of(&Payload::approve(&[hash(&row)]).moved(-2 * 3_600_000), &[&key]);
    replace_proof(&world, &desk, &row, Some(&old));
    claude::failed_closed(&hook.wait(), "expired");

    let (hook, row) = ask("ahead");
    let ahead = proof_of(&Payload::approve(&[hash(&row)]).moved(3_600_000), &[&key]);
    replace_proof(&world, &desk, &row, Some(&ahead));
    claude::failed_closed(&hook.wait(), "not valid yet");
}

#[test]
fn an_answer_that_was_used_is_never_used_again() {
    let world = crate::world();
    let key = world.passkey(Alg::EdDsa);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let event = claude::bash("s1", world.work(), "make deploy");
    claude::failed_closed(&world.hook(&event, 2).run(), "asked, not yet answered");
    let kept = world.home().join("kept");
    let saved: Vec<(std::path::PathBuf, Vec<u8>)> = std::fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    assert!(!saved.is_empty(), "the hook keeps the id of what it asked");
    let row = desk.rows().remove(0);
    let _batch = desk.approve(&[&row]).expect(202);
    until("the approval is released", || desk.row(row["id"].as_str().unwrap())["status"] == "allowed");
    claude::allowed(&world.hook(&event, 20).run(), row["item"]["input"].as_str().unwrap());
    // Somebody restores the kept id, so that the identical call asks for the same answer again.
    for (path, bytes) in saved {
        testkit::write_private(&path, std::str::from_utf8(&bytes).unwrap());
    }
    claude::failed_closed(&world.hook(&event, 5).run(), "already used");
}
