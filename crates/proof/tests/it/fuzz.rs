//! A fuzzer of the proof parser and checker that needs no other compiler: mutations of valid proofs, by bytes and by structure.
//!
//! A few thousand rounds in a test run; `SEALWARD_FUZZ_SECONDS=30` makes it run that long. It never may panic, and may accept
//! nothing but what means the same as the valid proof it came from. Inputs that once broke something go to `data/seeds/`.
#![cfg(test)]

use std::time::{Duration, Instant};

use proof::hub::{Covered, HubVerdict, check_entries, check_standing};
use proof::{check_denial, check_message};
use proto::{Digest, Kind};
use serde_json::{Map, Value, json};
use testkit::{Alg, Payload, SoftPasskey};

use crate::scene::{HOOK, Scene};

/// A small generator with a seed that is printed, so that a failure can be run again (xorshift64*).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Texts that parsers trip over, put in place of anything.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "-0",
    "1e999",
    "1.0",
    "0",
    "\u{0}",
    "9007199254740992",
    "-1",
    "\u{feff}",
    "\u{202e}",
    "==",
    "AA",
    "-----BEGIN SSH SIGNATURE-----\\n",
    " ",
    "\n",
    "é",
];

fn mutate_bytes(chance: &mut Chance, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = chance.of(corpus).clone();
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len() + 1);
        match chance.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 if at < bytes.len() => bytes[at] = u8::try_from(chance.below(256)).unwrap(),
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, chance.of(TOKENS).bytes())),
            4 => {
                let end = (at + chance.below(40)).min(bytes.len());
                drop(bytes.drain(at..end));
            }
            _ => {
                // A piece of another proof in the middle of this one.
                let other = chance.of(corpus).clone();
                let from = chance.below(other.len() + 1);
                let to = (from + chance.below(200)).min(other.len());
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
        }
    }
    bytes
}

/// Changes one value somewhere inside: dropped, doubled, replaced, or taken from elsewhere.
fn mutate_json(chance: &mut Chance, value: &mut Value, donor: &Value) {
    match value {
        Value::Object(members) if !members.is_empty() && chance.below(4) != 0 => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = chance.of(&names).clone();
            match chance.below(5) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert(format!("{name}x"), members[&name].clone())),
                _ => mutate_json(chance, members.get_mut(&name).unwrap(), donor),
            }
        }
        Value::Array(items) if !items.is_empty() && chance.below(4) != 0 => {
            let at = chance.below(items.len());
            match chance.below(5) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.reverse(),
                _ => mutate_json(chance, &mut items[at], donor),
            }
        }
        Value::String(text) if chance.below(3) != 0 => mutate_text(chance, text),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            *value = match chance.below(7) {
                0 => Value::Null,
                1 => json!(chance.next() >> 12),
                2 => json!(-1.5),
                3 => json!([]),
                4 => Value::Object(Map::new()),
                5 => donor["signatures"][0].clone(),
                _ => json!(*chance.of(TOKENS)),
            };
        }
    }
}

/// A base64url text is opened, changed inside and closed again, so that what lies below the encoding is met too.
fn mutate_text(chance: &mut Chance, text: &mut String) {
    match proto::b64::decode(text) {
        Ok(inner) if !inner.is_empty() && chance.below(4) != 0 => {
            let inner = match serde_json::from_slice::<Value>(&inner) {
                Ok(mut value) if chance.below(2) == 0 => {
                    let donor = json!({ "signatures": [{}] });
                    mutate_json(chance, &mut value, &donor);
                    value.to_string().into_bytes()
                }
                Ok(_) | Err(_) => mutate_bytes(chance, &[inner]),
            };
            *text = proto::b64::encode(&inner);
        }
        Ok(_) | Err(_) => {
            let at =
                (0..=chance.below(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let token: &str = chance.of::<&str>(TOKENS);
            text.insert_str(at, token);
        }
    }
}

/// Valid proofs of several shapes, the vectors' proofs, and what once broke something.
fn corpus(scene: &Scene, second: &SoftPasskey) -> Vec<Vec<u8>> {
    let payload = scene.approve();
    let reviewer = testkit::hex(&second.spki()[12..]);
    let delegate = Payload::delegate(&reviewer, &["ask"], "*", "*");
    let mut vouch = testkit::proof_with(
        &Payload::vouch(&scene.hash(), delegate.get("id").as_str().unwrap(), "low").bytes(),
        &[json!({ "keyid": reviewer, "ed25519": testkit::b64(&[1; 64]) })],
    );
    vouch["delegation"] = scene.phone.proof(&delegate);
    let proofs = [
        scene.phone.proof(&payload),
        testkit::proof_of(&payload, &[&scene.phone, second]),
        scene.phone.proof(&Payload::deny(&[scene.hash()], "post", "no")),
        scene.phone.proof(&Payload::rule("ask", "Bash", "*", "*", "*")),
        scene.phone.proof(&Payload::pin(second.pin_entry(), HOOK)),
        vouch,
    ];
    let mut corpus: Vec<Vec<u8>> = proofs.iter().map(|proof| proof.to_string().into_bytes()).collect();
    for seed in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/seeds")).unwrap() {
        corpus.push(std::fs::read(seed.unwrap().path()).unwrap());
    }
    corpus
}

/// What a proof means: payload bytes and which keys signed. White space and member order in the envelope mean nothing.
fn meaning(proof: &[u8]) -> Option<(String, Vec<String>)> {
    let proof: Value = serde_json::from_slice(proof).ok()?;
    let keys =
        proof["signatures"].as_array()?.iter().map(|signature| signature["keyid"].to_string()).collect();
    Some((proof["payload"].to_string(), keys))
}

/// Every door through which a proof's bytes come in.
fn try_every_door(scene: &Scene, approvers: &proof::Approvers, proof: &[u8]) -> bool {
    let covered = [Covered { hash: Digest::parse(&scene.hash()).unwrap(), kind: Kind::Ask, quorum: 0 }];
    let entries = check_entries(approvers, proof, &covered, scene.now());
    let standing = check_standing(approvers, proof, scene.now());
    let denial = check_denial(approvers, scene.identity, &scene.item, proof, scene.now());
    let message = check_message(approvers, scene.identity, proof, scene.now());
    let complete = |verdict: &Result<HubVerdict, _>| verdict.is_ok();
    scene.sealed(proof).is_ok()
        || complete(&entries)
        || complete(&standing)
        || denial.is_ok()
        || message.is_ok()
}

#[test]
#[expect(clippy::print_stderr, reason = "the seed and the count of a fuzz run")]
fn no_mutation_of_a_proof_panics_or_passes_as_another() {
    let seconds = std::env::var("SEALWARD_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seed = std::env::var("SEALWARD_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| testkit::now_ms().unsigned_abs() | 1);
    eprintln!("SEALWARD_FUZZ_SEED={seed}");
    let mut chance = Chance(seed);
    let mut scene = Scene::with(Alg::EdDsa);
    let second = SoftPasskey::new(Alg::EdDsa).person("bob");
    scene.pins = testkit::approvers_file(&[HOOK], &[&scene.phone, &second]);
    let approvers = scene.approvers();
    let corpus = corpus(&scene, &second);
    let valid: Vec<_> = corpus.iter().filter_map(|proof| meaning(proof)).collect();
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut rounds, mut passed) = (0_u64, 0_u64);
    while end.map_or(rounds < 2000, |end| Instant::now() < end) {
        let mutated = if chance.below(2) == 0 {
            mutate_bytes(&mut chance, &corpus)
        } else {
            let Ok(mut proof) = serde_json::from_slice(chance.of::<Vec<u8>>(&corpus)) else { continue };
            let donor = serde_json::from_slice(chance.of::<Vec<u8>>(&corpus)).unwrap_or_default();
            for _ in 0..=chance.below(2) {
                mutate_json(&mut chance, &mut proof, &donor);
            }
            proof.to_string().into_bytes()
        };
        rounds += 1;
        if try_every_door(&scene, &approvers, &mutated) {
            passed += 1;
            let (payload, keys) = meaning(&mutated).expect("what passes is a proof");
            let same =
                valid.iter().any(|(other, by)| *other == payload && keys.iter().all(|key| by.contains(key)));
            assert!(same, "seed {seed}, round {rounds}: {}", String::from_utf8_lossy(&mutated));
        }
    }
    eprintln!("{rounds} mutations, {passed} of them without a change of meaning");
}
