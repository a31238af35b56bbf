//! Tests of the strict lexer: what it reads, and the bypasses that it must refuse or see through.

use super::parse;

#[track_caller]
fn reads(text: &str, expected: &[&[&str]]) {
    let parts = parse(text);
    let parts: Option<Vec<Vec<&str>>> = parts
        .as_ref()
        .map(|parts| parts.iter().map(|part| part.iter().map(String::as_str).collect()).collect());
    assert_eq!(parts, Some(expected.iter().map(|part| part.to_vec()).collect()), "{text:?}");
}

#[track_caller]
fn refuses(text: &str) {
    assert_eq!(parse(text), None, "{text:?}");
}

#[test]
fn plain_words_quotes_and_joined_parts_are_read() {
    reads("make deploy", &[&["make", "deploy"]]);
    reads("  make   'a b'  \"c d\" ", &[&["make", "a b", "c d"]]);
    reads("a && b || c ; d | e", &[&["a"], &["b"], &["c"], &["d"], &["e"]]);
    reads("a&&b", &[&["a"], &["b"]]);
    reads("to\"\"uch M", &[&["touch", "M"]]);
    reads("t'ou'ch M", &[&["touch", "M"]]);
    reads("echo ''", &[&["echo", ""]]);
    reads("make CC=gcc --jobs=2", &[&["make", "CC=gcc", "--jobs=2"]]);
    reads("echo 'a && touch M'", &[&["echo", "a && touch M"]]);
    reads("echo \"a; touch M\"", &[&["echo", "a; touch M"]]);
    reads("echo 'a $(touch M)'", &[&["echo", "a $(touch M)"]]);
    reads("find . -name '*;touch M'", &[&["find", ".", "-name", "*;touch M"]]);
    reads("ls x 2>/dev/null; true", &[&["ls", "x"], &["true"]]);
    reads("ls x > /dev/null 2>&1 | cat", &[&["ls", "x"], &["cat"]]);
}

#[rustfmt::skip]
const DOUBTFUL: &[&str] = &[
    "", " ", ";", "a;", "a &&", "&& a", "a ;; b", "a |& b", "a & b", "a &", "a\nb", "a\rb", "a\tb", "é",
    "a\u{200b}", "echo $x", "echo \"$x\"", "echo ${x}", "echo `x`", "echo \"`x`\"", "echo $(x)", "echo <(x)",
    "a > f", "a >> f", "a >| f", "a 2> f", "a >& f", "a <> f", "a < f", "a << E", "a <<< x", "a >/dev/nullx",
    "a >/dev/null& b", "(a)", "{ a; }", "! a", "a *", "a ?", "a [b]", "a {b,c}", "~/a", "a ~", "a b=~", "x=1 a",
    "x=1", "x+=1 a", "x=\"1\" a", "'a", "\"a", "a\\ b", "a # b", "env a", "sudo a", "time a", "eval a",
    "xargs a", "bash -c a", "/bin/sh a", "command a", "if a", "then a", "for x", "[[ a ]]", "trap a EXIT", "=a",
    "%1", "a^b", "'' a", "exec a",
];

#[test]
fn whatever_leaves_doubt_is_refused() {
    for text in DOUBTFUL {
        refuses(text);
    }
}

#[test]
fn parts_and_bytes_are_bounded_on_both_sides() {
    let parts = |count: usize| vec!["true"; count].join(" && ");
    assert_eq!(parse(&parts(50)).map(|parts| parts.len()), Some(50));
    refuses(&parts(51));
    let bytes = |count: usize| format!("echo {}", "a".repeat(count - 5));
    assert!(parse(&bytes(10_000)).is_some());
    refuses(&bytes(10_001));
}

#[test]
fn the_public_bypasses_are_refused_or_show_the_program_that_runs() {
    // An attack that is read at all runs nothing but the programs that its parts begin with, so a pattern has to name
    // one of them; those that run or write by operands stand in the table of `grants::command`.
    let cases = include_str!("../../tests/data/bypass_commands.json");
    let cases: Vec<serde_json::Value> = serde_json::from_str(cases).unwrap();
    let attacks = cases.iter().filter(|case| case["side_effect_ran"] == true);
    let read = attacks.filter_map(|case| {
        let parts = parse(case["command"].as_str().unwrap())?;
        Some((case["id"].as_str().unwrap(), parts.last().unwrap()[0].clone()))
    });
    let expected = [
        ("and", "touch"),
        ("semi", "touch"),
        ("quote_split", "touch"),
        ("single_split", "touch"),
        ("printf_v", "printf"),
        ("find_fprintf", "find"),
        ("find_fls", "find"),
        ("sed_e", "sed"),
        ("sed_w", "sed"),
        ("awk_redirect", "awk"),
        ("awk_getline", "awk"),
        ("tee", "tee"),
        ("xxd_r", "xxd"),
        ("git_c_pager", "git"),
        ("git_dir_cfg", "git"),
        ("python_c", "python3"),
        ("perl_e", "perl"),
        ("proc_root", "/proc/self/root/usr/bin/touch"),
        ("copy_rename", "./innocent"),
    ];
    assert_eq!(read.collect::<Vec<_>>(), expected.map(|(id, program)| (id, program.to_owned())));
}

/// Pieces of texts: words that are no program, and every mark that a shell gives a meaning.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "x", "yx", "zy", "x", "yx", "zy", " ", " ", " ", " ", "'", "\"", "'", "\"", "\\", ";", "&&", "||", "|", "&", "\n", "\t",
    "\r", "$", "$(", ")", "`", "(", "{", "}", "<", ">", ">>", "2>&1", ">/dev/null", " 2>/dev/null", "#", "*", "?", "[", "]", "~",
    "=", "!", "^", "%", "-", "--", ",", ":", "@", "+", ".", "/", "é", "x=", "if", "then", "1", "2",
];

/// What bash runs of `text`: the words of each program that it does not find. With an empty `PATH` it finds none.
fn bash_runs(text: &str) -> Vec<Vec<String>> {
    // Each call goes to a stream of its own, so that no redirection of the text hides it, in one write.
    let script = "command_not_found_handle() { local all=; for word in \"$@\"; do all+=\"$word\"$'\\x1f'; done; printf '%s\\x1e' \"$all\" >&9; }\n";
    let bash = std::process::Command::new("/bin/bash")
        .env_clear()
        .env("PATH", "/nonexistent")
        .args(["--norc", "--noprofile", "-c"])
        .arg(format!("exec 9>&1 >/dev/null 2>&1 </dev/null\n{script}{text}\nwait"))
        .output()
        .unwrap();
    let said = String::from_utf8(bash.stdout).unwrap();
    let calls = said.split('\u{1e}').filter(|call| !call.is_empty());
    calls.map(|call| call.split_terminator('\u{1f}').map(str::to_owned).collect()).collect()
}

#[test]
fn what_the_lexer_reads_is_what_bash_runs_word_for_word() {
    let mut state: u64 = 0x5ea1_3a2d_0001;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    let mut compared = 0;
    while compared < 300 {
        let text: String = (0..2 + next(12)).map(|_| PIECES[next(PIECES.len())]).collect();
        let Some(mut parts) = parse(&text) else { continue };
        // A path is tried as it stands, not looked up; `1` and `2` before a `>` are told apart by the lexer itself.
        if parts.iter().any(|part| part[0].contains('/') || [":", "-", "--"].contains(&part[0].as_str())) {
            continue;
        }
        compared += 1;
        let mut run = bash_runs(&text);
        if text.contains("||") {
            assert!(run.iter().all(|call| parts.contains(call)), "{text:?}: {parts:?}, bash {run:?}");
        } else {
            parts.sort();
            run.sort();
            assert_eq!(parts, run, "{text:?}");
        }
    }
}
