//! Tests of grants: what the shipped ones allow, what files say, and how they fail.

use proto::{AskItem, Item, Timestamp};

use super::{Assurance, Effect, Grants};
use crate::real_paths::RealPaths;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn ask(tool: &str, input: &str) -> Item {
    Item::Ask(AskItem {
        id: "ask-1".to_owned(),
        executor: "hook@laptop".to_owned(),
        agent: "claude".to_owned(),
        session: "s1".to_owned(),
        tool: tool.to_owned(),
        input: input.to_owned(),
        cwd: "/repo".to_owned(),
    })
}

fn bash(command: &str) -> Item {
    ask("Bash", &serde_json::json!({ "command": command }).to_string())
}

fn effect(grants: &Grants, item: &Item) -> Option<Effect> {
    let real = RealPaths::resolve(item, |path| Some(path.to_owned()));
    grants.find(item, &real, NOW).map(|finding| finding.effect)
}

fn load(text: &str) -> Grants {
    Grants::none().with_files(&[("test.toml", text)]).unwrap()
}

#[track_caller]
fn refused(text: &str, line: usize, key: &str, about: &str) {
    let bad = Grants::none().with_files(&[("test.toml", text)]).unwrap_err();
    assert_eq!((bad.line, bad.key.as_str()), (line, key), "{bad}");
    assert!(bad.problem.contains(about), "{bad}");
    assert!(bad.to_string().starts_with("`test.toml`, line "), "{bad}");
}

#[test]
fn the_shipped_grants_allow_reading_below_the_working_directory() {
    let grants = Grants::shipped_for_hook();
    for (tool, input) in [
        ("Read", r#"{"file_path":"/repo/src/main.rs"}"#),
        ("Read", r#"{"file_path":"src/../a.rs","offset":10}"#),
        ("Glob", r#"{"pattern":"**/*.rs"}"#),
        ("Glob", r#"{"pattern":"*.rs","path":"/repo/src"}"#),
        ("Glob", r#"{"pattern":"*.rs","path":"src"}"#),
        ("Grep", r#"{"pattern":"../../etc","path":"/repo"}"#),
        ("Grep", r#"{"pattern":"x","glob":"*.{rs,toml}"}"#),
        ("LS", r#"{"path":"/repo"}"#),
        ("LS", "{}"),
        ("NotebookRead", r#"{"notebook_path":"/repo/a.ipynb"}"#),
    ] {
        assert_eq!(effect(&grants, &ask(tool, input)), Some(Effect::Allow), "{tool} {input}");
    }
}

#[test]
fn the_shipped_grants_name_nothing_else() {
    let grants = Grants::shipped_for_hook();
    for (tool, input) in [
        ("Read", r#"{"file_path":"/etc/hostname"}"#),
        ("Read", r#"{"file_path":"/repository/a"}"#),
        ("Read", r#"{"file_path":"/repo/../etc/hostname"}"#),
        ("Read", r#"{"file_path":"~/a"}"#),
        ("Read", r#"{"file_path":"/repo/a","file_path":"/etc/hostname"}"#),
        ("Read", "not json"),
        ("Read", r#"{"file_path":"/repo/a"} {}"#),
        ("Glob", r#"{"pattern":"../*"}"#),
        ("Glob", r#"{"pattern":"{a,../b}/*"}"#),
        ("Glob", r#"{"pattern":"/etc/*"}"#),
        ("Glob", r#"{"pattern":"*","path":"/etc"}"#),
        ("Grep", r#"{"pattern":"x","path":".."}"#),
        ("Grep", r#"{"pattern":"x","path":"/repo","path":"/etc"}"#),
        ("Write", r#"{"file_path":"/repo/a","content":""}"#),
        ("Bash", r#"{"command":"ls"}"#),
        ("read", r#"{"file_path":"/repo/a"}"#),
        ("Rеad", r#"{"file_path":"/repo/a"}"#),
        ("WebFetch", r#"{"url":"http://x","prompt":""}"#),
        ("mcp__x__Read", r#"{"file_path":"/repo/a"}"#),
    ] {
        assert_eq!(effect(&grants, &ask(tool, input)), None, "{tool} {input}");
    }
}

#[test]
fn a_path_is_allowed_only_where_its_real_path_is_too() {
    let grants = Grants::shipped_for_hook();
    let item = ask("Read", r#"{"file_path":"/repo/link"}"#);
    let find = |real: &RealPaths| grants.find(&item, real, NOW).map(|finding| finding.effect);
    assert_eq!(find(&RealPaths::resolve(&item, |_| Some("/repo/target".to_owned()))), Some(Effect::Allow));
    assert_eq!(find(&RealPaths::resolve(&item, |_| Some("/etc/hostname".to_owned()))), None);
    assert_eq!(find(&RealPaths::resolve(&item, |_| None)), None);
    assert_eq!(find(&RealPaths::unknown()), None);
}

#[test]
fn a_deny_by_path_sees_links_and_paths_inside_commands() {
    let grants = load("[[grant]]\nname='no'\ntool='*'\neffect='deny'\npath='/secret/**'\n");
    for item in [
        ask("Read", r#"{"file_path":"/secret/a"}"#),
        ask("Unknown", r#"{"x":"/repo/../secret/a"}"#),
        bash("cat /secret/a"),
        bash("cat</secret/a"),
        ask("Read", "{broken"),
    ] {
        assert_eq!(effect(&grants, &item), Some(Effect::Deny), "{item:?}");
    }
    let link = ask("Read", r#"{"file_path":"/repo/link"}"#);
    let real = RealPaths::resolve(&link, |_| Some("/secret/a".to_owned()));
    assert_eq!(grants.find(&link, &real, NOW).map(|finding| finding.effect), Some(Effect::Deny));
    assert_eq!(effect(&grants, &bash("cat /repo/a")), None);
}

#[test]
fn an_allowed_command_is_allowed_word_for_word_and_part_by_part() {
    let grants = load(
        "[[grant]]\nname='git'\ntool='Bash'\neffect='allow'\ncommand=['git status', 'git log *', 'make -j *']\n",
    );
    for command in
        ["git status", "git  'status'", "git log", "git log main dev", "git status && git log", "make -j 4"]
    {
        assert_eq!(effect(&grants, &bash(command)), Some(Effect::Allow), "{command}");
    }
    for command in [
        "git status -s",
        "git status && rm x",
        "git log --output=M",
        "git log -p",
        "git log $(x)",
        "git log > f",
        "git log | sh",
        "git log x=y",
        "/tmp/git status",
        "git",
        "env git status",
        "git status # x",
    ] {
        assert_eq!(effect(&grants, &bash(command)), None, "{command}");
    }
    let two = ask("Bash", r#"{"command":"git status","command":"rm x"}"#);
    assert_eq!(effect(&grants, &two), None);
}

#[test]
fn a_denied_command_stays_denied_in_every_disguise() {
    let grants = load("[[grant]]\nname='no-push'\ntool='Bash'\neffect='deny'\ncommand='git push *'\n");
    for command in [
        "git push",
        "git -C /p push",
        "GIT_DIR=x git push",
        "true & git push",
        "(git push)",
        "echo $(git push)",
        "/usr/bin/git push",
        "g\"\"it push",
        "git \\\npush",
        "git -c 'a;b' push",
        "bash -c 'git push'",
        "find . -exec git push origin +",
        "GIT PUSH",
    ] {
        assert_eq!(effect(&grants, &bash(command)), Some(Effect::Deny), "{command}");
    }
    for count in [1, 49, 50, 51, 1000] {
        let command = "true && ".repeat(count) + "git push";
        assert_eq!(effect(&grants, &bash(&command)), Some(Effect::Deny), "{count}");
    }
    assert_eq!(effect(&grants, &ask("bash", r#"{"command":"git push"}"#)), Some(Effect::Deny));
    assert_eq!(effect(&grants, &ask("Bash", "{\"command\":\"git push")), Some(Effect::Deny));
}

#[test]
fn a_deny_leaves_texts_alone_that_only_quote_it() {
    let grants = load("[[grant]]\nname='no-rm'\ntool='Bash'\neffect='deny'\ncommand='rm -rf /'\n");
    for command in ["grep -e 'rm -rf /' f", "echo 'rm -rf /'", "ls 2>/dev/null", "find . -name 'rm -rf /'"] {
        assert_eq!(
            effect(&grants, &bash(command)).filter(|_| !command.starts_with("find")),
            None,
            "{command}"
        );
    }
}

#[test]
fn the_strictest_grant_wins_whatever_their_order() {
    let one = |effect: &str| format!("[[grant]]\nname='{effect}'\ntool='Bash'\neffect='{effect}'\n");
    for order in [["allow", "review", "ask", "deny"], ["deny", "ask", "review", "allow"]] {
        for count in 1..=4 {
            let chosen: Vec<String> = order.iter().take(count).map(|effect| one(effect)).collect();
            let strictest =
                ["deny", "ask", "review", "allow"].into_iter().find(|name| order[..count].contains(name));
            let found = effect(&load(&chosen.join("")), &bash("ls"));
            assert_eq!(found.map(|effect| effect.to_string()).as_deref(), strictest, "{chosen:?}");
        }
    }
}

#[test]
fn a_local_file_beats_the_shipped_grants_only_by_being_stricter() {
    let deny = "[[grant]]\nname='no'\ntool='Read'\neffect='deny'\npath='./private/**'\n";
    let grants = Grants::shipped_for_hook().with_files(&[("local.toml", deny)]).unwrap();
    assert_eq!(effect(&grants, &ask("Read", r#"{"file_path":"/repo/private/a"}"#)), Some(Effect::Deny));
    assert_eq!(effect(&grants, &ask("Read", r#"{"file_path":"/repo/a"}"#)), Some(Effect::Allow));
}

#[test]
fn sessions_and_expiry_narrow_a_grant() {
    let grants = load("[[grant]]\nname='a'\ntool='Bash'\neffect='allow'\nsessions=['s2']\n");
    assert_eq!(effect(&grants, &bash("ls")), None);
    let dated =
        |when: &str| load(&format!("[[grant]]\nname='a'\ntool='Bash'\neffect='allow'\nexpires={when}\n"));
    // 1_800_000_000 s is 2027-01-15T08:00:00Z.
    assert_eq!(effect(&dated("2027-01-15T08:00:00.001Z"), &bash("ls")), Some(Effect::Allow));
    assert_eq!(effect(&dated("2027-01-15T08:00:00Z"), &bash("ls")), None);
    assert_eq!(effect(&dated("2027-01-15T10:00:00.001+02:00"), &bash("ls")), Some(Effect::Allow));
    assert_eq!(effect(&dated("2028-02-29T00:00:00Z"), &bash("ls")), Some(Effect::Allow));
    assert_eq!(effect(&dated("2024-02-29T00:00:00Z"), &bash("ls")), None);
}

#[test]
fn the_highest_assurance_of_the_matching_grants_is_asked_for() {
    let grants = load(
        "[[grant]]\nname='a'\ntool='Bash'\neffect='ask'\nassurance='client'\n\
         [[grant]]\nname='b'\ntool='Bash'\neffect='ask'\nassurance={quorum=2}\ncommand='git push *'\n",
    );
    let assurance = |command: &str| {
        let item = bash(command);
        grants.find(&item, &RealPaths::unknown(), NOW).map(|finding| finding.assurance)
    };
    assert_eq!(assurance("ls"), Some(Assurance::Client));
    assert_eq!(assurance("git push"), Some(Assurance::Quorum(2)));
}

#[test]
fn an_example_that_fails_keeps_the_whole_set_out() {
    let good = "[[grant]]\nname='g'\ntool='Bash'\neffect='allow'\ncommand='git log *'\nmatch=['git log']\nnot_match=['git push']\n";
    assert!(Grants::none().with_files(&[("test.toml", good)]).is_ok());
    refused(
        &good.replace("match=['git log']", "match=['git log',\n'git status']"),
        7,
        "match",
        "does not match",
    );
    refused(&good.replace("['git push']", "['git log x']"), 7, "not_match", "matches this example");
    let whole = "[[grant]]\nname='r'\ntool='Read'\neffect='allow'\npath='./**'\nmatch=['/example/a', {input='{\"file_path\":\"/x/a\"}', cwd='/x'}]\nnot_match=['/etc/a']\n";
    assert!(Grants::none().with_files(&[("test.toml", whole)]).is_ok());
    let failing = [
        ("good.toml", good),
        ("bad.toml", "[[grant]]\nname='x'\ntool='*'\neffect='deny'\nnot_match=['Bash']\n"),
    ];
    assert_eq!(Grants::none().with_files(&failing).unwrap_err().file, "bad.toml");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line_and_key() {
    let grant = "[[grant]]\nname='a'\ntool='Bash'\neffect='allow'\n";
    refused("[[grant]]\nname='a'\ntool='Bash'\neffect='maybe'\n", 4, "effect", "unknown variant");
    refused(&format!("{grant}colour='red'\n"), 5, "colour", "unknown field");
    refused(&format!("{grant}command='git'\ncommand='x'\n"), 6, "command", "duplicate");
    refused(&format!("{grant}path='repo/**'\n"), 5, "path", "begin it with");
    refused(&format!("{grant}command='*'\n"), 5, "command", "program's name");
    refused(&format!("{grant}command=['ls', 'awk *']\n"), 5, "command", "`awk *`: this program runs");
    refused(&format!("{grant}expires=2027-01-31\n"), 5, "expires", "zone");
    refused(&format!("{grant}assurance={{quorum=0}}\n"), 5, "assurance", "quorum");
    refused(&format!("{grant}assurance={{quorum=17}}\n"), 5, "assurance", "quorum");
    refused(&format!("{grant}{grant}"), 6, "name", "unique");
    refused("[[grant]]\nname=''\ntool='x'\neffect='ask'\n", 2, "name", "1 to");
    refused("[[grant]]\nname='a'\ntool=[]\neffect='ask'\n", 2, "tool", "name a tool");
    refused("[[human_only]]\nname='a'\nsentence='b'\n", 2, "human_only", "`path` or a `command`");
    refused("nonsense", 1, "nonsense", "");
    refused(&" ".repeat(256 * 1024 + 1), 1, "file", "split it");
}
