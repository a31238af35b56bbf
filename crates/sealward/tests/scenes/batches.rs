//! Many entries under one gesture, undo, and a quorum of two persons.

use crate::browser::Browser;
use crate::{SEALWARD, claude};
use serde_json::json;
use testkit::{Alg, Running, World, until};

#[test]
fn an_undone_batch_releases_nothing_and_the_same_asks_can_be_sealed_again() {
    let world = World::configured(SEALWARD, "[inbox]\nundo_s = 4\n");
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &key);
    let (first, one) = world.ask(&desk, &claude::bash("s1", world.work(), "make one"), 60);
    let (second, two) = world.ask(&desk, &claude::bash("s2", world.work(), "make two"), 60);
    let ids = [one["id"].as_str().unwrap(), two["id"].as_str().unwrap()];
    browser.tell("approve_many", json!({ "name": "ada", "ids": ids }));
    until("the batch settles", || desk.row(ids[0])["status"] == "settling");
    let batch = desk.row(ids[0])["batch"].as_str().unwrap().to_owned();
    browser.tell("click", json!({ "name": "ada", "hook": "undo" }));
    until("the batch is undone", || {
        let batch = desk.http().get(&format!("/api/batches/{batch}")).expect(200).json();
        batch["status"] == "undone"
    });
    for id in ids {
        assert_eq!(desk.row(id)["status"], "pending");
        assert_eq!(
            world
                .sql(&format!("SELECT count(*) FROM batches WHERE id = '{batch}' AND proof IS NOT NULL"))
                .out(),
            "[(0,)]\n"
        );
    }
    for id in ids {
        browser.approve("ada", id);
    }
    claude::allowed(&first.wait(), one["item"]["input"].as_str().unwrap());
    claude::allowed(&second.wait(), two["item"]["input"].as_str().unwrap());
    let settled = desk.row(ids[0])["batch"].as_str().unwrap().to_owned();
    let late = desk.http().post(&format!("/api/batches/{settled}/undo"), &json!({}));
    assert_eq!((late.status, late.json()["code"].clone()), (409, json!("closed")));
    browser.kept_its_peace(&world, "ada");
}

#[test]
fn fifty_asks_are_sealed_by_one_gesture() {
    let world = World::configured(SEALWARD, "[inbox]\nundo_s = 1\n[limits]\npending_per_agent = 64\n");
    let key = world.passkey(Alg::EdDsa);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &key);
    let start = |number: usize| {
        let event = claude::bash(&format!("s{number}"), world.work(), &format!("make target-{number}"));
        world.hook(&event, 90).start()
    };
    let hooks: Vec<Running> = (0..50).map(start).collect();
    testkit::within(std::time::Duration::from_secs(40), "fifty asks wait", || desk.ids().len() == 50);
    let before = browser.signatures("ada");
    let sealed = browser.tell("approve_many", json!({ "name": "ada", "ids": desk.ids() }));
    assert!(sealed["label"].as_str().unwrap().contains("50"), "the button says what it seals: {sealed}");
    for (number, hook) in hooks.into_iter().enumerate() {
        let run = hook.wait();
        let said = claude::answer(&run);
        assert_eq!(said["permissionDecision"], "allow");
        assert_eq!(said["updatedInput"]["command"], format!("make target-{number}"));
    }
    assert_eq!(browser.signatures("ada") - before, 1, "one gesture, one signature");
    browser.kept_its_peace(&world, "ada");
}

#[test]
fn two_persons_complete_a_quorum_of_two_and_one_person_cannot() {
    let world = crate::world();
    let ada = world.passkey(Alg::Es256).label("ada's phone").person("ada");
    let also_ada = world.passkey(Alg::EdDsa).label("ada's laptop").person("ada");
    let bob = world.passkey(Alg::Rs256).label("bob's phone").person("bob");
    world.pin(&[&ada, &also_ada, &bob], 2);
    let desk = world.desk(&ada);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &ada);
    browser.bring(&world, "ada again", &also_ada);
    browser.bring(&world, "bob", &bob);
    let (mut hook, row) = world.ask(&desk, &claude::bash("s1", world.work(), "make deploy"), 60);
    let id = row["id"].as_str().unwrap();
    assert_eq!(row["quorum"], 2);

    browser.approve("ada", id);
    browser.tell("wait_row", json!({ "name": "bob", "id": id, "status": "collecting" }));
    let batch = desk.row(id)["batch"].as_str().unwrap().to_owned();
    let have = || desk.http().get(&format!("/api/batches/{batch}")).expect(200).json()["have"].clone();
    assert_eq!(have(), 1);

    // A second key of the same person is the same person.
    browser.attempt("approve", json!({ "name": "ada again", "id": id }));
    assert_eq!(have(), 1);
    assert!(hook.ended().is_none(), "one person is not two");

    browser.approve("bob", id);
    claude::allowed(&hook.wait(), row["item"]["input"].as_str().unwrap());
    assert_eq!(have(), 2);
}

#[test]
fn equal_asks_of_one_session_are_one_row_and_one_signature_covers_them_all() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &key);
    let event = |call: &str| claude::bash("s1", world.work(), "make deploy").replace("toolu_01ABC", call);
    let (first, row) = world.ask(&desk, &event("toolu_01"), 60);
    let second = world.hook(&event("toolu_02"), 60).start();
    until("the second ask joins the row", || desk.rows()[0]["also"].as_array().unwrap().len() == 1);
    assert_eq!(desk.rows().len(), 1);
    browser.approve("ada", row["id"].as_str().unwrap());
    claude::allowed(&first.wait(), row["item"]["input"].as_str().unwrap());
    claude::allowed(&second.wait(), row["item"]["input"].as_str().unwrap());
}
