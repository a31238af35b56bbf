//! What a proof costs: steps 1 to 8 against a bare P-256 verification of the same library, and the claim in flushes.
//!
//! Ratios within one run, with sample counts; the machine's own speed does not matter. Exit 1 where the budget is not kept.
//! Not here: reading and parsing the pin file (once per process), and the road through the hub (`sealward`'s benches).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program that prints numbers"
)]

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ParsedPublicKey};
use proof::{Approvers, ExecutorCheck, ReplayStore, item_hash};
use proto::{AskItem, Item, Timestamp};
use testkit::{Alg, Payload, SoftPasskey, approvers_file};

/// The budget: steps 1 to 8 with parsed pins, in bare verifications.
const CHECK_MAX: f64 = 1.3;
const BATCHES: usize = 400;
const PER_BATCH: u32 = 25;
const CLAIMS: usize = 300;

fn main() -> ExitCode {
    let phone = SoftPasskey::new(Alg::Es256);
    let ratio = bench_check(&phone);
    bench_claim(&phone);
    if ratio <= CHECK_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn item(n: usize) -> Item {
    Item::Ask(AskItem {
        id: format!("ask-{n:032x}"),
        executor: "hook@laptop".to_owned(),
        agent: "claude".to_owned(),
        session: "0198c4f2-6d1c-7a3e-9a55-1f0f0b1f2c3d".to_owned(),
        tool: "Bash".to_owned(),
        input: r#"{"command":"make deploy TARGET=staging","description":"Deploy to staging"}"#.to_owned(),
        cwd: "/home/ada/src/api-server".to_owned(),
    })
}

fn proof_for(phone: &SoftPasskey, item: &Item) -> Vec<u8> {
    phone.proof(&Payload::approve(&[item_hash(item).to_string()])).to_string().into_bytes()
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn per(batch: impl Fn()) -> Duration {
    let start = Instant::now();
    for _ in 0..PER_BATCH {
        batch();
    }
    start.elapsed() / PER_BATCH
}

/// Steps 1 to 8, in turns with bare verifications of the very same signature.
fn bench_check(phone: &SoftPasskey) -> f64 {
    let item = item(0);
    let proof = proof_for(phone, &item);
    let pins = approvers_file(&["hook@laptop"], &[phone]).to_string();
    let approvers = Approvers::parse(pins.as_bytes()).unwrap();
    let now = Timestamp::from_millis(testkit::now_ms() + 1000);
    let identity = Some("hook@laptop");
    let check = ExecutorCheck {
        approvers: &approvers,
        identity,
        item: &item,
        quorum_at_least: 0,
        human_only: false,
        now,
    };

    let parsed: serde_json::Value = serde_json::from_slice(&proof).unwrap();
    let part = |name: &str| testkit::unb64(parsed["signatures"][0]["webauthn"][name].as_str().unwrap());
    let message = [part("authenticatorData"), testkit::sha256(&part("clientDataJSON")).to_vec()].concat();
    let signature = part("signature");
    let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &phone.spki()[26..]).unwrap();

    let (mut bare, mut whole) = (vec![], vec![]);
    for _ in 0..BATCHES {
        bare.push(per(|| key.verify_sig(black_box(&message), black_box(&signature)).unwrap()));
        whole.push(per(|| drop(black_box(check.check(black_box(&proof)).unwrap()))));
    }
    let (bare, whole) = (median(&mut bare), median(&mut whole));
    let ratio = whole.as_secs_f64() / bare.as_secs_f64();
    println!("bare P-256 verification     {bare:>10.2?}   median of {BATCHES} batches of {PER_BATCH}");
    println!("proof check, steps 1 to 8   {whole:>10.2?}   median of {BATCHES} batches of {PER_BATCH}");
    println!("ratio                       {ratio:>10.3}   at most {CHECK_MAX}");
    ratio
}

/// Step 9, in turns with one flush of a small file in the same folder.
fn bench_claim(phone: &SoftPasskey) {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("claims-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    // Later than every proof below, but by less than the skew.
    let now = Timestamp::from_millis(testkit::now_ms() + 50_000);
    let store = ReplayStore::create(&home.join("replay"), now).unwrap();
    let pins = approvers_file(&["hook@laptop"], &[phone]).to_string();
    let approvers = Approvers::parse(pins.as_bytes()).unwrap();
    let mut bare_file = File::create(store.path().join("bare")).unwrap();
    let (mut flush, mut pair, mut claim) = (vec![], vec![], vec![]);
    for n in 0..CLAIMS {
        let item = item(n);
        let proof = proof_for(phone, &item);
        let check = ExecutorCheck {
            approvers: &approvers,
            identity: None,
            item: &item,
            quorum_at_least: 0,
            human_only: false,
            now,
        };
        let sealed = check.check(&proof).unwrap();
        flush.push(timed(|| one_flush(&mut bare_file)));
        pair.push(timed(|| file_and_folder(store.path(), n)));
        claim.push(timed(|| drop(sealed.claim(&store, now).unwrap())));
    }
    std::fs::remove_dir_all(&home).unwrap();
    let (flush, pair, claim) = (median(&mut flush), median(&mut pair), median(&mut claim));
    let in_flushes = claim.as_secs_f64() / flush.as_secs_f64();
    println!("one flush of a small file   {flush:>10.2?}   median of {CLAIMS} (overwrite, fdatasync)");
    println!("new file and its folder     {pair:>10.2?}   median of {CLAIMS} (create, fsync, fsync)");
    println!("claim, step 9               {claim:>10.2?}   median of {CLAIMS}; {in_flushes:.2} flushes");
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn one_flush(file: &mut File) {
    file.rewind().unwrap();
    file.write_all(b"1800000003600000\n").unwrap();
    file.sync_data().unwrap();
}

/// The least that a claim must do: a new file on disk, by name.
fn file_and_folder(folder: &Path, n: usize) {
    let path = folder.join(format!("bare-{n}"));
    let mut file = OpenOptions::new().create_new(true).write(true).open(path).unwrap();
    file.write_all(b"1800000003600000\n").unwrap();
    file.sync_all().unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}
