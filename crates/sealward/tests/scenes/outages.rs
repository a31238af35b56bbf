//! The hub down, slow, restarted, lying about the time, out of disk, the token revoked: the hook ends in time, in the right
//! form, with the reason on standard error, and nothing is allowed. Afterwards the ask is still there.

use crate::smuggler::Smuggler;
use crate::{SEALWARD, claude};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::{Alg, Deed, Fields, Machine, Payload, Proxy, World, proof_of, until};

/// A gate is blocked in the hook's own words, a request is left to the local dialog, both within their time and with a
/// reason on standard error.
#[track_caller]
fn both_forms_fail_closed(hook: impl Fn(&str, u64) -> testkit::Program, work: &Path, because: &str) {
    let wait = 3;
    let gate = hook(&claude::bash("down", work, "make deploy"), wait).run();
    claude::failed_closed(&gate, because);
    assert!(gate.took < Duration::from_secs(wait + 2), "the gate took {:?}", gate.took);
    let request = hook(&claude::request("down", work, "Bash", r#"{"command":"make deploy"}"#), wait).run();
    claude::silent(&request);
    assert!(!request.err().trim().is_empty(), "a reason on standard error");
    assert!(request.took < Duration::from_secs(wait + 2), "the request took {:?}", request.took);
}

fn pinned_world() -> (World, testkit::SoftPasskey) {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    (world, key)
}

fn behind(world: &World, rule: impl Fn(&testkit::Asked) -> Deed + Send + Sync + 'static) -> (Proxy, Machine) {
    let proxy = Proxy::new(world.address(), rule);
    let machine = world.machine("second", proxy.address());
    (proxy, machine)
}

#[test]
fn a_hub_that_is_down_blocks() {
    let (mut world, _key) = pinned_world();
    world.stop();
    both_forms_fail_closed(|event, wait| world.hook(event, wait), world.work(), "hub");
}

#[test]
fn a_hub_that_never_answers_blocks_in_time() {
    let (world, _key) = pinned_world();
    let (_proxy, machine) = behind(&world, |_| Deed::Hang);
    both_forms_fail_closed(|event, wait| machine.hook(event, wait), world.work(), "hub");
}

#[test]
fn a_hub_that_takes_asks_and_then_hangs_blocks_in_time() {
    let (world, _key) = pinned_world();
    let (_proxy, machine) = behind(&world, |asked| {
        if asked.method == "GET" && asked.path.starts_with("/api/asks/") { Deed::Hang } else { Deed::Pass }
    });
    both_forms_fail_closed(|event, wait| machine.hook(event, wait), world.work(), "");
}

#[test]
fn a_hub_that_talks_nonsense_blocks() {
    let (world, _key) = pinned_world();
    let http =
        |head: &str, body: &str| format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answers = [
        "SSH-2.0-OpenSSH_9.2p1\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"status\"".to_owned(),
        http("200 OK", "{}"),
        http("200 OK", r#"{"status":"agreed"}"#),
        http("200 OK", r#"{"id":"ask-00000000000000000000000000000000","status":"allowed"}"#),
        http("302 Found\r\nLocation: http://127.0.0.1:1/", ""),
        http("500 Oops", ""),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        // To everything, then only where asks are made and awaited: the hub's own word is sound until then.
        for (only, from) in [("all", "/"), ("asks", "/api/asks")] {
            let bytes = answer.clone().into_bytes();
            let proxy = Proxy::new(world.address(), move |asked| {
                if asked.path.starts_with(from) { Deed::Raw(bytes.clone()) } else { Deed::Pass }
            });
            let machine = world.machine(&format!("{only}-{number}"), proxy.address());
            let event = claude::bash("nonsense", world.work(), "make deploy");
            claude::failed_closed(&machine.hook(&event, 3).run(), "");
            let event = claude::request("nonsense", world.work(), "Bash", r#"{"command":"make deploy"}"#);
            claude::silent(&machine.hook(&event, 3).run());
        }
    }
}

#[test]
fn a_hub_that_says_allowed_without_a_proof_blocks() {
    let (world, _key) = pinned_world();
    let (_proxy, machine) = behind(&world, |asked| {
        let poll = asked.method == "GET" && asked.path.starts_with("/api/asks/");
        if poll { Deed::Say(200, json!({ "status": "allowed" })) } else { Deed::Pass }
    });
    both_forms_fail_closed(|event, wait| machine.hook(event, wait), world.work(), "no signature");
}

#[test]
fn a_revoked_token_blocks_at_once_and_while_waiting() {
    let (world, key) = pinned_world();
    let desk = world.desk(&key);
    let machine = world.machine("second", world.address());
    let (hook, row) = machine.ask(&desk, &claude::bash("s1", world.work(), "make deploy"), 20);
    let _run = world.sealward(["agents", "revoke", "second"]).run().expect(0);
    claude::failed_closed(&hook.wait(), "token");
    both_forms_fail_closed(|event, wait| machine.hook(event, wait), world.work(), "token");
    // Whatever was asked stays to be seen; an answer to it reaches nobody.
    assert_eq!(desk.row(row["id"].as_str().unwrap())["status"], "pending");
}

#[test]
fn a_clock_that_is_off_by_an_hour_allows_nothing() {
    let (world, key) = pinned_world();
    let desk = world.desk(&key);
    for (by, code, sentence) in [(-3_700_000, "expired", "expired"), (3_600_000, "not_yet", "not valid yet")]
    {
        // At the hub: it refuses what a device with such a clock signs.
        let event = claude::bash(code, world.work(), "make deploy");
        let (hook, row) = world.ask(&desk, &event, 4);
        let hash = Fields::of("ask", &row["item"]).hash();
        let payload = Payload::approve(&[&hash]).moved(by);
        let refused = desk.post(&payload, &[&row]);
        assert_eq!(
            (refused.status, refused.json()["code"].clone()),
            (400, json!(code)),
            "{}",
            refused.text()
        );
        claude::failed_closed(&hook.wait(), "asked, not yet answered");
        // At the hook: it refuses the same from a hub whose own clock agrees with that device.
        let smuggler = Arc::new(Smuggler::default());
        let proxy = smuggler.proxy(&world);
        let machine = world.machine(code, proxy.address());
        let (hook, row) = machine.ask(&desk, &event, 30);
        let hash = Fields::of("ask", &row["item"]).hash();
        smuggler.hand_over(Some(proof_of(&Payload::approve(&[&hash]).moved(by), &[&key])));
        claude::failed_closed(&hook.wait(), sentence);
    }
}

#[test]
fn an_ask_outlives_a_restart_of_the_hub_and_the_identical_call_picks_the_answer_up() {
    let (mut world, key) = pinned_world();
    let event = claude::bash("s1", world.work(), "make deploy");
    let (hook, row) = world.ask(&world.desk(&key), &event, 6);
    world.stop();
    world.start();
    claude::failed_closed(&hook.wait(), "asked, not yet answered");
    let desk = world.desk(&key);
    assert_eq!(desk.ids(), [row["id"].as_str().unwrap()], "the ask is still in the inbox, once");
    let _batch = desk.approve(&[&row]).expect(202);
    until("the approval is released", || desk.row(row["id"].as_str().unwrap())["status"] == "allowed");
    let other = claude::bash("s1", world.work(), "make deploy ");
    claude::failed_closed(&world.hook(&other, 2).run(), "asked, not yet answered");
    claude::allowed(&world.hook(&event, 20).run(), row["item"]["input"].as_str().unwrap());
    // The answer was for one call: the next identical one asks anew.
    claude::failed_closed(&world.hook(&event, 2).run(), "asked, not yet answered");
}

#[test]
fn a_settled_approval_outlives_a_power_cut() {
    let (mut world, key) = pinned_world();
    let event = claude::bash("s1", world.work(), "make deploy");
    claude::failed_closed(&world.hook(&event, 2).run(), "asked, not yet answered");
    let desk = world.desk(&key);
    let row = desk.rows().remove(0);
    let _batch = desk.approve(&[&row]).expect(202);
    until("the approval is released", || desk.row(row["id"].as_str().unwrap())["status"] == "allowed");
    world.signal_hub(rustix::process::Signal::KILL);
    world.stop();
    world.start();
    claude::allowed(&world.hook(&event, 20).run(), row["item"]["input"].as_str().unwrap());
}

#[test]
fn a_full_disk_in_the_hub_allows_nothing_and_loses_nothing() {
    let world = World::on_a_small_disk(SEALWARD, "[inbox]\nundo_s = 0\n");
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let event = claude::bash("before", world.work(), "make deploy");
    claude::failed_closed(&world.hook(&event, 2).run(), "asked, not yet answered");
    let row = desk.rows().remove(0);
    world.fill_the_disk();
    both_forms_fail_closed(|event, wait| world.hook(event, wait), world.work(), "hub");
    let refused = desk.approve(&[&row]);
    assert!(
        matches!(refused.status, 500 | 503),
        "an approval that cannot be recorded is not accepted: {}",
        refused.text()
    );
    claude::failed_closed(&world.hook(&event, 2).run(), "");
    world.empty_the_disk();
    until("the hub takes the approval now", || desk.approve(&[&row]).status == 202);
    claude::allowed(&world.hook(&event, 20).run(), row["item"]["input"].as_str().unwrap());
}
