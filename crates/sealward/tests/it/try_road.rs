//! `sealward try`: the newcomer's first call, from the terminal to the inbox and back.

use testkit::{World, until};

use crate::{passkey, world};

/// The first row of the inbox, once there is one.
fn first_row(world: &World, key: &testkit::SoftPasskey) -> serde_json::Value {
    let desk = world.desk(key);
    until("the sample is in the inbox", || !desk.rows().is_empty());
    desk.rows()[0].clone()
}

/// An installation with one key, pinned as `up` pins it, and the key.
fn pinned() -> (World, testkit::SoftPasskey) {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let _proposed = crate::propose(&world, &link, &key).expect(202);
    let _screen = world.terminal().shows("type the last 6");
    world.terminal().types(&crate::last_six(&key));
    let _screen = world.terminal().shows("Pinned `");
    (world, key)
}

#[test]
fn the_sample_waits_in_the_inbox_and_a_seal_shows_what_the_agent_would_get() {
    let (world, key) = pinned();
    let running = world.sealward(["try", "--wait", "60"]).start();
    let row = first_row(&world, &key);
    assert_eq!(row["item"]["tool"], "Bash");
    assert!(row["item"]["input"].as_str().unwrap().contains("echo sealed by Sealward"));
    let _batch = world.desk(&key).approve(&[&row]).expect(202);
    let run = running.wait().expect(0);
    assert!(run.out().contains(&format!("Waiting for you at {}", world.origin())), "{}", run.out());
    assert!(run.out().contains(r#""permissionDecision":"allow""#), "{}", run.out());
}

#[test]
fn a_denied_sample_ends_with_the_persons_words() {
    let (world, key) = pinned();
    let running = world.sealward(["try", "--wait", "60"]).start();
    let row = first_row(&world, &key);
    let _sent = world.desk(&key).deny(&[&row], "post", "not now, please").expect(201);
    let run = running.wait().expect(1);
    assert!(run.out().contains("(post): not now, please"), "{}", run.out());
    assert!(run.out().contains("It would not run."), "{}", run.out());
}

#[test]
fn without_a_hub_it_says_what_to_do() {
    let (mut world, _key) = pinned();
    world.stop();
    let run = world.sealward(["try", "--wait", "10"]).run().expect(3);
    assert!(run.err().contains("sealward doctor"), "{}", run.err());
}
