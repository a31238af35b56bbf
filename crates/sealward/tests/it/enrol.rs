//! Enrolment: the link, the question at the terminal, and what is pinned by which answer.

use testkit::{Alg, Terminal, fingerprint, until};

use crate::{SEALWARD, last_six, passkey, pinned, propose, world, wrong_six};

#[test]
fn the_right_six_characters_pin_for_the_hub_and_for_every_executor_of_the_machine() {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let answer = propose(&world, &link, &key).expect(202).json();
    let shown = fingerprint(&key.spki());
    assert_eq!(answer["fingerprint"], shown.as_str());
    let screen = world.terminal().shows("type the last 6");
    assert!(screen.contains(&shown), "{screen}");
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new(), "nothing before the answer");

    world.terminal().types(&last_six(&key).to_lowercase());
    let _screen = world.terminal().shows("Pinned `");
    assert_eq!(pinned(&world, "approvers.json"), [key.id()]);
    assert_eq!(pinned(&world, "hub/approvers.json"), [key.id()]);
    assert!(world.home().join("replay").is_dir());
    assert_eq!(std::fs::read_dir(world.home().join("hub/proposals")).unwrap().count(), 0);
    let _desk = world.desk(&key);
}

#[test]
fn wrong_characters_pin_nothing_and_three_of_them_drop_the_key() {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let _answer = propose(&world, &link, &key).expect(202);
    let _screen = world.terminal().shows("type the last 6");
    for _ in 0..3 {
        world.terminal().types(&wrong_six(&key));
    }
    let _screen = world.terminal().shows("nothing was pinned. `sealward enrol`");
    world.terminal().types(&last_six(&key));
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());
    assert_eq!(pinned(&world, "hub/approvers.json"), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(world.home().join("hub/proposals")).unwrap().count(), 0);
}

#[test]
fn a_wrong_answer_may_be_mended_and_no_drops_the_key() {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let _answer = propose(&world, &link, &key).expect(202);
    let _screen = world.terminal().shows("type the last 6");
    world.terminal().types("yes");
    let _screen = world.terminal().shows("nothing was pinned. Last 6");
    world.terminal().types("no");
    let _screen = world.terminal().shows("Dropped `");
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());
}

#[test]
fn a_code_works_once() {
    let mut world = world();
    let link = world.enrol_link();
    let _first = propose(&world, &link, &passkey(&world)).expect(202);
    let _second = propose(&world, &link, &world.passkey(Alg::EdDsa)).expect(410);
}

#[test]
fn a_code_is_spent_after_five_wrong_tries() {
    let mut world = world();
    let link = world.enrol_link();
    let key = passkey(&world);
    let wrong = format!("x#enrol={}", testkit::b64(&[7; 16]));
    for _ in 0..5 {
        let refused = propose(&world, &wrong, &key);
        assert!(refused.status >= 400, "{}", refused.status);
    }
    let _spent = propose(&world, &link, &key).expect(410);
}

#[test]
fn a_lapsed_code_is_refused() {
    let mut world = world();
    let link = world.enrol_link();
    let path = world.home().join("hub/enrol.json");
    let mut kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    kept["expires"] = serde_json::json!(testkit::now_ms() - 1);
    testkit::write_private(&path, &kept.to_string());
    let _lapsed = propose(&world, &link, &passkey(&world)).expect(410);
}

#[test]
fn a_further_device_is_enrolled_and_pinned_at_the_terminal_of_enrol() {
    let mut world = world();
    let old = world.enrol_link();
    let home = world.home().to_str().unwrap().to_owned();
    let mut enrol = Terminal::start(SEALWARD, ["enrol", "--home", &home]);
    let screen = enrol.shows("#enrol=");
    let link = screen.split_whitespace().find(|word| word.contains("#enrol=")).unwrap().to_owned();
    let key = passkey(&world);
    let replaced = propose(&world, &old, &key);
    assert!(replaced.status >= 400, "the newer link replaces the older");

    let _answer = propose(&world, &link, &key).expect(202);
    let _screen = enrol.shows("type the last 6");
    let _screen = world.terminal().shows("type the last 6");
    enrol.types(&last_six(&key));
    let _screen = enrol.shows("Pinned `");
    assert_eq!(pinned(&world, "approvers.json"), [key.id()]);
    let _screen = world.terminal().shows("answered at another terminal");
}

#[test]
fn pin_first_pins_the_first_key_unasked_and_asks_about_the_second() {
    let mut world = world();
    world.stop();
    let home = world.home().to_str().unwrap().to_owned();
    let up = Terminal::start(SEALWARD, ["up", "--pin-first", "--home", &home]);
    let screen = up.shows("#enrol=");
    let link = screen.split_whitespace().find(|word| word.contains("#enrol=")).unwrap().to_owned();
    let first = passkey(&world);
    let _answer = propose(&world, &link, &first).expect(202);
    let _screen = up.shows("Pinned `");
    let enrol = Terminal::start(SEALWARD, ["enrol", "--home", &home]);
    let screen = enrol.shows("#enrol=");
    let link = screen.split_whitespace().find(|word| word.contains("#enrol=")).unwrap().to_owned();
    let _answer = propose(&world, &link, &world.passkey(Alg::EdDsa)).expect(202);
    let _screen = up.shows("type the last 6");
    assert_eq!(pinned(&world, "approvers.json"), [first.id()]);
}

#[test]
fn a_key_made_on_another_page_is_dropped_unasked() {
    let mut world = world();
    let key = testkit::SoftPasskey::at(Alg::Es256, "http://localhost:1");
    let path = world.home().join("hub/proposals").join("stranger.json");
    testkit::write_private(&path, &key.pin_entry().to_string());
    let screen = world.terminal().shows("was dropped");
    assert!(screen.contains("another page"), "{screen}");
    until("the file is gone", || !path.exists());
}

#[test]
fn a_label_cannot_write_to_the_terminal() {
    let mut world = world();
    let mut entry = passkey(&world).pin_entry();
    entry["label"] = serde_json::json!("phone \u{202e}gnp\u{2066}");
    let path = world.home().join("hub/proposals").join("bidi.json");
    testkit::write_private(&path, &entry.to_string());
    let screen = world.terminal().shows("fingerprint");
    assert!(screen.contains("\\u{202e}") && !screen.contains('\u{202e}'), "{screen}");
}
