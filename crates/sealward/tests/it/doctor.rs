//! `sealward doctor` on a whole installation, and on one with a part missing.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;
use testkit::{Program, World, write_private};

use crate::{last_six, passkey, propose, world};

/// What it finds of one check, as `level: what`, with the exit code.
#[track_caller]
fn looked(world: &World, check: &str) -> (Vec<(String, String)>, i32) {
    let settings = world.home().join("settings.json").display().to_string();
    let run = world.sealward(["doctor", "--json", "--settings", &settings]).run();
    let report: Value =
        serde_json::from_str(&run.out()).unwrap_or_else(|_| panic!("{} {}", run.out(), run.err()));
    let findings = report["findings"].as_array().unwrap();
    for finding in findings {
        assert_eq!(finding["remedy"] == "", finding["level"] == "ok", "a fault has a remedy: {finding}");
    }
    let said = |finding: &Value, member: &str| finding[member].as_str().unwrap().to_owned();
    let found = findings.iter().filter(|finding| finding["check"] == check);
    (found.map(|finding| (said(finding, "level"), said(finding, "what"))).collect(), run.code.unwrap())
}

/// Asserts that a check is of this level and that what it says holds these words.
#[track_caller]
fn finds(world: &World, check: &str, level: &str, words: &str) {
    let (found, code) = looked(world, check);
    assert!(
        found.iter().any(|(is, what)| is == level && what.contains(words)),
        "no `{level}` of `{check}` says `{words}`: {found:?}"
    );
    if level == "bad" {
        assert_eq!(code, 1);
    }
}

/// An installation with a pinned key and a connected agent.
fn whole() -> World {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let _proposed = propose(&world, &link, &key).expect(202);
    let _screen = world.terminal().shows("type the last 6");
    world.terminal().types(&last_six(&key));
    let _screen = world.terminal().shows("Pinned `");
    let settings = world.home().join("settings.json").display().to_string();
    let _run = world.sealward(["connect", "claude", "--yes", "--settings", &settings]).run().expect(0);
    world
}

#[test]
fn a_whole_installation_is_well_and_each_missing_part_is_found() {
    let mut world = whole();
    let settings = world.home().join("settings.json");
    let path = settings.display().to_string();
    let run = world.sealward(["doctor", "--settings", &path]).run().expect(0);
    assert!(run.out().ends_with("All is well.\n"), "{}", run.out());
    finds(&world, "listeners", "ok", "on both loopback addresses");
    finds(&world, "clock", "ok", "differ by 0.");

    let wired = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, wired.replacen("\"timeout\": 600", "\"timeout\": 60", 1)).unwrap();
    finds(&world, "agent", "bad", "the agent waits 60 s and the hook 600 s");
    fs::write(&settings, wired.replace("\"PostToolUse\"", "\"Stop\"")).unwrap();
    finds(&world, "agent", "bad", "does not stand on every `PostToolUse`");
    fs::write(&settings, wired.replace("/sealward --home", "/nowhere/sealward --home")).unwrap();
    finds(&world, "agent", "bad", "is no program, so the agent goes on without asking");
    fs::write(&settings, wired.replacen('{', "{\"disableAllHooks\": true,", 1)).unwrap();
    finds(&world, "agent", "bad", "turns the gate off");
    let other =
        r#""PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "/x/rewrite"}]}, "#;
    fs::write(&settings, wired.replacen("\"PreToolUse\": [", other, 1)).unwrap();
    finds(&world, "others", "warn", "`/x/rewrite` on `Bash`");
    fs::remove_file(&settings).unwrap();
    finds(&world, "agent", "warn", "not connected");

    let _run = world.sealward(["pause"]).run().expect(0);
    finds(&world, "paused", "warn", "nothing is released");

    write_private(&world.home().join("grants/x.toml"), "grant = 1");
    finds(&world, "grants", "bad", "x.toml");
    fs::rename(world.home().join("replay"), world.home().join("away")).unwrap();
    finds(&world, "store", "bad", "store");
    let token = fs::read_to_string(world.home().join("token")).unwrap();
    write_private(&world.home().join("token"), &format!("{}x", token.trim()));
    finds(&world, "token", "bad", "401");
    fs::remove_file(world.home().join("approvers.json")).unwrap();
    finds(&world, "pins", "bad", "does not name");

    let port = world.address().port();
    world.stop();
    finds(&world, "hub", "bad", "cannot be reached");
    finds(&world, "listeners", "bad", "nobody listens");
    let stranger = TcpListener::bind(("::1", port)).expect("the port, now free");
    finds(&world, "listeners", "warn", "nobody holds 127.0.0.1");
    drop(stranger);
    fs::remove_file(world.home().join("executor.toml")).unwrap();
    finds(&world, "home", "bad", "executor.toml");
}

#[test]
fn a_home_with_nothing_in_it_says_where_to_begin() {
    let home = testkit::Temp::new();
    let run = Program::new(crate::SEALWARD)
        .args(["doctor", "--settings", "/nonexistent", "--home"])
        .arg(home.path())
        .run();
    assert_eq!(run.code, Some(1));
    assert!(run.out().contains("Run `sealward up` once"), "{}", run.out());
}
