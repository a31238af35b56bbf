//! A passkey in software: makes assertions over any payload, honest ones and ones bent in any single field.
//!
//! No registration ceremony: executors pin a public key by hand, so a pin entry is all they ever see of it.

use crate::{LOGIN_TYPE, PROOF_TYPE, Payload, b64, now_ms, sha256};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// User present, user verified.
const UP_UV: u8 = 0x05;
/// Backup eligible.
const BE: u8 = 0x08;

/// The algorithms an approver's key may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alg {
    /// ECDSA over P-256 with SHA-256, COSE -7.
    Es256,
    /// Ed25519, COSE -8.
    EdDsa,
    /// RSA PKCS#1 v1.5 with SHA-256, COSE -257.
    Rs256,
}

impl Alg {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// Its COSE number.
    #[must_use]
    pub fn cose(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
            Self::Rs256 => -257,
        }
    }
}

enum Key {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// A software passkey of one relying party.
pub struct SoftPasskey {
    id: [u8; 20],
    key: Key,
    rp_id: String,
    origin: String,
    label: String,
    person: Option<String>,
    backup_eligible: bool,
}

impl std::fmt::Debug for SoftPasskey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SoftPasskey({} `{}` at {})", self.alg().cose(), self.label, self.origin)
    }
}

/// What to bend in one assertion. The default bends nothing.
#[derive(Debug, Clone, Default)]
pub struct Bend {
    /// The flags byte, whole.
    pub flags: Option<u8>,
    /// The relying party whose hash goes into authenticatorData.
    pub rp_id: Option<String>,
    /// The sign counter.
    pub counter: u32,
    /// Bytes after the 37 of authenticatorData.
    pub tail: Vec<u8>,
    /// clientDataJSON's `type`.
    pub client_type: Option<String>,
    /// clientDataJSON's `origin`.
    pub origin: Option<String>,
    /// The challenge, in place of the payload's.
    pub challenge: Option<Vec<u8>>,
    /// clientDataJSON's `crossOrigin` set to true.
    pub cross_origin: bool,
    /// No `crossOrigin` member at all, as WebKit writes it.
    pub webkit: bool,
    /// A `topOrigin` member.
    pub top_origin: Option<String>,
    /// Text put before the closing brace of clientDataJSON, with its own comma.
    pub client_tail: String,
    /// clientDataJSON, whole.
    pub client_data: Option<Vec<u8>>,
    /// The last bit of the signature flipped.
    pub bad_signature: bool,
    /// The keyid in place of its own.
    pub keyid: Option<String>,
}

/// Pre-authentication encoding: what the challenge is the SHA-256 of.
#[must_use]
pub fn pae(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}

impl SoftPasskey {
    /// A fresh key for `localhost` at `http://localhost:8787`, not backed up.
    #[must_use]
    pub fn new(alg: Alg) -> Self {
        Self::at(alg, "http://localhost:8787")
    }

    /// A fresh key for the page at `origin`; its relying party is the origin's host.
    #[must_use]
    pub fn at(alg: Alg, origin: &str) -> Self {
        let key = match alg {
            Alg::Es256 => {
                Key::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a P-256 key"))
            }
            Alg::EdDsa => Key::EdDsa(Ed25519KeyPair::generate().expect("an Ed25519 key")),
            Alg::Rs256 => Key::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).expect("an RSA key")),
        };
        let mut id = [0; 20];
        aws_lc_rs::rand::fill(&mut id).expect("system randomness");
        let host = origin.split_once("://").expect("an origin").1;
        let rp_id = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
        let (origin, label) = (origin.to_owned(), "phone".to_owned());
        Self { id, key, rp_id, origin, label, person: None, backup_eligible: false }
    }

    /// With a label.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Owned by a named person.
    #[must_use]
    pub fn person(mut self, person: &str) -> Self {
        self.person = Some(person.to_owned());
        self
    }

    /// A synced key: backup eligible, and backed up.
    #[must_use]
    pub fn synced(mut self) -> Self {
        self.backup_eligible = true;
        self
    }

    /// Its algorithm.
    #[must_use]
    pub fn alg(&self) -> Alg {
        match self.key {
            Key::Es256(_) => Alg::Es256,
            Key::EdDsa(_) => Alg::EdDsa,
            Key::Rs256(_) => Alg::Rs256,
        }
    }

    /// Its credential id, base64url.
    #[must_use]
    pub fn id(&self) -> String {
        b64(&self.id)
    }

    /// Its public key, SPKI DER.
    #[must_use]
    pub fn spki(&self) -> Vec<u8> {
        let der = match &self.key {
            Key::Es256(pair) => pair.public_key().as_der(),
            Key::EdDsa(pair) => pair.public_key().as_der(),
            Key::Rs256(pair) => pair.public_key().as_der(),
        };
        der.expect("an SPKI").as_ref().to_vec()
    }

    /// Its entry in a pin file.
    #[must_use]
    pub fn pin_entry(&self) -> Value {
        let mut entry = json!({
            "id": self.id(), "alg": self.alg().cose(), "spki": b64(&self.spki()), "rp_id": self.rp_id,
            "origins": [self.origin], "label": self.label, "not_after": null,
            "backup_eligible": self.backup_eligible, "since": now_ms() - 86_400_000,
        });
        if let Some(person) = &self.person {
            entry["person"] = json!(person);
        }
        entry
    }

    /// Its private key as PKCS#8, to plant it in a browser's virtual authenticator.
    #[must_use]
    pub fn pkcs8(&self) -> Vec<u8> {
        match &self.key {
            Key::Es256(pair) => pair.to_pkcs8v1().expect("PKCS#8").as_ref().to_vec(),
            Key::EdDsa(pair) => pair.to_pkcs8v1().expect("PKCS#8").as_ref().to_vec(),
            Key::Rs256(pair) => {
                let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().expect("PKCS#8");
                der.as_ref().to_vec()
            }
        }
    }

    /// One signature object over the payload of a proof.
    #[must_use]
    pub fn sign(&self, payload: &Payload) -> Value {
        self.sign_bent(PROOF_TYPE, &payload.bytes(), &Bend::default())
    }

    /// A whole proof with this one signature.
    #[must_use]
    pub fn proof(&self, payload: &Payload) -> Value {
        proof_of(payload, &[self])
    }

    /// The body of `POST /api/login/finish` (and of `resume`) for a nonce of the hub's.
    #[must_use]
    pub fn login(&self, nonce: &str) -> Value {
        let payload = Payload::login(nonce, &self.origin).bytes();
        let signature = self.sign_bent(LOGIN_TYPE, &payload, &Bend::default());
        json!({ "payload": b64(&payload), "signature": signature })
    }

    /// One signature object over any bytes under any payload type, bent.
    #[must_use]
    pub fn sign_bent(&self, payload_type: &str, payload: &[u8], bend: &Bend) -> Value {
        let challenge =
            bend.challenge.clone().unwrap_or_else(|| sha256(&pae(payload_type, payload)).to_vec());
        let client_data = bend.client_data.clone().unwrap_or_else(|| self.client_data(&challenge, bend));
        let auth_data = self.authenticator_data(bend);
        let signed = [auth_data.as_slice(), &sha256(&client_data)].concat();
        let mut signature = self.raw_signature(&signed);
        if bend.bad_signature {
            *signature.last_mut().expect("a signature has bytes") ^= 1;
        }
        json!({
            "keyid": bend.keyid.clone().unwrap_or_else(|| self.id()),
            "webauthn": {
                "authenticatorData": b64(&auth_data),
                "clientDataJSON": b64(&client_data),
                "signature": b64(&signature),
            },
        })
    }

    fn client_data(&self, challenge: &[u8], bend: &Bend) -> Vec<u8> {
        let kind = bend.client_type.as_deref().unwrap_or("webauthn.get");
        let origin = bend.origin.as_deref().unwrap_or(&self.origin);
        let mut text = format!(r#"{{"type":"{kind}","challenge":"{}","origin":"{origin}""#, b64(challenge));
        if !bend.webkit {
            text += &format!(r#","crossOrigin":{}"#, bend.cross_origin);
        }
        if let Some(top) = &bend.top_origin {
            text += &format!(r#","topOrigin":"{top}""#);
        }
        text += &bend.client_tail;
        text += "}";
        text.into_bytes()
    }

    fn authenticator_data(&self, bend: &Bend) -> Vec<u8> {
        let backup = if self.backup_eligible { BE | BE << 1 } else { 0 };
        let mut data = sha256(bend.rp_id.as_deref().unwrap_or(&self.rp_id).as_bytes()).to_vec();
        data.push(bend.flags.unwrap_or(UP_UV | backup));
        data.extend_from_slice(&bend.counter.to_be_bytes());
        data.extend_from_slice(&bend.tail);
        data
    }

    /// The bare signature of this key over some bytes.
    #[must_use]
    pub fn raw_signature(&self, signed: &[u8]) -> Vec<u8> {
        let rng = SystemRandom::new();
        match &self.key {
            Key::Es256(pair) => pair.sign(&rng, signed).expect("a P-256 signature").as_ref().to_vec(),
            Key::EdDsa(pair) => pair.sign(signed).as_ref().to_vec(),
            Key::Rs256(pair) => {
                let mut out = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &rng, signed, &mut out).expect("an RSA signature");
                out
            }
        }
    }
}

/// A proof of one payload with the signatures of several keys.
#[must_use]
pub fn proof_of(payload: &Payload, keys: &[&SoftPasskey]) -> Value {
    let signatures: Vec<Value> = keys.iter().map(|key| key.sign(payload)).collect();
    proof_with(&payload.bytes(), &signatures)
}

/// A proof of any payload bytes with any signatures.
#[must_use]
pub fn proof_with(payload: &[u8], signatures: &[Value]) -> Value {
    json!({ "payloadType": PROOF_TYPE, "payload": b64(payload), "signatures": signatures })
}

#[cfg(test)]
mod tests;
