//! The whole road: a person enrols in a real browser, the real hook asks for every tool shape, the page seals, the hook checks.

use crate::browser::Browser;
use crate::{SEALWARD, claude};
use serde_json::json;
use testkit::{Alg, Running, World, until};

/// Enrols with one algorithm, then has every tool shape approved, each by one gesture.
fn every_shape_is_sealed_with(alg: Alg) {
    let mut world = World::fresh(SEALWARD);
    let mut browser = Browser::new();
    browser.enrol(&mut world, "ada", alg.cose());
    let start = |(tool, input): &(&str, &str)| {
        let session = format!("session-{tool}");
        world.hook(&claude::gate(&session, world.work(), tool, input), 60).start()
    };
    let hooks: Vec<Running> = claude::shapes().iter().map(start).collect();
    let mut rows = Vec::new();
    until("every ask is on the page", || {
        rows = browser.rows("ada");
        rows.len() == hooks.len()
    });
    let before = browser.signatures("ada");
    for row in &rows {
        browser.approve("ada", row["id"].as_str().unwrap());
    }
    for (hook, (_, input)) in hooks.into_iter().zip(claude::shapes()) {
        claude::allowed(&hook.wait(), input);
    }
    let made = browser.signatures("ada") - before;
    assert_eq!(made, u64::try_from(rows.len()).unwrap(), "one signature for each gesture");
    browser.kept_its_peace(&world, "ada");
}

#[test]
fn every_tool_shape_is_sealed_with_an_es256_passkey_enrolled_over_the_terminal() {
    every_shape_is_sealed_with(Alg::Es256);
}

#[test]
fn every_tool_shape_is_sealed_with_an_eddsa_passkey_enrolled_over_the_terminal() {
    every_shape_is_sealed_with(Alg::EdDsa);
}

#[test]
fn every_tool_shape_is_sealed_with_an_rs256_passkey_enrolled_over_the_terminal() {
    every_shape_is_sealed_with(Alg::Rs256);
}

#[test]
fn a_permission_request_is_answered_in_its_own_form_and_never_with_an_always() {
    let mut world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let input = r#"{"command":"make  deploy"}"#;
    let (hook, row) = world.ask(&desk, &claude::request("s1", world.work(), "Bash", input), 30);
    let _batch = desk.approve(&[&row]).expect(202);
    let run = hook.wait();
    let said = claude::answer(&run);
    assert_eq!(said["hookEventName"], "PermissionRequest");
    assert_eq!(
        said["decision"],
        json!({ "behavior": "allow", "updatedInput": { "command": "make  deploy" } })
    );
    assert!(run.out().contains(&format!(r#""updatedInput":{input}"#)));

    let (hook, row) = world.ask(&desk, &claude::request("s2", world.work(), "Bash", input), 30);
    let _id = desk.deny(&[&row], "post", "not on a Friday").expect(201);
    let said = claude::answer(&hook.wait());
    assert_eq!(said["decision"]["behavior"], "deny");
    assert!(said["decision"]["message"].as_str().unwrap().contains("not on a Friday"), "{said}");

    let unanswered = world.hook(&claude::request("s3", world.work(), "Bash", input), 2).run();
    claude::silent(&unanswered);
    world.stop();
    claude::silent(&world.hook(&claude::request("s4", world.work(), "Bash", input), 2).run());
}

#[test]
fn what_the_grants_allow_or_deny_never_reaches_the_hub() {
    let world = crate::world();
    let key = world.passkey(Alg::EdDsa);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    std::fs::write(world.work().join("notes.txt"), "notes").unwrap();
    let inside = json!({ "file_path": world.work().join("notes.txt") }).to_string();
    claude::silent(&world.hook(&claude::gate("s1", world.work(), "Read", &inside), 5).run());
    assert_eq!(desk.ids(), Vec::<String>::new());
}
