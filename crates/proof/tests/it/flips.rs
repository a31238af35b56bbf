//! A valid proof with anything changed is refused: every byte, and every member.
#![cfg(test)]

use proptest::prelude::*;
use testkit::{Alg, SoftPasskey, proof_of};

use crate::scene::Scene;

#[test]
fn every_byte_of_a_valid_proof_flipped_one_at_a_time_is_refused() {
    for alg in Alg::ALL {
        let scene = Scene::with(alg);
        let good = scene.phone.proof(&scene.approve()).to_string().into_bytes();
        assert!(scene.sealed(&good).is_ok());
        for at in 0..good.len() {
            for mask in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
                let mut flipped = good.clone();
                flipped[at] ^= mask;
                let verdict = scene.sealed(&flipped);
                assert!(verdict.is_err(), "{alg:?}: byte {at} ^ {mask:#04x} passed");
            }
        }
    }
}

#[test]
fn every_shorter_form_of_a_valid_proof_is_refused() {
    let scene = Scene::with(Alg::EdDsa);
    let good = scene.phone.proof(&scene.approve()).to_string().into_bytes();
    for at in 0..good.len() {
        assert!(scene.sealed(&good[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn no_other_byte_in_any_place_and_no_bytes_at_all_pass() {
    let mut scene = Scene::with(Alg::EdDsa);
    let second = SoftPasskey::new(Alg::EdDsa);
    scene.pins = testkit::approvers_file(&[crate::scene::HOOK], &[&scene.phone, &second]);
    scene.pins["quorum"] = serde_json::json!({ "ask": 2 });
    let good = proof_of(&scene.approve(), &[&scene.phone, &second]).to_string().into_bytes();
    assert!(scene.sealed(&good).is_ok());
    proptest!(ProptestConfig::with_cases(400), |(at in 0..good.len(), with in prop::collection::vec(any::<u8>(), 0..4), over in 0..4_usize)| {
        let end = good.len().min(at + over);
        let changed = [&good[..at], &with, &good[end..]].concat();
        let inserted_space = changed.len() > good.len() && with.iter().all(|byte| b" \n\r\t".contains(byte)) && end == at;
        prop_assume!(changed != good && !inserted_space);
        prop_assert!(scene.sealed(&changed).is_err());
    });
    proptest!(ProptestConfig::with_cases(400), |(bytes in prop::collection::vec(any::<u8>(), 0..600))| {
        prop_assert!(scene.sealed(&bytes).is_err());
    });
}

#[test]
fn whatever_item_was_signed_only_that_item_is_sealed() {
    let scene = Scene::with(Alg::EdDsa);
    let proof = scene.phone.proof(&scene.approve()).to_string().into_bytes();
    let fields = proptest::array::uniform7("[ -~é]{0,6}");
    proptest!(ProptestConfig::with_cases(300), |(fields in fields)| {
        let [id, executor, agent, session, tool, input, cwd] = fields;
        let item = proto::Item::Ask(proto::AskItem { id, executor, agent, session, tool, input, cwd });
        let approvers = scene.approvers();
        let check = proof::ExecutorCheck {
            approvers: &approvers, identity: None, item: &item, quorum_at_least: 0, human_only: false, now: scene.now(),
        };
        prop_assert_eq!(check.check(&proof).map(|_| ()), Err(proto::Refusal::NotListed));
    });
}

#[test]
fn items_that_differ_only_in_where_one_field_ends_hash_differently() {
    proptest!(|(text in "[a-z]{2,12}", cut in any::<prop::sample::Index>(), other in any::<prop::sample::Index>())| {
        let (one, two) = (cut.index(text.len() + 1), other.index(text.len() + 1));
        prop_assume!(one != two);
        let item = |at: usize| {
            let (question, choice) = text.split_at(at);
            proto::Item::Decision(proto::DecisionItem {
                id: "dec-1".to_owned(),
                executor: "e".to_owned(),
                question: question.to_owned(),
                choice: choice.to_owned(),
            })
        };
        prop_assert_ne!(proof::item_hash(&item(one)), proof::item_hash(&item(two)));
    });
}
