//! Rules about documents: each threat names a test that exists, each route of the protocol page is served.

use std::collections::BTreeSet;

use crate::tree::{files, read};

/// The rows of every table of a document: the cells of each line, heads and rulers left out.
fn rows(document: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        let heads_a_table =
            lines.peek().is_some_and(|next| next.starts_with("| ---") || next.starts_with("|---"));
        if line.starts_with('|') && !line.starts_with("| --") && !line.starts_with("|--") && !heads_a_table {
            rows.push(line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect());
        }
    }
    rows
}

fn in_backticks(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Names of the tests of the repository: functions of Rust files and the sentences of JavaScript tests.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files() {
        if file.path.ends_with(".rs") {
            let mut marked = false;
            for line in file.text.lines().map(str::trim) {
                if line == "#[test]" || line.starts_with("#[tokio::test") {
                    marked = true;
                } else if let Some(rest) = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))
                    && std::mem::take(&mut marked)
                {
                    names.insert(rest.split('(').next().unwrap_or_default().to_owned());
                }
            }
        } else if file.path.ends_with(".mjs") {
            for line in file.text.lines().map(str::trim) {
                let Some(rest) = line.strip_prefix("test(").or_else(|| line.strip_prefix("it(")) else {
                    continue;
                };
                let quote = rest.chars().next().unwrap_or(' ');
                names.extend(rest.split(quote).nth(1).map(str::to_owned));
            }
        }
    }
    names
}

#[test]
fn every_attack_in_the_threats_page_names_a_test_that_exists() {
    let tests = tests();
    let page = read("docs/threats.md");
    let (attacks, limits) = page.split_once("\n## Limits").expect("docs/threats.md has a part called Limits");
    let mut faults = Vec::new();
    let attacks = rows(attacks);
    assert!(attacks.len() >= 50, "docs/threats.md lists only {} attacks", attacks.len());
    for row in &attacks {
        let [attack, answer, proofs] = row.as_slice() else {
            faults.push(format!("not attack, answer and test: {row:?}"));
            continue;
        };
        let names = in_backticks(proofs);
        if names.is_empty() || answer.is_empty() {
            faults.push(format!("`{attack}` has no answer or no test"));
        }
        faults.extend(
            names.iter().filter(|name| !tests.contains(**name)).map(|name| format!("no test `{name}`")),
        );
    }
    // A limit may be shown by a test too; what stands there in the form of a test name must be one.
    let sentence = |name: &&str| name.matches('_').count() >= 3 && !name.contains([' ', '/', '.']);
    let named = in_backticks(limits).into_iter().filter(sentence);
    faults.extend(named.filter(|name| !tests.contains(*name)).map(|name| format!("no test `{name}`")));
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_protocol_page_has_exactly_the_routes_that_the_hub_serves() {
    // The golden table is made from the hub's own and fails when a route is missing from it.
    let table = read("crates/hub/tests/golden/routes.txt");
    let served: BTreeSet<String> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(" ("))
        .map(|(route, _)| route.to_owned())
        .collect();
    let page = read("docs/protocol.md");
    let written: BTreeSet<String> = in_backticks(&page)
        .into_iter()
        .filter(|text| ["GET /", "POST /", "DELETE /", "PUT /"].iter().any(|verb| text.starts_with(verb)))
        .map(|text| text.split(['?', '…']).next().unwrap_or_default().replace("<asset>", "{asset}"))
        .collect();
    assert!(served.len() > 20, "{served:?}");
    let unwritten: Vec<&String> = served.difference(&written).collect();
    let unserved: Vec<&String> = written.difference(&served).collect();
    assert!(
        unwritten.is_empty() && unserved.is_empty(),
        "not in the page: {unwritten:?}; not served: {unserved:?}"
    );
}
