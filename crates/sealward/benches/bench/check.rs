//! Steps 1 to 8 with parsed pins against the bare P-256 verification of the same library; the claim apart.

use crate::samples::Samples;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ParsedPublicKey};
use proof::{Approvers, ExecutorCheck, ReplayStore};
use proto::{AskItem, Item, Timestamp};
use std::time::Instant;
use testkit::{Alg, Fields, Payload, SoftPasskey, Temp, approvers_file, now_ms, sha256, unb64};

/// Checks timed, each between two bare verifications, so that a change of clock speed meets both.
const CHECKS: usize = 5_000;
/// Claims timed: each leaves two flushes on the disk.
const CLAIMS: usize = 200;

/// What a check and a claim cost.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) bare: Samples,
    pub(crate) whole: Samples,
    pub(crate) claim: Samples,
}

pub(crate) fn run(folder: &Temp) -> Check {
    let key = SoftPasskey::new(Alg::Es256);
    let approvers =
        Approvers::parse(approvers_file(&["hook@bench"], &[&key]).to_string().as_bytes()).unwrap();
    let (mut bare, mut whole) = (Samples::default(), Samples::default());
    let (item, proof) = sealed(&key);
    let check = ExecutorCheck {
        approvers: &approvers,
        identity: Some("hook@bench"),
        item: &item,
        quorum_at_least: 1,
        human_only: false,
        now: Timestamp::from_millis(now_ms()),
    };
    let (public, message, signature) = parts(&key, &proof);
    for _ in 0..CHECKS {
        let start = Instant::now();
        public.verify_sig(&message, &signature).expect("a good signature");
        let middle = Instant::now();
        drop(check.check(proof.as_bytes()).expect("a good proof"));
        whole.push(middle.elapsed());
        bare.push(middle - start);
    }
    Check { bare, whole, claim: claims(folder, &key, &approvers) }
}

/// An ask of middling size and its proof.
fn sealed(key: &SoftPasskey) -> (Item, String) {
    let ask = AskItem {
        id: testkit::new_id("ask"),
        executor: "hook@bench".to_owned(),
        agent: "claude".to_owned(),
        session: "bench".to_owned(),
        tool: "Bash".to_owned(),
        input: r#"{"command":"make deploy","description":"Deploy the API server"}"#.to_owned(),
        cwd: "/srv/api-server".to_owned(),
    };
    let fields = serde_json::to_value(&ask).unwrap();
    let proof = key.proof(&Payload::approve(&[Fields::of("ask", &fields).hash()]));
    (Item::Ask(ask), proof.to_string())
}

fn parts(key: &SoftPasskey, proof: &str) -> (ParsedPublicKey, Vec<u8>, Vec<u8>) {
    let proof: serde_json::Value = serde_json::from_str(proof).unwrap();
    let part = |name: &str| {
        unb64(proof.pointer(&format!("/signatures/0/webauthn/{name}")).unwrap().as_str().unwrap())
    };
    let message = [part("authenticatorData"), sha256(&part("clientDataJSON")).to_vec()].concat();
    let public = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.spki()).unwrap();
    (public, message, part("signature"))
}

fn claims(folder: &Temp, key: &SoftPasskey, approvers: &Approvers) -> Samples {
    let started = Timestamp::from_millis(now_ms());
    let store = ReplayStore::create(&folder.join("replay"), started).unwrap();
    let claim = || {
        let (item, proof) = sealed(key);
        let now = Timestamp::from_millis(now_ms());
        let check = ExecutorCheck {
            approvers,
            identity: Some("hook@bench"),
            item: &item,
            quorum_at_least: 1,
            human_only: false,
            now,
        };
        let sealed = check.check(proof.as_bytes()).unwrap();
        let start = Instant::now();
        drop(sealed.claim(&store, now).unwrap());
        start.elapsed()
    };
    std::iter::repeat_with(claim).take(CLAIMS).collect()
}
