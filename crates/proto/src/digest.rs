//! SHA-256 digests and their one written form, 64 lower-case hex digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// A SHA-256 digest; on the wire 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The text is not 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: 64 lower-case hex digits are wanted")]
pub struct BadDigest;

/// SHA-256 of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    let mut out = [0; 32];
    out.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes).as_ref());
    Digest(out)
}

impl Digest {
    /// 32 zero bytes: what stands before the first record of a chain.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 lower-case hex digits.
    ///
    /// # Errors
    /// [`BadDigest`] for any other length or letter, upper case included.
    pub fn parse(text: &str) -> Result<Self, BadDigest> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(BadDigest);
        }
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                *byte = *byte << 4 | nibble(*digit).ok_or(BadDigest)?;
            }
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            for digit in [byte >> 4, byte & 15] {
                if let Some(letter) = HEX.get(usize::from(digit)) {
                    text.push(char::from(*letter));
                }
            }
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_form_is_lower_case_hex_and_reads_back() {
        let digest = sha256(b"abc");
        let text = digest.to_string();
        assert_eq!(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&text), Ok(digest));
        assert_eq!(Digest::parse(&text.to_uppercase()), Err(BadDigest));
        assert_eq!(Digest::parse(text.trim_start_matches(char::is_alphanumeric)), Err(BadDigest));
        assert_eq!(Digest::parse(&format!("{text}0")), Err(BadDigest));
    }
}
