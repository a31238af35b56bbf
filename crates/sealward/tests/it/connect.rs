//! `sealward connect` and `disconnect` on real settings files and a real terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use testkit::{Program, Run, Temp, Terminal};

use crate::SEALWARD;

const OTHERS: &str = "{\n    \"model\" : \"opus\",\n    \"permissions\": {\"allow\": [\"Bash(ls *)\"],  \"n\": 1.50},\n    \"hooks\": {\"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"/x/done\"}]}]},\n    \"z\": \"\\u00e9\"\n}";

fn sealward(home: &Path, args: &[&str], settings: &Path) -> Run {
    Program::new(SEALWARD).args(args).arg("--settings").arg(settings).arg("--home").arg(home).run()
}

/// What our hook of an event says: its command and its time-out.
#[track_caller]
fn hook(settings: &Path, event: &str) -> Option<(String, u64)> {
    let text = fs::read_to_string(settings).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let group = settings["hooks"][event].as_array()?.last()?.clone();
    assert_eq!(group["matcher"], "*");
    let hook = &group["hooks"][0];
    assert_eq!(hook["type"], "command");
    Some((hook["command"].as_str()?.to_owned(), hook["timeout"].as_u64()?))
}

#[test]
fn connecting_shows_the_change_and_gates_every_call_with_one_number_for_both_waits() {
    let place = Temp::new();
    let settings = place.join("settings.json");
    fs::write(&settings, OTHERS).unwrap();
    let run = sealward(place.path(), &["connect", "claude", "--yes", "--wait", "900"], &settings).expect(0);
    assert!(run.out().contains("+         \"PreToolUse\": ["), "{}", run.out());
    assert!(
        run.out().contains("\n- ") || !run.out().contains("Bash(ls"),
        "other lines are left alone: {}",
        run.out()
    );
    let program = fs::canonicalize(SEALWARD).unwrap();
    let home = place.path().display();
    let line = format!("{} --home {home} hook claude --wait 900", program.display());
    assert_eq!(hook(&settings, "PreToolUse"), Some((line.clone(), 900)));
    assert_eq!(hook(&settings, "PostToolUse"), Some((line, 900)));
    assert_eq!(hook(&settings, "PermissionRequest"), None);
    let text = fs::read_to_string(&settings).unwrap();
    for kept in ["{\"allow\": [\"Bash(ls *)\"],  \"n\": 1.50}", "\"\\u00e9\"", "/x/done"] {
        assert!(text.contains(kept), "{text}");
    }
}

#[test]
fn the_line_in_the_settings_is_what_a_shell_can_run() {
    let place = Temp::new();
    let (home, settings) = (place.folder("it's a home"), place.join("settings.json"));
    let _run = sealward(&home, &["connect", "claude", "--yes"], &settings).expect(0);
    let (line, _) = hook(&settings, "PreToolUse").unwrap();
    let event = r#"{"session_id":"s","cwd":"/usr","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let run = Program::new("/bin/sh").args(["-c", &line]).stdin(event).run().expect(0);
    assert!(
        run.out().contains(r#""permissionDecision":"deny""#),
        "there is no hub in that home: {}",
        run.out()
    );
    assert!(run.err().contains("it's a home"), "{}", run.err());
}

#[test]
fn disconnecting_brings_the_very_text_back() {
    for before in [OTHERS, "{}", "{\"hooks\": {}}\n", "{ \"hooks\": {\"PreToolUse\": [ ]} }"] {
        let place = Temp::new();
        let settings = place.join("settings.json");
        fs::write(&settings, before).unwrap();
        fs::set_permissions(&settings, fs::Permissions::from_mode(0o640)).unwrap();
        let _run = sealward(place.path(), &["connect", "claude", "--yes", "--dialog"], &settings).expect(0);
        assert!(hook(&settings, "PermissionRequest").is_some());
        let _again =
            sealward(place.path(), &["connect", "claude", "--yes", "--wait", "60"], &settings).expect(0);
        assert!(hook(&settings, "PermissionRequest").is_none(), "the newer wish counts");
        let _run = sealward(place.path(), &["disconnect", "claude"], &settings).expect(0);
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "no copy is left behind");
    }
}

#[test]
fn a_file_that_connecting_made_goes_with_disconnecting() {
    let place = Temp::new();
    let settings = place.join("claude/settings.json");
    let _run = sealward(place.path(), &["connect", "claude", "--yes"], &settings).expect(0);
    assert!(hook(&settings, "PreToolUse").is_some());
    let _run = sealward(place.path(), &["disconnect", "claude"], &settings).expect(0);
    assert!(!settings.exists());
    let again = sealward(place.path(), &["disconnect", "claude"], &settings).expect(0);
    assert!(again.out().contains("not connected"), "{}", again.out());
}

#[test]
fn settings_changed_meanwhile_are_kept_when_disconnecting() {
    let place = Temp::new();
    let settings = place.join("settings.json");
    fs::write(&settings, OTHERS).unwrap();
    let _run = sealward(place.path(), &["connect", "claude", "--yes"], &settings).expect(0);
    let text = fs::read_to_string(&settings).unwrap().replace("\"opus\"", "\"haiku\"");
    fs::write(&settings, text).unwrap();
    let run = sealward(place.path(), &["disconnect", "claude"], &settings).expect(0);
    let after = fs::read_to_string(&settings).unwrap();
    assert!(after.contains("\"haiku\"") && !after.contains("sealward"), "{after}");
    assert!(run.err().contains("settings.json.before-sealward"), "{}", run.err());
}

#[test]
fn a_link_stays_a_link() {
    let place = Temp::new();
    let real = place.join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    std::os::unix::fs::symlink(&real, place.join("settings.json")).unwrap();
    let _run =
        sealward(place.path(), &["connect", "claude", "--yes"], &place.join("settings.json")).expect(0);
    assert!(fs::symlink_metadata(place.join("settings.json")).unwrap().is_symlink());
    assert!(hook(&real, "PreToolUse").is_some());
}

#[test]
fn settings_of_another_form_are_refused_and_stay() {
    let place = Temp::new();
    let settings = place.join("settings.json");
    for odd in
        ["[]", "{", "{\"hooks\":[]}", "{\"hooks\":{\"PreToolUse\":{}}}", "{\"a\":1,\"a\":2}", "// note\n{}"]
    {
        fs::write(&settings, odd).unwrap();
        let run = sealward(place.path(), &["connect", "claude", "--yes"], &settings).expect(3);
        assert!(run.err().contains("settings.json"), "{}", run.err());
        assert_eq!(fs::read_to_string(&settings).unwrap(), odd);
    }
}

#[test]
fn only_a_persons_yes_writes() {
    let place = Temp::new();
    let settings = place.join("settings.json");
    let piped = sealward(place.path(), &["connect", "claude"], &settings).expect(3);
    assert!(piped.err().contains("--yes") && !settings.exists(), "{}", piped.err());
    for (answer, written) in [("", false), ("n", false), ("maybe", false), ("y", true)] {
        let (home, file) = (place.path().display().to_string(), settings.display().to_string());
        let args = ["connect", "claude", "--settings", &file, "--home", &home];
        let mut terminal = Terminal::start(SEALWARD, args);
        let _screen = terminal.shows("[y/N]");
        terminal.types(answer);
        assert_eq!(terminal.ends().code(), Some(if written { 0 } else { 1 }), "{}", terminal.screen());
        assert_eq!(settings.exists(), written, "`{answer}`");
    }
}

#[test]
fn an_agent_that_nobody_knows_is_wrong_use() {
    let place = Temp::new();
    for command in ["connect", "disconnect", "hook"] {
        let run =
            Program::new(SEALWARD).args([command, "nobody"]).arg("--home").arg(place.path()).run().expect(2);
        assert!(run.err().contains("the agents are: claude"), "{}", run.err());
    }
}
