//! Base64url without padding, canonical only. No other alphabet is accepted anywhere on our wire.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(false),
);

/// The text is not canonical base64url without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not canonical base64url without padding")]
pub struct BadBase64;

/// `bytes` as base64url without padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// The bytes that `text` stands for.
///
/// # Errors
/// [`BadBase64`] for padding, a foreign letter, or spare bits that are not zero.
pub fn decode(text: &str) -> Result<Vec<u8>, BadBase64> {
    ENGINE.decode(text).map_err(|_| BadBase64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_read() {
        assert_eq!(decode(&encode(b"\xff\xfe")), Ok(vec![0xff, 0xfe]));
        for bad in ["AA==", "A", "AB", "A+", "A/", " AA", "AA\n"] {
            assert_eq!(decode(bad), Err(BadBase64), "{bad}");
        }
        assert_eq!(decode(""), Ok(vec![]));
    }
}
