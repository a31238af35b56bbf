//! Our verdict on keys and signatures against a second, independent implementation of P-256 and Ed25519, and the edges of RSA
//! keys (whose second implementation is the browser of the end-to-end tests).
#![cfg(test)]

use ed25519_dalek::{Signature as DalekSignature, VerifyingKey as DalekKey};
use p256::ecdsa::{DerSignature, VerifyingKey as P256Key, signature::Verifier as _};
use proof::{Alg, BadKey, PublicKey};
use proptest::prelude::*;
use testkit::SoftPasskey;

/// What the other implementation says; nothing about RSA.
fn other(alg: Alg, spki: &[u8], message: &[u8], signature: &[u8]) -> Option<bool> {
    match alg {
        Alg::Es256 => {
            let key = P256Key::from_sec1_bytes(&spki[26..]).unwrap();
            let signature = DerSignature::from_bytes(signature).ok();
            Some(signature.is_some_and(|signature| key.verify(message, &signature).is_ok()))
        }
        Alg::EdDsa => {
            let key = DalekKey::from_bytes(spki[12..].try_into().unwrap()).unwrap();
            let signature = DalekSignature::from_slice(signature).ok();
            Some(signature.is_some_and(|signature| key.verify(message, &signature).is_ok()))
        }
        Alg::Rs256 => None,
    }
}

struct Key {
    alg: Alg,
    passkey: SoftPasskey,
    spki: Vec<u8>,
    ours: PublicKey,
}

fn keys() -> Vec<Key> {
    testkit::Alg::ALL
        .into_iter()
        .map(|alg| {
            let passkey = SoftPasskey::new(alg);
            let (spki, alg) = (passkey.spki(), Alg::from_cose(alg.cose()).unwrap());
            let ours = PublicKey::parse(alg, &spki).unwrap();
            Key { alg, passkey, spki, ours }
        })
        .collect()
}

#[test]
fn both_implementations_agree_on_good_and_on_damaged_signatures() {
    let keys = keys();
    let damage = (any::<prop::sample::Index>(), 0..8_u32, any::<bool>(), any::<bool>());
    let strategy = (0..keys.len(), prop::collection::vec(any::<u8>(), 0..300), prop::option::of(damage));
    proptest!(ProptestConfig::with_cases(200), |((at, message, damage) in strategy)| {
        let key = &keys[at];
        let mut signature = key.passkey.raw_signature(&message);
        if let Some((index, bit, cut, longer)) = damage {
            let at = index.index(signature.len());
            signature[at] ^= 1 << bit;
            if cut {
                signature.truncate(at);
            } else if longer {
                signature.push(0);
            }
        }
        let ours = key.ours.verifies(&message, &signature);
        prop_assert_eq!(ours, damage.is_none());
        prop_assert_eq!(other(key.alg, &key.spki, &message, &signature).unwrap_or(ours), ours);
    });
}

#[test]
fn weak_ed25519_keys_are_refused_as_the_other_implementation_names_them() {
    let passkey = SoftPasskey::new(testkit::Alg::EdDsa);
    let head = passkey.spki()[..12].to_vec();
    let parse = |raw: &[u8]| PublicKey::parse(Alg::EdDsa, &[head.clone(), raw.to_vec()].concat()).map(|_| ());
    // Every point whose y has only low bytes, and every one just below and above the prime: all spellings of small
    // numbers, which is where the weak points with a short form are.
    let mut raws: Vec<[u8; 32]> =
        (0..=u8::MAX).map(|low| [[low].as_slice(), &[0; 31]].concat().try_into().unwrap()).collect();
    raws.extend((0..=u8::MAX).map(|low| {
        let raw: [u8; 32] = [[low].as_slice(), &[0xff; 30], &[0x7f]].concat().try_into().unwrap();
        raw
    }));
    // The two of order 8.
    for text in [
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    ] {
        raws.push(*proto::Digest::parse(text).unwrap().as_bytes());
    }
    let mut weak = 0;
    for mut raw in raws {
        for sign in [0, 0x80] {
            raw[31] = (raw[31] & 0x7f) | sign;
            let canonical = curve_y_is_below_the_prime(&raw);
            let Ok(theirs) = DalekKey::from_bytes(&raw) else { continue };
            weak += usize::from(theirs.is_weak());
            let ours = parse(&raw);
            assert_eq!(ours.is_ok(), canonical && !theirs.is_weak(), "{}", testkit::hex(&raw));
            if canonical && theirs.is_weak() {
                assert_eq!(ours, Err(BadKey::Weak));
            }
        }
    }
    assert!(weak >= 8, "{weak} weak spellings were met");
}

fn curve_y_is_below_the_prime(raw: &[u8; 32]) -> bool {
    raw[31] & 0x7f != 0x7f || raw[1..31].iter().any(|byte| *byte != 0xff) || raw[0] < 0xed
}

#[test]
fn a_point_off_the_curve_is_no_key_for_either() {
    let passkey = SoftPasskey::new(testkit::Alg::Es256);
    let mut spki = passkey.spki();
    spki[60] ^= 1;
    assert_eq!(PublicKey::parse(Alg::Es256, &spki).unwrap_err(), BadKey::Invalid);
    assert!(P256Key::from_sec1_bytes(&spki[26..]).is_err());
    let compressed = P256Key::from_sec1_bytes(&passkey.spki()[26..]).unwrap().to_encoded_point(true);
    let short = [&spki[..26], compressed.as_bytes()].concat();
    assert_eq!(PublicKey::parse(Alg::Es256, &short).unwrap_err(), BadKey::Form);
}

#[test]
fn spki_has_one_spelling() {
    for key in keys() {
        for at in 0..key.spki.len() {
            assert!(PublicKey::parse(key.alg, &key.spki[..at]).is_err(), "{:?} cut at {at}", key.alg);
        }
        assert!(PublicKey::parse(key.alg, &[&key.spki[..], &[0]].concat()).is_err(), "{:?} longer", key.alg);
        for wrong in [Alg::Es256, Alg::EdDsa, Alg::Rs256].into_iter().filter(|alg| *alg != key.alg) {
            assert_eq!(PublicKey::parse(wrong, &key.spki).unwrap_err(), BadKey::Form);
        }
    }
}

/// An RSA SPKI with a modulus of that many bits (all ones, odd) and exponent 65537.
fn rsa_spki(bits: usize) -> Vec<u8> {
    let mut modulus = vec![0xff; bits.div_ceil(8)];
    modulus[0] >>= (8 - bits % 8) % 8;
    if modulus[0] >= 0x80 {
        modulus.insert(0, 0);
    }
    let integer = |bytes: &[u8]| der(2, bytes);
    let numbers = der(0x30, &[integer(&modulus), integer(&[1, 0, 1])].concat());
    let oid = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    der(0x30, &[oid.to_vec(), der(3, &[vec![0], numbers].concat())].concat())
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let head = match length {
        [0, low @ 0..0x80] => vec![tag, low],
        [0, low] => vec![tag, 0x81, low],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [head, content.to_vec()].concat()
}

#[test]
fn rsa_keys_of_2048_to_4096_bits_are_accepted_and_no_others() {
    for (bits, verdict) in [
        (1024, Err(BadKey::RsaBits(1024))),
        (2047, Err(BadKey::RsaBits(2047))),
        (2048, Ok(())),
        (3482, Ok(())),
        (4096, Ok(())),
        (4097, Err(BadKey::RsaBits(4097))),
        (8192, Err(BadKey::RsaBits(8192))),
    ] {
        assert_eq!(PublicKey::parse(Alg::Rs256, &rsa_spki(bits)).map(|_| ()), verdict, "{bits}");
    }
}

#[test]
fn rsa_spki_is_strict_der() {
    let good = rsa_spki(2048);
    assert!(PublicKey::parse(Alg::Rs256, &good).is_ok());
    // The heads of its six values, each with another tag; each long length written one byte longer, or as another one.
    for at in [0, 4, 19, 24, 28, 289] {
        let mut bent = good.clone();
        bent[at] ^= 1;
        assert!(PublicKey::parse(Alg::Rs256, &bent).is_err(), "tag at {at}: {:#x}", good[at]);
    }
    let (head, body) = good.split_at(4);
    let longer = [&[head[0], 0x83, 0], &head[2..], body].concat();
    assert_eq!(PublicKey::parse(Alg::Rs256, &longer).unwrap_err(), BadKey::Form);
    let endless = [&[head[0], 0x80], body, &[0, 0]].concat();
    assert_eq!(PublicKey::parse(Alg::Rs256, &endless).unwrap_err(), BadKey::Form);
    let exponent = good.len() - 5;
    assert_eq!(good[exponent..], [2, 3, 1, 0, 1]);
    // 65537 with its length in the long form, and with a leading zero: two more spellings of the same key.
    for spelling in
        [&[2, 0x81, 3, 1, 0, 1][..], &[2, 0x82, 0, 3, 1, 0, 1], &[2, 4, 0, 1, 0, 1], &[2, 3, 0x81, 0, 1]]
    {
        let grown = u16::try_from(spelling.len() - 5).unwrap();
        let mut bent = [&good[..exponent], spelling].concat();
        for at in [2, 21, 26] {
            let length = u16::from_be_bytes([bent[at], bent[at + 1]]) + grown;
            bent[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
        assert_eq!(PublicKey::parse(Alg::Rs256, &bent).unwrap_err(), BadKey::Form, "{spelling:x?}");
    }
}
