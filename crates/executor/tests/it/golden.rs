//! Every tool shape of every agent: the event as the agent writes it, the ask that reaches the hub, and both answers.
//!
//! `tests/golden/AGENT/TOOL/event.json` is the input, byte for byte; the other files are what came of it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::Golden;

use crate::seat::Seat;

/// The tools of one agent, by the names of their folders.
fn shapes(agent: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(agent).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// The ask with what differs from run to run and from machine to machine taken out.
fn ask_of(seat: &Seat) -> String {
    let asks = seat.asks();
    let [ask] = asks.as_slice() else { panic!("one ask, not {asks:?}") };
    let mut ask = ask.clone();
    assert!(ask["id"].as_str().unwrap().starts_with("ask-"));
    ask["id"] = Value::from("ask-…");
    ask["host"] = Value::from("…");
    serde_json::to_string_pretty(&ask).unwrap() + "\n"
}

#[test]
fn every_tool_shape_of_claude_goes_in_and_comes_out_as_written_down() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/claude");
    let golden = Golden::new(folder);
    let shapes = shapes(Path::new(folder));
    assert!(shapes.len() >= 13, "{shapes:?}");
    for shape in shapes {
        let event = fs::read_to_string(Path::new(folder).join(&shape).join("event.json")).unwrap();
        let event = event.trim_end();
        let seat = Seat::approving();
        let gate = seat.hook(event, 20).stdout.expect("an answer");
        golden.check(&format!("{shape}/ask.json"), &ask_of(&seat));
        golden.check(&format!("{shape}/allow.json"), &format!("{gate}\n"));
        let request = event.replace("PreToolUse", "PermissionRequest");
        let dialog = Seat::approving().hook(&request, 20).stdout.expect("an answer");
        golden.check(&format!("{shape}/dialog.json"), &format!("{dialog}\n"));
    }
}
