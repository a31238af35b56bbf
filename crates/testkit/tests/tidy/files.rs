//! Rules about single files: headers, sizes, words.

use crate::tree::{files, files_ending, read};

/// Lines a file aims at, and never passes.
const LINES_AIMED: usize = 500;
const LINES_HARD: usize = 800;

/// Files over the aim, each with the reason why it is one thing. A file that fell under it again must leave this list.
const LONG: &[(&str, &str)] =
    &[("web/inbox.js", "the list, what is selected in it and the bar under it are one state")];

#[test]
fn every_rust_file_says_first_what_it_is_for() {
    let silent: Vec<String> = files_ending(".rs")
        .into_iter()
        .filter(|file| {
            !file.text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > 20)
        })
        .map(|file| file.path)
        .collect();
    assert!(silent.is_empty(), "the first line must be `//! ` and what the file is for: {silent:#?}");
}

#[test]
fn no_file_outgrows_its_budget() {
    let code =
        |path: &str| [".rs", ".js", ".mjs", ".css", ".py", ".ts"].iter().any(|suffix| path.ends_with(suffix));
    let mut faults = Vec::new();
    for file in files().into_iter().filter(|file| code(&file.path)) {
        let lines = file.lines();
        let excused = LONG.iter().any(|(path, _)| *path == file.path);
        if lines > LINES_HARD {
            faults.push(format!("{}: {lines} lines, and {LINES_HARD} is the end", file.path));
        } else if lines > LINES_AIMED && !excused {
            faults.push(format!("{}: {lines} lines; split it or give its reason in LONG", file.path));
        } else if lines <= LINES_AIMED && excused {
            faults.push(format!("{}: {lines} lines; it needs no excuse any more", file.path));
        }
    }
    let gone =
        LONG.iter().filter(|(path, reason)| reason.is_empty() || !crate::tree::root().join(path).exists());
    faults.extend(gone.map(|(path, _)| format!("{path}: not there, or without a reason")));
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn integration_tests_count_as_tests_and_are_one_program_a_crate() {
    let mut faults = Vec::new();
    let mut programs: Vec<String> = Vec::new();
    for file in files_ending(".rs") {
        let parts: Vec<&str> = file.path.split('/').collect();
        let is_program = match parts.as_slice() {
            ["crates", _, "tests", _] => true,
            ["crates", _, "tests", _, name] => *name == "main.rs",
            _ => false,
        };
        if is_program {
            programs.push(parts[1].to_owned());
            if !file.text.lines().any(|line| line == "#![cfg(test)]") {
                faults.push(format!("{}: put `#![cfg(test)]` under the header", file.path));
            }
        }
    }
    // The test kit has its own tests beside these rules; the scenes of `sealward` need a browser and can be left out.
    for (name, second) in [("testkit", "tidy"), ("sealward", "scenes")] {
        let path = format!("crates/{name}/tests/{second}/main.rs");
        assert!(crate::tree::root().join(&path).exists(), "{path} is gone, and with it the reason for two");
        if let Some(at) = programs.iter().position(|program| program == name) {
            drop(programs.remove(at));
        }
    }
    let count = programs.len();
    programs.sort();
    programs.dedup();
    assert_eq!(count, programs.len(), "two test programs in one crate cost two link steps: {programs:?}");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Words that no tracked file holds, each with why. Written in pieces so that this file is held to them too.
fn forbidden() -> Vec<(String, &'static str)> {
    let word = |pieces: &[&str]| pieces.concat();
    vec![
        (word(&["TO", "DO"]), "finish it, or say in the closing note that it is not done"),
        (word(&["FIX", "ME"]), "mend it"),
        (word(&["#[ign", "ore"]), "a test that does not run proves nothing"),
        (word(&["should_", "panic"]), "return the error and compare it"),
        (word(&["/wo", "rk/"]), "a path of one machine"),
        (word(&["/ro", "ot/"]), "a path of one machine"),
        (word(&["/tm", "p/w/"]), "a path of one machine"),
        (word(&["crates", ".io"]), "name the registry's role, not its host"),
        (word(&["npm", "js."]), "name the registry's role, not its host"),
        (word(&["py", "pi."]), "name the registry's role, not its host"),
        (word(&["files.python", "hosted"]), "name the registry's role, not its host"),
    ]
}

#[test]
fn no_file_holds_a_word_that_does_not_belong() {
    let words = forbidden();
    let mut faults = Vec::new();
    // Cargo writes the lock file and names the registry in it.
    for file in files().into_iter().filter(|file| file.path != "Cargo.lock") {
        for (number, line) in file.text.lines().enumerate() {
            for (word, why) in &words {
                let found = line.match_indices(word.as_str()).any(|(at, _)| {
                    // `/proc/self/root/…` is no path of a machine.
                    !line.get(..at).unwrap_or_default().ends_with(char::is_alphanumeric)
                });
                if found {
                    faults.push(format!("{}:{}: `{word}`: {why}", file.path, number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn clippy_holds_the_budgets_of_functions() {
    let clippy = read("clippy.toml");
    for line in ["too-many-lines-threshold = 70", "too-many-arguments-threshold = 6"] {
        assert!(clippy.lines().any(|written| written == line), "clippy.toml lost `{line}`");
    }
}

#[test]
fn every_test_is_named_by_the_sentence_it_proves() {
    let mut faults = Vec::new();
    for file in files_ending(".rs") {
        let mut marked = false;
        for line in file.text.lines().map(str::trim) {
            if line == "#[test]" || line.starts_with("#[tokio::test") {
                marked = true;
            } else if let Some(rest) = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn ")) {
                let name = rest.split('(').next().unwrap_or_default();
                if marked
                    && !name.starts_with('$')
                    && (name.starts_with("test") || name.split('_').count() < 3)
                {
                    faults
                        .push(format!("{}: `{name}` says nothing; write the sentence it proves", file.path));
                }
                marked = false;
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
