//! The proof object as it travels (step 1): sizes, exact members, canonical base64url, each signature of exactly one kind.
//!
//! Nothing in here is believed yet; the payload stays bytes until every signature over them has verified.

use proto::{Refusal, b64, limits};
use serde_json::value::RawValue;

use crate::challenge::PROOF_TYPE;
use crate::json::{self, BadJson, Object};

/// A proof that passed step 1.
pub(crate) struct Envelope<'a> {
    /// The exact bytes that were signed.
    pub(crate) payload: Vec<u8>,
    /// At least one.
    pub(crate) signatures: Vec<Signature>,
    /// The delegation's text, which makes this a vouch.
    pub(crate) delegation: Option<&'a RawValue>,
}

/// One signature.
pub(crate) struct Signature {
    pub(crate) keyid: String,
    pub(crate) kind: SignatureKind,
}

/// Its one kind.
pub(crate) enum SignatureKind {
    WebAuthn {
        authenticator_data: Vec<u8>,
        client_data: Vec<u8>,
        signature: Vec<u8>,
    },
    /// Armoured.
    SshSig(String),
    Ed25519(Vec<u8>),
}

impl<'a> Envelope<'a> {
    /// Step 1.
    pub(crate) fn parse(proof: &'a [u8]) -> Result<Self, Refusal> {
        if proof.len() > limits::PROOF_BYTES {
            return Err(Refusal::TooLarge);
        }
        let text = proof.trim_ascii();
        if text.is_empty() || text == b"null" {
            return Err(Refusal::NoSignature);
        }
        let envelope = read(text).map_err(|_| Refusal::Malformed)?;
        if envelope.signatures.is_empty() { Err(Refusal::NoSignature) } else { Ok(envelope) }
    }
}

fn read(text: &[u8]) -> Result<Envelope<'_>, BadJson> {
    let mut object = Object::parse(text)?;
    if object.text("payloadType")? != PROOF_TYPE {
        return Err(BadJson::Value("payloadType"));
    }
    let payload = bytes(&mut object, "payload")?;
    let mut signatures = vec![];
    for raw in json::array(object.take("signatures")?, "signatures")? {
        signatures.push(read_signature(raw.get().as_bytes())?);
    }
    let delegation = object.take_optional("delegation");
    object.finish()?;
    Ok(Envelope { payload, signatures, delegation })
}

impl Signature {
    /// Step 1 for one signature that travels alone (a login, or one more for a collecting payload).
    pub(crate) fn parse(signature: &[u8]) -> Result<Self, Refusal> {
        if signature.len() > limits::PROOF_BYTES {
            return Err(Refusal::TooLarge);
        }
        if signature.trim_ascii().is_empty() {
            return Err(Refusal::NoSignature);
        }
        read_signature(signature).map_err(|_| Refusal::Malformed)
    }
}

fn read_signature(text: &[u8]) -> Result<Signature, BadJson> {
    let mut object = Object::parse(text)?;
    let keyid = object.text("keyid")?;
    b64::decode(&keyid).map_err(|_| BadJson::Value("keyid"))?;
    let kind = if object.has("webauthn") {
        let mut inner = object.object("webauthn")?;
        let kind = SignatureKind::WebAuthn {
            authenticator_data: bytes(&mut inner, "authenticatorData")?,
            client_data: bytes(&mut inner, "clientDataJSON")?,
            signature: bytes(&mut inner, "signature")?,
        };
        inner.finish()?;
        kind
    } else if object.has("sshsig") {
        SignatureKind::SshSig(object.text("sshsig")?)
    } else {
        SignatureKind::Ed25519(bytes(&mut object, "ed25519")?)
    };
    // A second kind beside the first is left over here, and refused as unknown.
    object.finish()?;
    Ok(Signature { keyid, kind })
}

fn bytes(object: &mut Object<'_>, name: &'static str) -> Result<Vec<u8>, BadJson> {
    b64::decode(&object.text(name)?).map_err(|_| BadJson::Value(name))
}

/// A proof from payload bytes and signatures as they stood: how a hub adds a signature to a collecting payload.
///
/// # Errors
/// [`Refusal::Malformed`] where a signature's text is not JSON.
pub fn assemble(payload: &[u8], signatures: &[&str]) -> Result<String, Refusal> {
    let mut raw = Vec::with_capacity(signatures.len());
    for text in signatures {
        raw.push(serde_json::from_str::<&RawValue>(text).map_err(|_| Refusal::Malformed)?);
    }
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire<'a> {
        payload_type: &'a str,
        payload: String,
        signatures: Vec<&'a RawValue>,
    }
    serde_json::to_string(&Wire { payload_type: PROOF_TYPE, payload: b64::encode(payload), signatures: raw })
        .map_err(|_| Refusal::Malformed)
}
