//! Tests of security-key signatures, made here from OpenSSH's description of the format (PROTOCOL.sshsig, PROTOCOL.u2f).

use proto::Timestamp;
use testkit::{Payload, SoftPasskey, approvers_file, now_ms, sha256 as hash};

use super::*;

const APPLICATION: &str = "ssh:sealward";
const MESSAGE: &[u8] = b"what is signed";

/// A security key in software, and what to bend in its signature.
struct SecurityKey {
    key: SoftPasskey,
    sk_type: &'static [u8],
    application: &'static str,
    namespace: &'static str,
    reserved: &'static str,
    hash: &'static str,
    version: u32,
    flags: u8,
    trailer: &'static [u8],
    message: Vec<u8>,
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

impl SecurityKey {
    fn new(alg: testkit::Alg) -> Self {
        Self {
            key: SoftPasskey::new(alg),
            sk_type: if alg == testkit::Alg::EdDsa { SK_ED25519 } else { SK_ECDSA },
            application: APPLICATION,
            namespace: "sealward",
            reserved: "",
            hash: "sha512",
            version: 1,
            flags: 5,
            trailer: b"",
            message: MESSAGE.to_vec(),
        }
    }

    fn public(&self) -> PublicKey {
        let alg = if self.key.alg() == testkit::Alg::EdDsa { Alg::EdDsa } else { Alg::Es256 };
        PublicKey::parse(alg, &self.key.spki()).unwrap()
    }

    fn entry(&self) -> PinEntry {
        PinEntry {
            id: key_id(&self.public(), APPLICATION).unwrap(),
            alg: self.key.alg().cose(),
            spki: b64::encode(&self.key.spki()),
            rp_id: APPLICATION.to_owned(),
            origins: vec![],
            label: "security key".to_owned(),
            person: None,
            not_after: None,
            backup_eligible: false,
            since: Timestamp::from_millis(0),
        }
    }

    fn key_blob(&self) -> Vec<u8> {
        let raw = if self.key.alg() == testkit::Alg::EdDsa {
            string(&self.key.spki()[12..])
        } else {
            [string(b"nistp256"), string(&self.key.spki()[26..])].concat()
        };
        [string(self.sk_type), raw, string(self.application.as_bytes())].concat()
    }

    fn signature_blob(&self) -> Vec<u8> {
        let digest = if self.hash == "sha256" {
            hash(&self.message).to_vec()
        } else {
            aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &self.message).as_ref().to_vec()
        };
        let (namespace, name) = (string(self.namespace.as_bytes()), string(self.hash.as_bytes()));
        let inner =
            [b"SSHSIG".to_vec(), namespace, string(self.reserved.as_bytes()), name, string(&digest)].concat();
        let signed =
            [&hash(self.application.as_bytes())[..], &[self.flags], &9_u32.to_be_bytes(), &hash(&inner)]
                .concat();
        let mut value = self.key.raw_signature(&signed);
        if self.key.alg() == testkit::Alg::Es256 {
            // DER to two mpints: the integers are written alike.
            let r = usize::from(value[3]);
            value = [string(&value[4..4 + r]), string(&value[6 + r..])].concat();
        }
        [string(self.sk_type), string(&value), vec![self.flags], 9_u32.to_be_bytes().to_vec()].concat()
    }

    fn blob(&self) -> Vec<u8> {
        [
            b"SSHSIG".to_vec(),
            self.version.to_be_bytes().to_vec(),
            string(&self.key_blob()),
            string(self.namespace.as_bytes()),
            string(self.reserved.as_bytes()),
            string(self.hash.as_bytes()),
            string(&self.signature_blob()),
            self.trailer.to_vec(),
        ]
        .concat()
    }

    fn armour(&self) -> String {
        armour(&self.blob())
    }

    fn check(&self) -> Result<(), Refusal> {
        check(&self.armour(), MESSAGE, &self.entry(), &self.public())
    }
}

fn armour(blob: &[u8]) -> String {
    let text = STANDARD.encode(blob);
    let lines: Vec<&str> =
        text.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
}

fn bent(alg: testkit::Alg, bend: impl FnOnce(&mut SecurityKey)) -> Result<(), Refusal> {
    let mut key = SecurityKey::new(alg);
    bend(&mut key);
    key.check()
}

const ALGS: [testkit::Alg; 2] = [testkit::Alg::EdDsa, testkit::Alg::Es256];

#[test]
fn both_kinds_of_security_key_and_both_hashes_verify() {
    for alg in ALGS {
        // Often enough to meet ECDSA integers with and without a leading zero.
        for _ in 0..20 {
            assert_eq!(bent(alg, |_| ()), Ok(()));
        }
        assert_eq!(bent(alg, |key| key.hash = "sha256"), Ok(()));
    }
}

#[test]
fn each_step_has_its_refusal() {
    for alg in ALGS {
        assert_eq!(bent(alg, |key| key.namespace = "git"), Err(Refusal::WrongType));
        assert_eq!(bent(alg, |key| key.sk_type = b"ssh-ed25519"), Err(Refusal::NotPinned));
        assert_eq!(bent(alg, |key| key.application = "ssh:"), Err(Refusal::WrongRp));
        assert_eq!(bent(alg, |key| key.flags = 4), Err(Refusal::UserAbsent));
        assert_eq!(bent(alg, |key| key.flags = 1), Err(Refusal::UserUnverified));
        assert_eq!(bent(alg, |key| key.message = b"something else".to_vec()), Err(Refusal::BadSignature));
        assert_eq!(bent(alg, |key| key.hash = "sha1"), Err(Refusal::Malformed));
        assert_eq!(bent(alg, |key| key.version = 2), Err(Refusal::Malformed));
        assert_eq!(bent(alg, |key| key.reserved = "x"), Err(Refusal::Malformed));
        assert_eq!(bent(alg, |key| key.trailer = b"x"), Err(Refusal::Malformed));
        let (one, other) = (SecurityKey::new(alg), SecurityKey::new(alg));
        let foreign = check(&one.armour(), MESSAGE, &other.entry(), &other.public());
        assert_eq!(foreign, Err(Refusal::NotPinned));
    }
}

#[test]
fn a_key_pinned_for_a_site_is_no_ssh_key() {
    let key = SecurityKey::new(testkit::Alg::Es256);
    let entry =
        PinEntry { id: key.key.id(), origins: vec!["http://localhost:8787".to_owned()], ..key.entry() };
    assert_eq!(check(&key.armour(), MESSAGE, &entry, &key.public()), Err(Refusal::NotPinned));
}

#[test]
fn every_flipped_bit_and_every_shorter_form_of_a_signature_is_refused() {
    for alg in ALGS {
        let key = SecurityKey::new(alg);
        let (blob, entry, public) = (key.blob(), key.entry(), key.public());
        for at in 0..blob.len() {
            for bit in 0..8 {
                let mut flipped = blob.clone();
                flipped[at] ^= 1 << bit;
                assert!(
                    check(&armour(&flipped), MESSAGE, &entry, &public).is_err(),
                    "bit {bit} of byte {at}"
                );
            }
            assert!(check(&armour(&blob[..at]), MESSAGE, &entry, &public).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn the_armour_has_one_form() {
    let key = SecurityKey::new(testkit::Alg::EdDsa);
    let good = key.armour();
    let read = |armour: &str| check(armour, MESSAGE, &key.entry(), &key.public());
    assert_eq!(read(good.trim_end()), Ok(()), "JSON writers may drop the last line end");
    for bad in [
        format!(" {good}"),
        format!("{good}\n"),
        good.replace('\n', "\r\n"),
        good.replace("SSH SIGNATURE", "PGP SIGNATURE"),
        good.replace("=\n", "\n").replace("-----END", "=-----END"),
        format!("{good}{good}"),
        String::new(),
    ] {
        assert_eq!(read(&bad), Err(Refusal::Malformed), "{bad}");
    }
}

#[test]
fn a_security_key_seals_an_item_by_a_whole_proof() {
    use proto::{CommandItem, Item};
    for alg in ALGS {
        let item = Item::Command(CommandItem {
            id: testkit::new_id("cmd"),
            executor: "runner@build-1".to_owned(),
            task: String::new(),
            command: "make deploy".to_owned(),
            directory: "/srv".to_owned(),
        });
        let payload = Payload::approve(&[crate::item_hash(&item).to_string()]).bytes();
        let mut key = SecurityKey::new(alg);
        key.message = testkit::pae(testkit::PROOF_TYPE, &payload);
        let mut pins = approvers_file(&["runner@build-1"], &[]);
        pins["keys"] = serde_json::json!([key.entry()]);
        let signature = serde_json::json!({ "keyid": key.entry().id, "sshsig": key.armour() });
        let proof = testkit::proof_with(&payload, &[signature]);
        let sealed = |pins: &serde_json::Value, proof: &serde_json::Value| {
            let approvers = crate::Approvers::parse(pins.to_string().as_bytes()).unwrap();
            let check = crate::ExecutorCheck {
                approvers: &approvers,
                identity: Some("runner@build-1"),
                item: &item,
                quorum_at_least: 1,
                human_only: true,
                now: Timestamp::from_millis(now_ms() + 1000),
            };
            check.check(proof.to_string().as_bytes()).map(|sealed| sealed.signers()[0].label.clone())
        };
        assert_eq!(sealed(&pins, &proof), Ok("security key".to_owned()));
        // A WebAuthn signature by the same numbers has no origin that an SSH key allows.
        let mut web = proof.clone();
        let bent = testkit::Bend { keyid: Some(key.entry().id), ..testkit::Bend::default() };
        web["signatures"] = serde_json::json!([key.key.sign_bent(testkit::PROOF_TYPE, &payload, &bent)]);
        assert_eq!(sealed(&pins, &web), Err(Refusal::WrongOrigin));
        let mut other = proof.clone();
        other["signatures"][0]["sshsig"] = serde_json::json!("no armour");
        assert_eq!(sealed(&pins, &other), Err(Refusal::Malformed));
        other["signatures"][0]["sshsig"] = serde_json::json!(["x"]);
        assert_eq!(sealed(&pins, &other), Err(Refusal::Malformed));
    }
}
