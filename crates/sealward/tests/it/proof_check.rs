//! `sealward proof check` as another implementation's author meets it: files in, a code and its sentence out.
#![cfg(test)]

use serde_json::{Value, json};
use testkit::{Alg, Fields, Payload, Program, Run, SoftPasskey, Temp, approvers_file, now_ms};

use crate::SEALWARD;

/// The cases that `proof` is held to.
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proof/tests/data/proof_vectors.json");

/// A folder with a pin file, an item and a proof for it.
struct Files {
    folder: Temp,
    phone: SoftPasskey,
    item: Fields,
    now: i64,
}

impl Files {
    fn new() -> Self {
        let phone = SoftPasskey::new(Alg::Es256);
        let item = Fields::of(
            "command",
            &json!({ "id": testkit::new_id("cmd"), "executor": "runner@build-1", "task": "", "command": "make deploy", "directory": "/srv" }),
        );
        let files = Self { folder: Temp::new(), phone, item, now: now_ms() + 1000 };
        files.put("approvers.json", &approvers_file(&["runner@build-1"], &[&files.phone]));
        files.put("item.json", &files.item.json());
        files.put("proof.json", &files.phone.proof(&Payload::approve(&[files.item.hash()])));
        files
    }

    fn put(&self, name: &str, value: &Value) {
        std::fs::write(self.folder.join(name), value.to_string()).unwrap();
    }

    fn args(&self) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).to_str().unwrap().to_owned();
        let now = self.now.to_string();
        [
            "proof",
            "check",
            "--approvers",
            &path("approvers.json"),
            "--kind",
            "command",
            "--item",
            &path("item.json"),
            "--proof",
            &path("proof.json"),
            "--now",
            &now,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn check(&self, more: &[&str]) -> Run {
        Program::new(SEALWARD).args(self.args()).args(more).run()
    }
}

/// Exit code and first line of standard output.
fn said(run: &Run) -> (Option<i32>, String) {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    (run.code, text.trim_end().to_owned())
}

#[track_caller]
fn expect(run: &Run, code: i32, line: &str) {
    assert_eq!(said(run), (Some(code), line.to_owned()), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn a_proof_that_holds_is_ok_and_one_that_does_not_is_its_code_and_sentence() {
    let files = Files::new();
    expect(&files.check(&[]), 0, "ok");
    let other = files.item.clone().with("command", "make clean");
    files.put("item.json", &other.json());
    expect(&files.check(&[]), 1, "not_listed: does not list this item");
    let answer: Value = serde_json::from_slice(&files.check(&["--json"]).stdout).unwrap();
    assert_eq!(
        answer,
        json!({ "ok": false, "code": "not_listed", "sentence": "does not list this item",
            "item_hash": other.hash(), "signers": [] })
    );
    files.put("item.json", &files.item.json());
    let answer: Value = serde_json::from_slice(&files.check(&["--json"]).stdout).unwrap();
    assert_eq!(
        answer,
        json!({ "ok": true, "code": "ok", "sentence": "ok", "item_hash": files.item.hash(),
            "authority": "approve", "signers": ["phone"] })
    );
}

#[test]
fn no_pin_file_and_no_proof_are_answers_and_anything_else_missing_is_wrong_use() {
    let files = Files::new();
    std::fs::remove_file(files.folder.join("proof.json")).unwrap();
    expect(&files.check(&[]), 1, "no_signature: no signature");
    std::fs::write(files.folder.join("proof.json"), "").unwrap();
    expect(&files.check(&[]), 1, "no_signature: no signature");
    let files = Files::new();
    std::fs::remove_file(files.folder.join("approvers.json")).unwrap();
    expect(&files.check(&[]), 1, "no_key_pinned: no key is pinned");
    for broken in ["approvers.json", "item.json"] {
        let files = Files::new();
        std::fs::write(files.folder.join(broken), "{").unwrap();
        expect(&files.check(&[]), 2, "");
    }
    let files = Files::new();
    std::fs::remove_file(files.folder.join("item.json")).unwrap();
    expect(&files.check(&[]), 2, "");
    for wrong in [&["--frobnicate"][..], &["--create"], &["--cases", VECTORS]] {
        expect(&Files::new().check(wrong), 2, "");
    }
    let without_now = Program::new(SEALWARD).args(&Files::new().args()[..10]).run();
    expect(&without_now, 2, "");
    let no_kind: Vec<String> =
        files.args().into_iter().map(|arg| if arg == "command" { "order".to_owned() } else { arg }).collect();
    expect(&Program::new(SEALWARD).args(no_kind).run(), 2, "");
}

#[test]
fn with_a_store_a_proof_is_good_once_and_the_store_is_never_made_by_itself() {
    let files = Files::new();
    let store = files.folder.join("replay");
    let store = store.to_str().unwrap();
    expect(&files.check(&["--replay", store]), 1, "store_damaged: the replay store is missing or damaged");
    expect(&files.check(&["--replay", store, "--create"]), 0, "ok");
    expect(&files.check(&["--replay", store, "--create"]), 1, "already_used: already used");
    expect(&files.check(&["--replay", store]), 1, "already_used: already used");
    expect(&files.check(&[]), 0, "ok");
    std::fs::remove_file(files.folder.join("replay/birth")).unwrap();
    for more in [&["--replay", store][..], &["--replay", store, "--create"]] {
        expect(&files.check(more), 1, "store_damaged: the replay store is missing or damaged");
    }
}

#[test]
fn all_vectors_pass_and_a_case_that_differs_is_one_line() {
    let run = Program::new(SEALWARD).args(["proof", "check", "--cases", VECTORS]).run();
    expect(&run, 0, "96 passed, 0 failed");

    let mut cases: Value = serde_json::from_slice(&std::fs::read(VECTORS).unwrap()).unwrap();
    let cases = &mut cases["cases"].as_array_mut().unwrap()[..4];
    cases[0]["expect"] = json!("expired");
    cases[1]["item_hash"] = json!("00");
    cases[2].as_object_mut().unwrap().remove("proof");
    cases[3]["approvers"] = Value::Null;
    cases[3]["expect"] = json!("no_key_pinned");
    let names: Vec<String> = cases.iter().map(|case| case["name"].as_str().unwrap().to_owned()).collect();
    let folder = Temp::new();
    let file = folder.join("cases.json");
    std::fs::write(&file, json!({ "spec": "ours", "cases": cases }).to_string()).unwrap();
    let run = Program::new(SEALWARD).args(["proof", "check", "--cases", file.to_str().unwrap()]).run();
    let (code, text) = said(&run);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 4), "{text}");
    assert_eq!(lines[0], format!("{}: expected expired, got ok", names[0]));
    assert!(lines[1].starts_with(&format!("{}: expected ok, got item hash ", names[1])), "{}", lines[1]);
    assert_eq!(lines[2], format!("{}: expected ok, got no_signature", names[2]));
    assert_eq!(lines[3], "1 passed, 3 failed");
    for wrong in ["", "{}", "[]"] {
        std::fs::write(&file, wrong).unwrap();
        let run = Program::new(SEALWARD).args(["proof", "check", "--cases", file.to_str().unwrap()]).run();
        expect(&run, 2, "");
    }
}

#[test]
fn eight_processes_with_two_proofs_for_one_item_get_one_ok() {
    let files = Files::new();
    let store = files.folder.join("replay");
    let store = store.to_str().unwrap().to_owned();
    files.put("other.json", &files.phone.proof(&Payload::approve(&[files.item.hash()])));
    for round in 0..5 {
        let item = files.item.clone().with("id", &testkit::new_id("cmd"));
        files.put("item.json", &item.json());
        for name in ["proof.json", "other.json"] {
            files.put(name, &files.phone.proof(&Payload::approve(&[item.hash()])));
        }
        let other = files.folder.join("other.json").to_str().unwrap().to_owned();
        let now = (now_ms() + 1000).to_string();
        let codes: Vec<String> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..8)
                .map(|n| {
                    let mut args = files.args();
                    args[11].clone_from(&now);
                    if n % 2 == 1 {
                        args[9].clone_from(&other);
                    }
                    let store = store.clone();
                    scope.spawn(move || {
                        said(&Program::new(SEALWARD).args(args).args(["--replay", &store, "--create"]).run())
                            .1
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        assert_eq!(codes.iter().filter(|code| *code == "ok").count(), 1, "round {round}: {codes:?}");
        assert_eq!(codes.iter().filter(|code| *code == "already_used: already used").count(), 7, "{codes:?}");
    }
}
