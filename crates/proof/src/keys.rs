//! Public keys as pinned: which ones are fit to be pinned at all, and verification with the pinned algorithm.
//!
//! SPKI is compared with its one DER form byte by byte, so that a key has exactly one spelling (and one fingerprint).
//! Not here: where keys are kept (`pins`) and what they sign (`webauthn`, `sshsig`).

use std::fmt;

use aws_lc_rs::signature::{self, ParsedPublicKey, VerificationAlgorithm};
use proto::limits;

/// The three algorithms an approver's key may have (COSE numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alg {
    /// -7: ECDSA on P-256 with SHA-256.
    Es256,
    /// -8: Ed25519.
    EdDsa,
    /// -257: RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

impl Alg {
    /// The algorithm of a COSE number, if it is one of the three.
    #[must_use]
    pub fn from_cose(number: i64) -> Option<Self> {
        match number {
            -7 => Some(Self::Es256),
            -8 => Some(Self::EdDsa),
            -257 => Some(Self::Rs256),
            _ => None,
        }
    }

    /// Its COSE number.
    #[must_use]
    pub fn cose(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
            Self::Rs256 => -257,
        }
    }

    fn verifier(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &signature::ECDSA_P256_SHA256_ASN1,
            Self::EdDsa => &signature::ED25519,
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

/// Why a key must not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// The algorithm is not -7, -8 or -257.
    #[error("the algorithm is not ES256 (-7), EdDSA (-8) or RS256 (-257); make a passkey of one of these")]
    Algorithm,
    /// The SPKI is not the one DER form of a key of that algorithm: other curve, compressed point, other key type, junk.
    #[error("the public key is not a P-256, Ed25519 or RSA key of the named algorithm in DER form")]
    Form,
    /// Ed25519: the point is not written canonically.
    #[error("the Ed25519 key is not canonical")]
    NotCanonical,
    /// Ed25519: the point has small order, so that anyone can sign.
    #[error("the Ed25519 key is weak")]
    Weak,
    /// RSA: under 2048 or over 4096 bits.
    #[error("the RSA key has {0} bits; 2048 to 4096 are accepted")]
    RsaBits(usize),
    /// The point is not on the curve, or the library refuses the key for another reason.
    #[error("the public key is not valid")]
    Invalid,
}

const P256_SPKI: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const P256_POINT: usize = 65;
const ED25519_SPKI: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const RSA_OID_AND_NULL: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// Ed25519 y-coordinates (little endian) of all points of small order; the sign bit is masked before comparing.
const ED25519_SMALL_ORDER: [[u8; 32]; 5] = [
    [0; 32],
    {
        let mut one = [0; 32];
        one[0] = 1;
        one
    },
    {
        let mut minus_one = [0xff; 32];
        minus_one[0] = 0xec;
        minus_one[31] = 0x7f;
        minus_one
    },
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
];

/// A key that may be pinned, parsed once; it verifies with its own algorithm and no other.
pub struct PublicKey {
    alg: Alg,
    raw: Vec<u8>,
    parsed: ParsedPublicKey,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey").field("alg", &self.alg).finish_non_exhaustive()
    }
}

impl PublicKey {
    /// Reads an SPKI and refuses every key that must not be pinned.
    ///
    /// # Errors
    /// [`BadKey`] says which rule it breaks.
    pub fn parse(alg: Alg, spki: &[u8]) -> Result<Self, BadKey> {
        let raw = match alg {
            Alg::Es256 => {
                let point = spki.strip_prefix(P256_SPKI).ok_or(BadKey::Form)?;
                if point.len() != P256_POINT || point.first() != Some(&4) {
                    return Err(BadKey::Form);
                }
                point
            }
            Alg::EdDsa => {
                let point = spki.strip_prefix(ED25519_SPKI).ok_or(BadKey::Form)?;
                check_ed25519(point)?;
                point
            }
            Alg::Rs256 => {
                let (key, bits) = read_rsa(spki).ok_or(BadKey::Form)?;
                if !(limits::RSA_BITS_MIN..=limits::RSA_BITS_MAX).contains(&bits) {
                    return Err(BadKey::RsaBits(bits));
                }
                key
            }
        };
        let parsed = ParsedPublicKey::new(alg.verifier(), raw).map_err(|_| BadKey::Invalid)?;
        Ok(Self { alg, raw: raw.to_vec(), parsed })
    }

    /// An Ed25519 key from its 32 bytes, under the same rules.
    ///
    /// # Errors
    /// [`BadKey`] says which rule it breaks.
    pub fn ed25519(raw: &[u8]) -> Result<Self, BadKey> {
        let mut spki = ED25519_SPKI.to_vec();
        spki.extend_from_slice(raw);
        Self::parse(Alg::EdDsa, &spki)
    }

    /// Its algorithm.
    #[must_use]
    pub fn alg(&self) -> Alg {
        self.alg
    }

    /// The key's own bytes: the uncompressed point, the 32 bytes of Ed25519, or RSA's modulus and exponent in DER.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Whether `signature` is one over `message`. ECDSA signatures are DER.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.parsed.verify_sig(message, signature).is_ok()
    }
}

fn check_ed25519(point: &[u8]) -> Result<(), BadKey> {
    let mut y: [u8; 32] = point.try_into().map_err(|_| BadKey::Form)?;
    if let Some(top) = y.last_mut() {
        *top &= 0x7f;
    }
    if ED25519_SMALL_ORDER.contains(&y) {
        return Err(BadKey::Weak);
    }
    // The field's prime is 2^255 - 19: little endian ed, ff…, 7f. What is not below it is a second spelling of y - p.
    let [low, middle @ .., top] = y;
    if top == 0x7f && middle.iter().all(|b| *b == 0xff) && low >= 0xed {
        return Err(BadKey::NotCanonical);
    }
    Ok(())
}

/// The `RSAPublicKey` inside an SPKI and its modulus' length in bits; `None` if it is not strict DER.
fn read_rsa(spki: &[u8]) -> Option<(&[u8], usize)> {
    let (outer, rest) = der(0x30, spki)?;
    let bits = outer.strip_prefix(RSA_OID_AND_NULL)?;
    let (bits, after) = der(0x03, bits)?;
    let key = bits.strip_prefix(&[0])?;
    let (numbers, end) = der(0x30, key)?;
    let (modulus, numbers) = der(0x02, numbers)?;
    let (exponent, numbers) = der(0x02, numbers)?;
    let bits = positive_bits(modulus)?;
    positive_bits(exponent)?;
    [rest, after, end, numbers].iter().all(|left| left.is_empty()).then_some((key, bits))
}

/// Bits of a positive, minimally written DER integer.
fn positive_bits(integer: &[u8]) -> Option<usize> {
    let magnitude = match integer {
        [0, next, ..] if *next >= 0x80 => integer.get(1..)?,
        [first, ..] if (1..0x80).contains(first) => integer,
        _ => return None,
    };
    let unused = usize::try_from(magnitude.first()?.leading_zeros()).ok()?;
    magnitude.len().checked_mul(8)?.checked_sub(unused)
}

/// One DER value with that tag: its content and what follows. Lengths must be minimal.
fn der(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&[a], rest) = rest.split_first_chunk::<1>()?;
            (usize::from(a), rest)
        }
        0x82 => {
            let (&[a, b], rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes([a, b])), rest)
        }
        _ => return None,
    };
    let shortest = match length {
        0..=0x7f => 0,
        0x80..=0xff => 0x81,
        _ => 0x82,
    };
    if (shortest == 0) == (first >= 0x80) || (shortest != 0 && first != shortest) {
        return None;
    }
    rest.split_at_checked(length)
}
