//! Help, wrong use and exit codes.

use testkit::{Program, Run, Temp};

use crate::SEALWARD;

/// Runs the program on an empty home.
fn run(args: &[&str]) -> Run {
    let home = Temp::new();
    Program::new(SEALWARD).arg("--home").arg(home.path()).args(args).run()
}

/// The commands a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn help_of_every_command_shows_an_example_on_stdout_and_exits_0() {
    let mut waiting = vec![Vec::<String>::new()];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = run(&words).expect(0);
        assert!(help.out().contains("Example:\n  sealward"), "{path:?}: {}", help.out());
        assert_eq!(help.err(), "");
        seen += 1;
        waiting.extend(listed(&help.out()).into_iter().map(|name| [path.clone(), vec![name]].concat()));
    }
    assert!(seen >= 15, "only {seen} commands were found");
}

#[test]
fn wrong_use_exits_2_with_the_reason_on_stderr_and_nothing_on_stdout() {
    for args in [
        &["up", "--no-such-flag"][..],
        &["frobnicate"],
        &[],
        &["agents"],
        &["agents", "add"],
        &["agents", "add", "a b"],
        &["agents", "add", "x", "--role", "king"],
        &["agents", "add", "x", "--role", "hook"],
        &["agents", "add", "x", "--executor", "laptop"],
        &["up", "--port", "70000"],
        &["up", "--name", "example.org"],
        &["approvers", "revoke"],
        &["hub", "--config", "/nonexistent/hub.toml"],
        &["hub", "--log", "a=b=c"],
    ] {
        let run = run(args).expect(2);
        assert_eq!(run.out(), "", "{args:?}");
        assert!(!run.err().is_empty(), "{args:?}");
    }
}

#[test]
fn a_home_that_was_never_laid_out_is_an_inability_with_a_remedy() {
    for args in [&["agents", "list"][..], &["agents", "add", "x"], &["approvers", "revoke", "x"], &["enrol"]]
    {
        let run = run(args).expect(3);
        assert_eq!(run.out(), "", "{args:?}");
        assert!(run.err().contains("sealward up"), "{args:?}: {}", run.err());
    }
}

#[test]
fn health_exits_1_where_no_hub_answers() {
    let run = run(&["health", "--listen", "127.0.0.1:1"]).expect(1);
    assert!(run.err().contains("no hub answers"), "{}", run.err());
}

#[test]
fn a_closed_standard_output_is_not_taken_for_success() {
    let home = Temp::new();
    let script = "exec \"$0\" --home \"$1\" --version > /dev/full";
    let run = Program::new("/bin/sh").args(["-c", script, SEALWARD]).arg(home.path()).run();
    assert_eq!(run.code, Some(3), "{}", run.err());
}
