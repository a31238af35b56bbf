//! Hostile text: shown whole and harmless, or refused with a reason. Never cut, never obeyed.

use crate::browser::Browser;
use crate::claude;
use serde_json::{Value, json};
use testkit::{Alg, World};

fn scene(alg: Alg) -> (World, testkit::SoftPasskey, Browser) {
    let world = crate::world();
    let key = world.passkey(alg);
    world.pin(&[&key], 1);
    let mut browser = Browser::new();
    browser.bring(&world, "ada", &key);
    (world, key, browser)
}

/// texts that try to hide, to break out or to fool; with what must be visible in their place
const TEXTS: [(&str, &str, &[&str]); 9] = [
    (
        "bidi",
        "echo \u{202e}gnp.exe\u{202c} # \u{2066}safe\u{2069}",
        &["U+202E", "U+202C", "U+2066", "U+2069"],
    ),
    ("zero-width", "r\u{200b}m -r\u{200d}f b\u{feff}uild\u{2060}", &["U+200B", "U+200D", "U+FEFF", "U+2060"]),
    ("ansi", "printf '\u{1b}[2J\u{1b}[1;1Hall good'", &["U+001B"]),
    (
        "script",
        "echo '</script><script>document.title=\"owned\"</script><img src=x onerror=alert(1)>'",
        &["</script><script>"],
    ),
    ("nul", "echo a\u{0}b", &["U+0000"]),
    ("separators", "echo a\u{2028}b\u{2029}c\u{85}d", &["U+2028", "U+2029", "U+0085"]),
    ("tags", "echo x\u{e0041}\u{e0042}", &["U+E0041"]),
    ("carriage", "echo safe\rrm -rf build", &["U+000D"]),
    ("homoglyph", "git push оrigin", &["U+043E"]),
];

#[test]
fn hidden_and_hostile_characters_are_shown_and_nothing_they_say_is_obeyed() {
    let (world, key, mut browser) = scene(Alg::Es256);
    let desk = world.desk(&key);
    for (name, command, shown) in TEXTS {
        let (hook, row) = world.ask(&desk, &claude::bash(name, world.work(), command), 60);
        let id = row["id"].as_str().unwrap();
        browser.tell("wait_row", json!({ "name": "ada", "id": id }));
        browser.tell("read_all", json!({ "name": "ada", "id": id }));
        let text = browser.tell("wait_row", json!({ "name": "ada", "id": id }));
        for mark in shown {
            assert!(text.as_str().unwrap().contains(mark), "{name}: `{mark}` is not to be seen in {text}");
        }
        for hidden in command
            .chars()
            .filter(|c| matches!(c, '\u{202e}' | '\u{200b}' | '\u{1b}' | '\u{0}' | '\u{e0041}'))
        {
            assert!(!text.as_str().unwrap().contains(hidden), "{name}: {hidden:?} itself is in the page");
        }
        browser.approve("ada", id);
        claude::allowed(&hook.wait(), row["item"]["input"].as_str().unwrap());
    }
    // Half a character: sound JSON, but no text.
    let input = r#"{"command":"echo \ud800"}"#;
    let (hook, row) = world.ask(&desk, &claude::gate("half", world.work(), "Bash", input), 60);
    let id = row["id"].as_str().unwrap();
    let text = browser.tell("wait_row", json!({ "name": "ada", "id": id }));
    assert!(text.as_str().unwrap().to_uppercase().contains("D800"), "{text}");
    browser.approve("ada", id);
    // Our own reader of answers is one of those that take no half characters.
    assert!(hook.wait().out().contains(&format!(r#""updatedInput":{input}"#)));

    let title = browser.tell("evaluate", json!({ "name": "ada", "script": "document.title" }));
    assert_ne!(title, "owned");
    let injected = browser.tell(
        "count",
        json!({ "name": "ada", "selector": "img[onerror], iframe, object, script:not([src])" }),
    );
    assert_eq!(injected, 0);
    browser.kept_its_peace(&world, "ada");
}

#[test]
fn every_other_field_is_shown_as_harmlessly_as_the_command() {
    let (world, key, mut browser) = scene(Alg::EdDsa);
    let desk = world.desk(&key);
    let evil = "<b>x</b>\u{202e}\u{1b}[31m";
    let input = json!({ "command": "make", "description": evil }).to_string();
    let event = claude::gate(evil, world.work(), "mcp__<i>srv</i>__do\u{200b}it", &input);
    let (hook, row) = world.ask(&desk, &event, 60);
    let id = row["id"].as_str().unwrap();
    let text = browser.tell("wait_row", json!({ "name": "ada", "id": id }));
    let text = text.as_str().unwrap();
    assert!(text.contains("<i>srv</i>") && text.contains("U+200B"), "{text}");
    let script = "[...document.querySelectorAll('b, i')].filter((node) => ['x', 'srv'].includes(node.textContent)).length";
    let made = browser.tell("evaluate", json!({ "name": "ada", "script": script }));
    assert_eq!(made, 0, "no markup of the agent's became markup of the page");
    browser.tell("read_all", json!({ "name": "ada", "id": id }));
    browser.approve("ada", id);
    claude::allowed(&hook.wait(), &input);
    browser.kept_its_peace(&world, "ada");
}

/// The input of a `Write` of exactly `bytes` bytes, many lines long.
fn long_write(bytes: usize) -> String {
    let frame = r#"{"file_path":"/srv/big.txt","content":""}"#.len();
    let line = r"0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ äö\n";
    let mut text = line.repeat((bytes - frame) / line.len());
    text += &"z".repeat(bytes - frame - text.len());
    format!(r#"{{"file_path":"/srv/big.txt","content":"{text}"}}"#)
}

#[test]
fn a_long_input_is_shown_whole_and_must_be_opened_and_one_over_the_limit_is_refused() {
    let (world, key, mut browser) = scene(Alg::Es256);
    let desk = world.desk(&key);
    let input = long_write(256 * 1024);
    let (hook, row) = world.ask(&desk, &claude::gate("s1", world.work(), "Write", &input), 60);
    assert_eq!(row["item"]["input"], input, "the hub keeps every byte");
    let id = row["id"].as_str().unwrap();
    browser.tell("wait_row", json!({ "name": "ada", "id": id }));
    let awake = browser.tell("enabled", json!({ "name": "ada", "hook": "approve", "id": id }));
    assert_eq!(awake, false, "nothing unseen is approved");
    browser.tell("read_all", json!({ "name": "ada", "id": id }));
    let whole = browser.tell("text", json!({ "name": "ada", "selector": format!("[data-id=\"{id}\"]") }));
    let lines = whole.as_str().unwrap().matches("0123456789 abcdefghijklmnopqrstuvwxyz").count();
    assert_eq!(lines, input.matches("0123456789").count(), "every line is in the page");
    browser.approve("ada", id);
    claude::allowed(&hook.wait(), &input);

    let limit = 512 * 1024;
    let over = world.hook(&claude::gate("s2", world.work(), "Write", &long_write(limit + 1)), 5).run();
    claude::failed_closed(&over, "large");
    assert!(desk.rows().iter().all(|row| row["id"] == id), "it did not come to the hub");
}

#[test]
fn input_that_two_readers_could_read_differently_is_refused_by_hook_and_hub() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let odd = [
        r#"{"command":"true","command":"rm -rf build"}"#,
        r#"{"command":"true","a":{"b":1,"b":2}}"#,
        r#"{"command":"true","\u0063ommand":"rm"}"#,
        r#"{"command":01}"#,
        r#"{"command":"true"} {}"#,
        "[",
    ];
    for input in odd {
        let gate = world.hook(&claude::gate("s1", world.work(), "Bash", input), 3).run();
        claude::refused_unread(&gate);
    }
    let mut bytes = claude::bash("s1", world.work(), "echo X").into_bytes();
    let at = bytes.windows(6).position(|six| six == b"echo X").unwrap();
    bytes[at + 5] = 0xff;
    let text = world.sealward(["hook", "claude", "--wait", "3"]).stdin(&bytes).run();
    claude::refused_unread(&text);
    assert_eq!(desk.ids(), Vec::<String>::new(), "none of it came to the hub");

    let token = world.token("direct", "hook", &["hook@direct"]);
    let machine = world.http().bearer(&token);
    let ask = |input: Value| {
        json!({ "kind": "ask", "quorum": 1, "id": testkit::new_id("ask"), "executor": "hook@direct", "session": "s",
                "tool": "Bash", "input": input, "cwd": "/srv" })
    };
    for input in odd {
        let answer = machine.post("/api/asks", &ask(json!(input)));
        assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("unprocessable")), "{input}");
    }
    let mut body = ask(json!(r#"{"command":"X"}"#)).to_string().into_bytes();
    let at = body.iter().position(|byte| *byte == b'X').unwrap();
    body[at] = 0xff;
    let answer = machine.send("POST", "/api/asks", Some(&body));
    assert!(matches!(answer.status, 400 | 422), "not UTF-8: {} {}", answer.status, answer.text());
    let big = format!(r#"{{"command":"{}"}}"#, "z".repeat(512 * 1024));
    let answer = machine.post("/api/asks", &ask(json!(big)));
    assert!(matches!(answer.status, 413 | 422), "too large: {} {}", answer.status, answer.text());
    assert!(!answer.json()["detail"].as_str().unwrap().is_empty(), "with a reason");
    assert_eq!(desk.ids(), Vec::<String>::new());
}
