//! `sealward approvers`: a key from a file, the list, and revoking.

use serde_json::Value;
use testkit::{Alg, Program, SoftPasskey, Temp, Terminal, fingerprint};

use crate::{SEALWARD, last_six, passkey, pinned, world, wrong_six};

/// A pin entry in a file of the person's own.
fn entry_file(place: &Temp, entry: &Value) -> String {
    let path = place.join("key.json");
    testkit::write_private(&path, &entry.to_string());
    path.to_str().unwrap().to_owned()
}

fn list(world: &testkit::World) -> Value {
    let run = world.sealward(["approvers", "list", "--json"]).run().expect(0);
    serde_json::from_str(&run.out()).expect("one JSON value")
}

#[test]
fn a_key_from_a_file_is_pinned_by_its_last_six_characters_only() {
    let world = world();
    let place = Temp::new();
    let key = passkey(&world);
    let file = entry_file(&place, &key.pin_entry());
    let home = world.home().to_str().unwrap().to_owned();

    let mut pin = Terminal::start(SEALWARD, ["approvers", "pin", &file, "--home", &home]);
    let _screen = pin.shows("type the last 6");
    for _ in 0..3 {
        pin.types(&wrong_six(&key));
    }
    let _screen = pin.shows("Dropped `");
    assert_eq!(pin.ends().code(), Some(1));
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());

    let mut pin = Terminal::start(SEALWARD, ["approvers", "pin", &file, "--person", "ada", "--home", &home]);
    let _screen = pin.shows(&fingerprint(&key.spki()));
    pin.types(&last_six(&key));
    let _screen = pin.shows("Pinned `");
    assert_eq!(pin.ends().code(), Some(0));
    assert_eq!(pinned(&world, "approvers.json"), [key.id()]);
    assert!(std::path::Path::new(&file).exists(), "the person's own file stays");

    let listed = list(&world);
    let row = &listed["keys"][0];
    assert_eq!(row["id"], key.id());
    assert_eq!(row["fingerprint"], fingerprint(&key.spki()));
    assert_eq!(row["pinned_for"], serde_json::json!(["executors", "hub"]));
    assert_eq!(row["revoked"], false);
    assert_eq!(row["person"], "ada");
}

#[test]
fn the_answer_is_not_taken_from_a_pipe() {
    let world = world();
    let place = Temp::new();
    let key = passkey(&world);
    let file = entry_file(&place, &key.pin_entry());
    let home = world.home().to_str().unwrap();
    // A session of its own has no terminal, whatever terminal the tests run on.
    let pin = Program::new("setsid").args(["--wait", SEALWARD, "approvers", "pin", &file, "--home", home]);
    let run = pin.stdin(format!("{}\n", last_six(&key))).run().expect(3);
    assert!(run.err().contains("no terminal"), "{}", run.err());
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());
}

#[test]
fn a_key_that_must_not_be_pinned_is_refused_before_anybody_is_asked() {
    let world = world();
    let place = Temp::new();
    let good = SoftPasskey::at(Alg::EdDsa, world.origin()).pin_entry();
    let mut weak = good.clone();
    // The Ed25519 point of order one: anybody can sign for it.
    let mut spki = testkit::unb64(good["spki"].as_str().unwrap());
    let point = spki.len() - 32;
    spki[point..].fill(0);
    spki[point] = 1;
    weak["spki"] = serde_json::json!(testkit::b64(&spki));
    let home = world.home().to_str().unwrap().to_owned();
    for (entry, code) in [(weak, 1), (serde_json::json!({ "id": "x" }), 2)] {
        let file = entry_file(&place, &entry);
        let mut pin = Terminal::start(SEALWARD, ["approvers", "pin", &file, "--home", &home]);
        let screen = pin.shows("sealward: ");
        assert!(!screen.contains("type the last 6"), "{screen}");
        assert_eq!(pin.ends().code(), Some(code), "{screen}");
    }
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());
}

#[test]
fn revoking_needs_no_terminal_and_the_key_logs_in_no_more() {
    let world = world();
    let key = passkey(&world);
    world.pin(&[&key], 1);
    let _desk = world.desk(&key);
    let _done = world.sealward(["approvers", "revoke", &key.id()]).run().expect(0);
    assert_eq!(list(&world)["keys"][0]["revoked"], true);
    assert_eq!(list(&world)["revoked"], serde_json::json!([key.id()]));
    let start = world.browser().post("/api/login/start", &serde_json::json!({})).expect(200).json();
    assert!(!start["credentials"].to_string().contains(&key.id()), "{start}");
}
