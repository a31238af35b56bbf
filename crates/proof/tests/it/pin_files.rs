//! The pin file: what is read, who may own it, how it is written, and what proofs write into it.
#![cfg(test)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proof::pin_file::{self, Change, PinFileError};
use proof::trust::{Applied, TrustError, apply};
use proof::{Approvers, BadEntry, BadPins, What};
use proto::api::PinEntry;
use proto::{Kind, Refusal};
use serde_json::{Value, json};
use testkit::{Alg, Payload, SoftPasskey, Temp, write_private};

use crate::scene::{HOOK, Scene};

fn entry(key: &SoftPasskey) -> PinEntry {
    serde_json::from_value(key.pin_entry()).unwrap()
}

fn ids(path: &Path) -> Vec<String> {
    let approvers = Approvers::read(path).unwrap();
    approvers.keys().iter().map(|pinned| pinned.entry().id.clone()).collect()
}

#[test]
fn a_file_is_read_with_its_defaults() {
    let key = SoftPasskey::new(Alg::Es256).pin_entry();
    let read = |file: Value| Approvers::parse(file.to_string().as_bytes()).unwrap();
    let least = read(json!({ "v": 1, "executor": HOOK, "keys": [key] }));
    assert!(least.names(HOOK) && !least.names("hook@desktop") && !least.names(""));
    assert_eq!((least.quorum(Kind::Ask), least.highest_quorum()), (1, 1));
    let more =
        read(json!({ "v": 1, "executor": [HOOK, "commit@laptop"], "quorum": { "command": 2, "ask": 1 },
        "keys": [], "revoked": ["rule-1"] }));
    assert_eq!((more.quorum(Kind::Ask), more.quorum(Kind::Command), more.highest_quorum()), (1, 2, 2));
    assert!(more.names("commit@laptop") && more.is_revoked("rule-1"));
}

#[test]
fn a_file_that_is_not_exactly_as_documented_is_refused_whole() {
    let key = SoftPasskey::new(Alg::Es256).pin_entry();
    let good = json!({ "v": 1, "executor": [HOOK], "quorum": {}, "keys": [key], "revoked": [] });
    let refused = |name: &str, value: Value| {
        let mut file = good.clone();
        file[name] = value;
        assert!(
            matches!(Approvers::parse(file.to_string().as_bytes()), Err(BadPins::Malformed(_))),
            "{file}"
        );
    };
    refused("v", json!(2));
    refused("executor", json!(7));
    refused("executor", json!([7]));
    refused("quorum", json!({ "ask": 0 }));
    refused("quorum", json!({ "ask": -1 }));
    refused("quorum", json!({ "ask": "2" }));
    refused("quorum", json!({ "all": 2 }));
    refused("keys", json!({}));
    refused("revoked", json!("x"));
    refused("extra", json!(1));
    for name in ["id", "alg", "spki", "rp_id", "origins", "label", "backup_eligible", "since"] {
        let mut entry = key.clone();
        entry.as_object_mut().unwrap().remove(name);
        refused("keys", json!([entry]));
    }
    let persons_twice = good.to_string().replacen("{}", r#"{"ask":2,"ask":1}"#, 1);
    assert!(Approvers::parse(persons_twice.as_bytes()).is_err());
    let twice = good.to_string().replacen('{', r#"{"revoked":["x"],"#, 1);
    assert!(Approvers::parse(twice.as_bytes()).is_err());
    let large = format!("{good}{}", " ".repeat(1024 * 1024));
    assert!(matches!(Approvers::parse(large.as_bytes()), Err(BadPins::TooLarge)));
}

#[test]
fn only_a_plain_file_of_its_owner_alone_is_read_and_none_is_no_pins() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    assert_eq!(Approvers::read(&path).unwrap().keys().len(), 0);
    write_private(&path, &testkit::approvers_file(&[HOOK], &[&SoftPasskey::new(Alg::Es256)]).to_string());
    assert_eq!(Approvers::read(&path).unwrap().keys().len(), 1);
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(Approvers::read(&path), Err(BadPins::NotOwnerOnly { .. })), "{mode:o}");
    }
    assert!(matches!(Approvers::read(home.path()), Err(BadPins::NotOwnerOnly { .. })), "a folder");
    assert!(matches!(Approvers::read(&path.join("x")), Err(BadPins::Read { .. })), "below a file");
}

#[test]
fn a_file_is_made_changed_and_stays_private() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    let phone = entry(&SoftPasskey::new(Alg::Es256));
    let laptop = entry(&SoftPasskey::new(Alg::EdDsa).person("ada"));
    assert!(matches!(pin_file::add_key(&path, &phone), Err(PinFileError::Missing { .. })));
    assert_eq!(pin_file::add_executor(&path, HOOK).unwrap(), Change::Written);
    assert_eq!(pin_file::add_executor(&path, HOOK).unwrap(), Change::AlreadyThere);
    assert_eq!(pin_file::add_executor(&path, "commit@laptop").unwrap(), Change::Written);
    for key in [&phone, &laptop] {
        assert_eq!(pin_file::add_key(&path, key).unwrap(), Change::Written);
        assert_eq!(pin_file::add_key(&path, key).unwrap(), Change::AlreadyThere);
    }
    for change in [Change::Written, Change::AlreadyThere] {
        assert_eq!(pin_file::set_quorum(&path, Kind::Command, 2).unwrap(), change);
    }
    assert_eq!(pin_file::revoke(&path, "rule-1").unwrap(), Change::Written);
    assert_eq!(pin_file::revoke(&path, "rule-1").unwrap(), Change::AlreadyThere);
    let approvers = Approvers::read(&path).unwrap();
    assert_eq!(approvers.executors().collect::<Vec<_>>(), ["commit@laptop", HOOK]);
    assert_eq!(approvers.keys()[1].entry(), &laptop);
    assert_eq!((approvers.quorum(Kind::Command), approvers.is_revoked("rule-1")), (2, true));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(pin_file::set_quorum(&path, Kind::Command, 1).unwrap(), Change::Written);
    assert_eq!(Approvers::read(&path).unwrap().quorum(Kind::Command), 1);
}

#[test]
fn a_file_never_grows_past_what_is_read() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    let mut file = testkit::approvers_file(&[HOOK], &[&SoftPasskey::new(Alg::Es256)]);
    file["revoked"] = json!(["x".repeat(1024 * 1024 - 1000)]);
    write_private(&path, &file.to_string());
    let before = std::fs::read(&path).unwrap();
    let added = pin_file::add_key(&path, &entry(&SoftPasskey::new(Alg::Rs256)));
    assert!(matches!(added, Err(PinFileError::TooLarge)));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    write_private(&path, &format!("{file}{}", " ".repeat(2000)));
    assert!(matches!(Approvers::read(&path), Err(BadPins::TooLarge)));
}

#[test]
fn a_draft_that_a_crash_left_behind_is_in_nobodys_way() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    write_private(&home.join(".approvers.json.new"), "half");
    assert_eq!(pin_file::add_executor(&path, HOOK).unwrap(), Change::Written);
    assert!(Approvers::read(&path).unwrap().names(HOOK));
}

#[test]
fn writers_in_many_threads_lose_nothing() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    assert_eq!(pin_file::add_executor(&path, HOOK).unwrap(), Change::Written);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..4 {
                    assert_eq!(
                        pin_file::revoke(path, &format!("rule-{writer}-{n}")).unwrap(),
                        Change::Written
                    );
                }
            });
        }
    });
    assert_eq!(Approvers::read(&path).unwrap().revoked().count(), 32);
}

#[test]
fn keys_that_must_not_be_pinned_are_not_written() {
    let home = Temp::new();
    let path = home.join("approvers.json");
    assert_eq!(pin_file::add_executor(&path, HOOK).unwrap(), Change::Written);
    let phone = SoftPasskey::new(Alg::EdDsa);
    let weak =
        PinEntry { spki: testkit::b64(&[&phone.spki()[..12], &[1], &[0; 31]].concat()), ..entry(&phone) };
    assert!(matches!(pin_file::add_key(&path, &weak), Err(PinFileError::Entry(BadEntry::Key(_)))));
    let ssh = PinEntry { origins: vec![], ..entry(&phone) };
    assert!(matches!(pin_file::add_key(&path, &ssh), Err(PinFileError::Entry(BadEntry::SshId))));
    let key = proof::PublicKey::parse(proof::Alg::EdDsa, &phone.spki()).unwrap();
    let ssh = PinEntry { id: proof::ssh_key_id(&key, &ssh.rp_id).unwrap(), ..ssh };
    assert_eq!(pin_file::add_key(&path, &ssh).unwrap(), Change::Written);
    let other = PinEntry { id: ssh.id.clone(), ..entry(&SoftPasskey::new(Alg::Es256)) };
    assert!(matches!(pin_file::add_key(&path, &other), Err(PinFileError::OtherKey(_))));
    assert_eq!(pin_file::revoke(&path, &phone.id()).unwrap(), Change::Written);
    assert!(matches!(pin_file::add_key(&path, &entry(&phone)), Err(PinFileError::Revoked(_))));
    assert_eq!(ids(&path), [ssh.id]);
}

#[test]
fn a_fingerprint_is_what_the_other_device_shows() {
    for alg in Alg::ALL {
        let key = SoftPasskey::new(alg);
        let shown = proof::fingerprint(&entry(&key)).unwrap();
        assert_eq!(shown, testkit::fingerprint(&key.spki()));
        assert_eq!((shown.len(), shown.matches('-').count()), (23, 3));
    }
}

/// A pin file on disk for the scene's pins.
fn on_disk(scene: &Scene) -> (Temp, std::path::PathBuf) {
    let home = Temp::new();
    let path = home.join("approvers.json");
    write_private(&path, &scene.pins.to_string());
    (home, path)
}

#[test]
fn a_pin_proof_pins_for_ever_and_a_revoke_proof_revokes_for_ever() {
    let scene = Scene::new();
    let (_home, path) = on_disk(&scene);
    let tablet = SoftPasskey::new(Alg::EdDsa).label("tablet");
    let pin = scene.phone.proof(&Payload::pin(tablet.pin_entry(), HOOK)).to_string();
    let pinned = apply(&path, pin.as_bytes(), HOOK, scene.now()).unwrap();
    assert_eq!(pinned, Applied::Pinned { id: tablet.id(), label: "tablet".to_owned() });
    assert_eq!(apply(&path, pin.as_bytes(), HOOK, scene.now()).unwrap(), Applied::AlreadyThere);
    assert_eq!(ids(&path), [scene.phone.id(), tablet.id()]);
    let revoke = tablet.proof(&Payload::revoke("key", &scene.phone.id())).to_string();
    let revoked = apply(&path, revoke.as_bytes(), HOOK, scene.now()).unwrap();
    assert_eq!(revoked, Applied::Revoked { what: What::Key, id: scene.phone.id() });
    // The revoked key pins no more, and what it pinned before does not bring it back.
    let again = scene.phone.proof(&Payload::pin(scene.phone.pin_entry(), HOOK)).to_string();
    assert!(matches!(
        apply(&path, again.as_bytes(), HOOK, scene.now()),
        Err(TrustError::Refused(Refusal::Revoked))
    ));
    let back = tablet.proof(&Payload::pin(SoftPasskey::new(Alg::Es256).pin_entry(), HOOK)).to_string();
    assert!(matches!(apply(&path, back.as_bytes(), HOOK, scene.now()), Ok(Applied::Pinned { .. })));
    let other = tablet.proof(&Payload::pin(scene.phone.pin_entry(), HOOK)).to_string();
    assert!(matches!(
        apply(&path, other.as_bytes(), HOOK, scene.now()),
        Err(TrustError::Write(PinFileError::Revoked(_)))
    ));
}

#[test]
fn a_proof_for_another_executor_changes_nothing_here() {
    let scene = Scene::new();
    let (_home, path) = on_disk(&scene);
    let before = std::fs::read(&path).unwrap();
    let key = SoftPasskey::new(Alg::EdDsa).pin_entry();
    let pin = scene.phone.proof(&Payload::pin(key.clone(), "hook@desktop")).to_string();
    assert_eq!(apply(&path, pin.as_bytes(), HOOK, scene.now()).unwrap(), Applied::NotForUs);
    let unnamed = scene.phone.proof(&Payload::pin(key, "hook@desktop")).to_string();
    let refused = apply(&path, unnamed.as_bytes(), "hook@desktop", scene.now());
    assert!(matches!(refused, Err(TrustError::Refused(Refusal::NoKeyPinned))));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn pinning_needs_the_highest_quorum_in_the_file_and_revoking_one_person() {
    let mut scene = Scene::with(Alg::EdDsa);
    let second = SoftPasskey::new(Alg::EdDsa).person("bob");
    scene.pins = testkit::approvers_file(&[HOOK], &[&scene.phone, &second]);
    scene.pins["quorum"] = json!({ "command": 2 });
    let (_home, path) = on_disk(&scene);
    let payload = Payload::pin(SoftPasskey::new(Alg::Es256).pin_entry(), HOOK);
    let code = |keys: &[&SoftPasskey]| {
        apply(&path, testkit::proof_of(&payload, keys).to_string().as_bytes(), HOOK, scene.now())
    };
    assert!(matches!(code(&[&second]), Err(TrustError::Refused(Refusal::Quorum))));
    assert!(matches!(code(&[&second, &scene.phone]), Ok(Applied::Pinned { .. })));
    let revoke = second.proof(&Payload::revoke("delegation", "dlg-1")).to_string();
    assert!(matches!(apply(&path, revoke.as_bytes(), HOOK, scene.now()), Ok(Applied::Revoked { .. })));
}

#[test]
fn the_end_of_a_warning_and_other_verbs_leave_the_file_alone() {
    let scene = Scene::new();
    let (_home, path) = on_disk(&scene);
    let before = std::fs::read(&path).unwrap();
    let ended = scene.phone.proof(&Payload::revoke("warning", "nonce")).to_string();
    let applied = apply(&path, ended.as_bytes(), HOOK, scene.now()).unwrap();
    assert_eq!(applied, Applied::WarningEnded { nonce: "nonce".to_owned() });
    let mut odd = scene.phone.proof(&Payload::revoke("key", "x"));
    odd["delegation"] = json!({});
    let refused = apply(&path, odd.to_string().as_bytes(), HOOK, scene.now());
    assert!(matches!(refused, Err(TrustError::Refused(Refusal::Malformed))));
    for payload in [scene.approve(), Payload::rule("ask", "Bash", "*", "*", "*")] {
        let proof = scene.phone.proof(&payload).to_string();
        let refused = apply(&path, proof.as_bytes(), HOOK, scene.now());
        assert!(matches!(refused, Err(TrustError::Refused(Refusal::WrongVerb))));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
