//! Pin files and fingerprints, made from the design page.

use crate::{SoftPasskey, sha256};
use serde_json::{Value, json};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// The text of an `approvers.json` for the given executors and keys, quorum 1; any member may be changed by the caller.
#[must_use]
pub fn approvers_file(executors: &[&str], keys: &[&SoftPasskey]) -> Value {
    let keys: Vec<Value> = keys.iter().map(|key| key.pin_entry()).collect();
    json!({ "v": 1, "executor": executors, "quorum": {}, "keys": keys, "revoked": [] })
}

/// Writes a file that only its owner can read, making its folder.
pub fn write_private(path: &Path, text: &str) {
    use std::io::Write as _;
    let folder = path.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).expect("its folder");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).expect("an owner-only folder");
    let mut options = std::fs::OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(path).expect("a private file");
    file.write_all(text.as_bytes()).expect("its text");
}

/// First 20 base32 characters of SHA-256(spki), in fives joined by `-`.
#[must_use]
pub fn fingerprint(spki: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = sha256(spki);
    // 20 characters of 5 bits are 100 bits: each is read from its two bytes.
    let letter = |index: usize| {
        let bit = index * 5;
        let pair = u16::from(digest[bit / 8]) << 8 | u16::from(digest[bit / 8 + 1]);
        char::from(ALPHABET[usize::from(pair >> (11 - bit % 8) & 31)])
    };
    let letters: Vec<char> = (0..20).map(letter).collect();
    letters.chunks(5).map(|five| five.iter().collect::<String>()).collect::<Vec<_>>().join("-")
}
