//! Randomness of the system, the only kind the hub uses: ids, tokens, nonces.

use proto::b64;

/// `N` random bytes.
///
/// The system's source cannot fail once a process runs on a supported kernel; if it ever does, the hub must not go on with
/// bytes somebody could guess, so it ends.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0_u8; N];
    #[expect(clippy::panic, reason = "a hub without randomness must not make tokens")]
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        panic!("the system gives no randomness");
    }
    bytes
}

/// A secret of 256 bits as text.
pub(crate) fn token() -> String {
    b64::encode(&bytes::<32>())
}

/// 128 bits as 32 hex digits, for ids.
pub(crate) fn hex() -> String {
    format!("{:032x}", u128::from_be_bytes(bytes()))
}
