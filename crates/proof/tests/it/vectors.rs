//! The cases made by an independent implementation of the design's page on proofs.
#![cfg(test)]

use proof::{Approvers, ExecutorCheck, item_hash};
use proto::{Item, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

const VECTORS: &str = include_str!("../data/proof_vectors.json");

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    cases: Vec<Case<'a>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    name: String,
    expect: String,
    now: i64,
    kind: String,
    #[serde(borrow)]
    item: &'a RawValue,
    item_hash: String,
    #[serde(borrow)]
    approvers: &'a RawValue,
    #[serde(borrow)]
    proof: &'a RawValue,
}

#[test]
fn every_case_of_the_independent_implementation_gives_its_code() {
    let file: File<'_> = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(file.cases.len(), 96);
    let mut differ = vec![];
    for case in &file.cases {
        let item = Item::from_json(case.kind.parse().unwrap(), case.item.get().as_bytes()).unwrap();
        assert_eq!(item_hash(&item).to_string(), case.item_hash, "{}", case.name);
        let approvers = Approvers::parse(case.approvers.get().as_bytes()).unwrap();
        let check = ExecutorCheck {
            approvers: &approvers,
            identity: None,
            item: &item,
            quorum_at_least: 0,
            human_only: true,
            now: Timestamp::from_millis(case.now),
        };
        let got = check.check(case.proof.get().as_bytes()).map_or_else(|refusal| refusal.code(), |_| "ok");
        if got != case.expect {
            differ.push(format!("{}: {got}, not {}", case.name, case.expect));
        }
    }
    assert_eq!(differ, Vec::<String>::new());
}
