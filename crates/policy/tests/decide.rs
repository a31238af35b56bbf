//! The pipeline's table: every combination of what the stages may say, as a file that a person can read.
//! What makes an item human-only and what a grant matches have their own tests beside their code.

#![cfg(test)]

use std::sync::LazyLock;

use policy::{
    Authority, Decision, Evidence, Grants, Person, RealPaths, Reviewer, Verdict, WithoutGrant, decide,
};
use proto::{CommandItem, Item, Timestamp};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

const GRANTS: &[(&str, &str)] = &[
    ("none", ""),
    ("allow", "effect = 'allow'"),
    ("review", "effect = 'review'"),
    ("review/client", "effect = 'review'\nassurance = 'client'"),
    ("ask", "effect = 'ask'"),
    ("ask/client", "effect = 'ask'\nassurance = 'client'"),
    ("ask/2", "effect = 'ask'\nassurance = { quorum = 2 }"),
    ("deny", "effect = 'deny'"),
];
const REVIEWERS: &[(&str, Reviewer<'static>)] = &[
    ("-", Reviewer::Silent),
    ("away", Reviewer::Unavailable),
    ("yes", Reviewer::Allows),
    ("no", Reviewer::Denies("it is odd")),
    ("vouch", Reviewer::Vouches),
];
const PERSONS: &[(&str, Person<'static>)] = &[
    ("-", Person::Silent),
    ("click", Person::Clicked),
    ("1", Person::Approved { persons: 1 }),
    ("2", Person::Approved { persons: 2 }),
    ("no", Person::Denied("not now")),
];

/// One row of the table: names of what goes in, and the decision.
struct Row {
    list: &'static str,
    executor: &'static str,
    grant: &'static str,
    rule: &'static str,
    reviewer: &'static str,
    person: &'static str,
    decision: Decision,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    for (list, command) in [("-", "make deploy"), ("held", "rm -rf build")] {
        for (grant, text) in GRANTS {
            for (executor, without_grant) in [("hook", WithoutGrant::Ask), ("broker", WithoutGrant::Deny)] {
                for (rule, id) in [("-", None), ("yes", Some("rule-1"))] {
                    for (reviewer, said) in REVIEWERS {
                        for (person, answered) in PERSONS {
                            let decision = decided(command, text, without_grant, id, *said, *answered);
                            rows.push(Row { list, executor, grant, rule, reviewer, person, decision });
                        }
                    }
                }
            }
        }
    }
    rows
});

fn decided(
    command: &str,
    grant: &str,
    without_grant: WithoutGrant,
    rule: Option<&str>,
    reviewer: Reviewer<'_>,
    person: Person<'_>,
) -> Decision {
    let item = Item::Command(CommandItem {
        id: "cmd-1".to_owned(),
        executor: "runner@build-1".to_owned(),
        task: "operator/x".to_owned(),
        command: command.to_owned(),
        directory: "/srv".to_owned(),
    });
    let file = if grant.is_empty() {
        String::new()
    } else {
        format!("[[grant]]\nname = 'g'\ntool = '*'\n{grant}\n")
    };
    let grants = Grants::none().with_files(&[("table.toml", &file)]).unwrap();
    let paths = RealPaths::unknown();
    let evidence = Evidence {
        item: &item,
        grants: &grants,
        paths: &paths,
        now: NOW,
        without_grant,
        rule,
        reviewer,
        person,
    };
    decide(&evidence)
}

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow(authority) => format!("allow by {authority:?}").to_lowercase(),
        Verdict::Deny(reason) => reason.to_string(),
        Verdict::Escalate(assurance) => format!("person ({assurance:?})").to_lowercase(),
    }
}

#[test]
fn every_combination_is_decided_as_the_table_says() {
    let mut table = format!(
        "{:5} {:7} {:14} {:5} {:9} {:7} {:8} {}\n",
        "list", "where", "grant", "rule", "reviewer", "person", "granted", "verdict"
    );
    for row in ROWS.iter() {
        let granted = if row.decision.granted.is_some() { "granted" } else { "-" };
        let Row { list, executor, grant, rule, reviewer, person, decision } = row;
        let verdict = word(&decision.verdict);
        table += &format!(
            "{list:5} {executor:7} {grant:14} {rule:5} {reviewer:9} {person:7} {granted:8} {verdict}\n"
        );
    }
    testkit::Golden::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).check("decide.txt", &table);
}

#[test]
fn nothing_below_a_person_allows_what_the_list_names() {
    for row in ROWS.iter().filter(|row| row.list == "held") {
        assert!(row.decision.granted.is_none(), "{} {}", row.grant, row.person);
        match &row.decision.verdict {
            Verdict::Allow(authority) => {
                assert_eq!(*authority, Authority::Person);
                assert!(["1", "2"].contains(&row.person), "{}", row.person);
            }
            Verdict::Deny(_) | Verdict::Escalate(_) => {}
        }
    }
}

#[test]
fn a_deny_grant_and_a_brokers_silence_beat_everything() {
    for row in ROWS.iter() {
        let denies = row.grant == "deny" || (row.grant == "none" && row.executor == "broker");
        let denied = matches!(row.decision.verdict, Verdict::Deny(_));
        assert!(denied || !denies, "{} {}", row.grant, row.person);
    }
}

#[test]
fn silence_everywhere_never_allows() {
    for row in ROWS.iter() {
        let silent = row.rule == "-" && row.reviewer == "-" && row.person == "-" && row.grant != "allow";
        assert!(!silent || !matches!(row.decision.verdict, Verdict::Allow(_)), "{}", row.grant);
    }
}

#[test]
fn a_reviewer_that_cannot_be_reached_is_never_a_denial() {
    let denies_anyway = |row: &Row| row.grant == "deny" || row.grant == "none" || row.person == "no";
    for row in ROWS.iter().filter(|row| row.reviewer == "away" && !denies_anyway(row)) {
        assert!(!matches!(row.decision.verdict, Verdict::Deny(_)), "{}", row.grant);
    }
}

#[test]
fn a_persons_yes_beats_a_reviewers_no() {
    for row in ROWS.iter().filter(|row| row.reviewer == "no" && row.person == "2" && row.executor == "hook") {
        assert!(row.grant == "deny" || matches!(row.decision.verdict, Verdict::Allow(_)), "{}", row.grant);
    }
}

#[test]
fn every_decision_lists_the_five_stages_in_order() {
    for row in ROWS.iter() {
        let names: Vec<String> = row.decision.stages.iter().map(|stage| stage.name.to_string()).collect();
        assert_eq!(names, ["human-only", "grants", "rules", "reviewer", "person"]);
    }
    let decision = decided("rm -rf x", "", WithoutGrant::Ask, None, Reviewer::Silent, Person::Silent);
    let lines: Vec<String> = decision.stages.iter().map(ToString::to_string).collect();
    assert_eq!(lines[0], "human-only: ask (recursive-delete: it may delete folders with all they hold)");
    assert_eq!(lines[1], "grants: ask (no grant names this call)");
}

#[test]
fn rules_and_delegations_cover_nothing_until_their_matcher_is_written() {
    let item = Item::Command(CommandItem {
        id: "cmd-1".to_owned(),
        executor: "runner@build-1".to_owned(),
        task: "operator/x".to_owned(),
        command: "make".to_owned(),
        directory: "/srv".to_owned(),
    });
    let rule = policy::rules::Terms {
        kind: item.kind(),
        tool: "",
        pattern: "make",
        scope: "/srv",
        executor: "*",
        matcher: policy::rules::MATCHER,
    };
    assert!(!policy::rules::covers(&rule, &item));
    let risk = policy::delegation::Risk::Medium;
    let delegation =
        policy::delegation::Terms { kinds: &[item.kind()], scope: "/srv", max_risk: risk, executor: "*" };
    assert!(!policy::delegation::covers(&delegation, &item, policy::delegation::Risk::Low));
}
