//! The test kit's own moving parts: a terminal is a terminal, a proxy lies as told, a program is ended with its owner.
#![cfg(test)]

use serde_json::json;
use std::time::Duration;
use testkit::{Deed, Http, Program, Proxy, Temp, Terminal, until};

#[test]
fn a_program_on_a_terminal_can_ask_its_controlling_terminal() {
    let script =
        "test -t 0 && test -t 1 && printf 'the last six? ' && read six </dev/tty && echo \"got <$six>\"";
    let mut terminal = Terminal::start("sh", ["-c", script]);
    let _screen = terminal.shows("the last six?");
    terminal.types("ABC234");
    assert!(terminal.shows("got <").contains("got <ABC234>"));
}

#[test]
fn a_terminal_ends_the_program_when_dropped() {
    let terminal = Terminal::start("sleep", ["1000"]);
    let folder = format!("/proc/{}", terminal.pid());
    assert!(std::path::Path::new(&folder).exists());
    drop(terminal);
    assert!(!std::path::Path::new(&folder).exists());
}

#[test]
fn a_proxy_passes_on_what_it_is_not_told_to_change() {
    let honest = Proxy::new("127.0.0.1:1".parse().unwrap(), |asked| {
        let body = String::from_utf8(asked.body.clone()).unwrap();
        Deed::Say(201, json!({ "saw": asked.path, "method": asked.method, "body": body }))
    });
    let liar = Proxy::new(honest.address(), |asked| match asked.path.as_str() {
        "/lie" => Deed::Say(200, json!("lie")),
        "/gone" => Deed::Close,
        "/odd" => Deed::Raw(b"SSH-2.0\r\n".to_vec()),
        _ => Deed::Pass,
    });
    let http = Http::new(liar.address());
    let passed = http.post("/truth?a=b", &json!({ "c": 1 })).expect(201).json();
    assert_eq!(passed, json!({ "saw": "/truth?a=b", "method": "POST", "body": "{\"c\":1}" }));
    assert_eq!(http.get("/lie").expect(200).json(), json!("lie"));
    assert!(http.attempt("GET", "/gone", None).is_err());
    assert!(http.attempt("GET", "/odd", None).is_err());
}

#[test]
fn a_program_gets_its_input_and_gives_its_output_and_code() {
    let run = Program::new("sh").args(["-c", "cat; echo err >&2; exit 3"]).stdin("in").run();
    assert_eq!((run.out().as_str(), run.err().as_str(), run.code), ("in", "err\n", Some(3)));
}

#[test]
fn a_program_in_the_background_is_gone_with_its_owner() {
    let running = Program::new("sleep").arg("1000").start();
    let folder = format!("/proc/{}", running.pid());
    drop(running);
    until("the program is gone", || !std::path::Path::new(&folder).exists());
}

#[test]
fn a_program_that_does_not_end_is_told_of() {
    let slow = || Program::new("sleep").arg("1000").patience(Duration::from_millis(50)).run();
    assert!(std::panic::catch_unwind(slow).is_err());
}

#[test]
fn a_temporary_folder_is_private_and_goes_away() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = Temp::new();
    let path = temp.path().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    drop(temp);
    assert!(!path.exists());
}
