//! The software passkey against the bare crypto library and against fixed values of the design page.

use super::*;
use crate::{fingerprint, hash_item, unb64};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256};

fn verifies(key: &SoftPasskey, signature: &Value) -> bool {
    let part = |name: &str| unb64(signature["webauthn"][name].as_str().unwrap());
    let signed = [part("authenticatorData"), sha256(&part("clientDataJSON")).to_vec()].concat();
    let spki = key.spki();
    let public = match key.alg() {
        Alg::Es256 => ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &spki),
        Alg::EdDsa => ParsedPublicKey::new(&ED25519, &spki),
        Alg::Rs256 => ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &spki),
    };
    public.unwrap().verify_sig(&signed, &part("signature")).is_ok()
}

#[test]
fn an_assertion_of_each_algorithm_verifies_and_a_flipped_one_does_not() {
    for alg in Alg::ALL {
        let key = SoftPasskey::new(alg);
        let payload = Payload::approve(&["00"]);
        assert!(verifies(&key, &key.sign(&payload)), "{key:?}");
        let bend = Bend { bad_signature: true, ..Bend::default() };
        assert!(!verifies(&key, &key.sign_bent(PROOF_TYPE, &payload.bytes(), &bend)), "{key:?}");
    }
}

#[test]
fn the_item_hash_of_the_published_vector_comes_out() {
    let fields = [
        "ask-eee65f53e9421ce50211670eae679f02",
        "hook@laptop",
        "claude",
        "s1",
        "Bash",
        "{\"command\": \"make deploy\", \"description\": \"Zürich ☃\"}",
        "/repo",
    ];
    assert_eq!(hash_item("ask", &fields), "dc8fd9e1a1f3d42b1a008668b71e7055c878ff01342d4b166bbf04e03d702f44");
}

#[test]
fn a_fingerprint_is_four_fives_of_base32() {
    // SHA-256("abc") is ba7816bf 8f01cfea 414140de …
    assert_eq!(fingerprint(b"abc"), "XJ4BN-P4PAH-H6UQK-BIDPF");
}

#[test]
fn client_data_is_the_form_of_the_browsers() {
    let key = SoftPasskey::at(Alg::EdDsa, "http://seal-abcdefgh.localhost:8787");
    let text = |bend: &Bend| String::from_utf8(key.client_data(&[0; 3], bend)).unwrap();
    assert_eq!(
        text(&Bend::default()),
        r#"{"type":"webauthn.get","challenge":"AAAA","origin":"http://seal-abcdefgh.localhost:8787","crossOrigin":false}"#
    );
    let webkit = Bend { webkit: true, ..Bend::default() };
    assert!(text(&webkit).ends_with(r#":8787"}"#));
    assert_eq!(key.pin_entry()["rp_id"], "seal-abcdefgh.localhost");
}
