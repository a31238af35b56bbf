//! An armoured SSHSIG by a security key under one pinned key (steps 3 to 5 for SSH keys).
//!
//! Only `sk-ssh-ed25519@openssh.com` and `sk-ecdsa-sha2-nistp256@openssh.com`, whose flags say that a person was present
//! and verified; a key in a file has no such bits and is never pinned. Not here: agents, key files, certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proto::api::PinEntry;
use proto::{Digest, Refusal, b64, sha256};

use crate::keys::{Alg, PublicKey};

/// The one namespace in which approvers sign.
pub const NAMESPACE: &str = "sealward";

const SK_ED25519: &[u8] = b"sk-ssh-ed25519@openssh.com";
const SK_ECDSA: &[u8] = b"sk-ecdsa-sha2-nistp256@openssh.com";
const CURVE: &[u8] = b"nistp256";
const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const FLAG_UP: u8 = 0x01;
const FLAG_UV: u8 = 0x04;

/// The key blob of a security key, as OpenSSH writes it. `None` for RSA, which no SSH security key has.
fn key_blob(key: &PublicKey, application: &str) -> Option<Vec<u8>> {
    let mut blob = vec![];
    match key.alg() {
        Alg::EdDsa => put(&mut blob, SK_ED25519),
        Alg::Es256 => {
            put(&mut blob, SK_ECDSA);
            put(&mut blob, CURVE);
        }
        Alg::Rs256 => return None,
    }
    put(&mut blob, key.raw());
    put(&mut blob, application.as_bytes());
    Some(blob)
}

/// The id under which an SSH security key is pinned: base64url SHA-256 of its key blob.
#[must_use]
pub fn key_id(key: &PublicKey, application: &str) -> Option<String> {
    Some(b64::encode(sha256(&key_blob(key, application)?).as_bytes()))
}

/// Steps 3 to 5 for an SSH key. `message` is the PAE text.
pub(crate) fn check(armour: &str, message: &[u8], entry: &PinEntry, key: &PublicKey) -> Result<(), Refusal> {
    let blob = unarmour(armour).ok_or(Refusal::Malformed)?;
    let sig = SshSig::read(&blob).ok_or(Refusal::Malformed)?;
    if sig.namespace != NAMESPACE.as_bytes() {
        return Err(Refusal::WrongType);
    }
    let embedded = SkKey::read(sig.public_key, key.alg()).ok_or(Refusal::NotPinned)?;
    if embedded.raw != key.raw() {
        return Err(Refusal::NotPinned);
    }
    if embedded.application != entry.rp_id.as_bytes() {
        return Err(Refusal::WrongRp);
    }
    // A key pinned for a site is no SSH key, though its numbers be the same.
    if b64::encode(sha256(sig.public_key).as_bytes()) != entry.id {
        return Err(Refusal::NotPinned);
    }
    let signature = SkSignature::read(sig.signature, key.alg()).ok_or(Refusal::Malformed)?;
    if signature.flags & FLAG_UP == 0 {
        return Err(Refusal::UserAbsent);
    }
    if signature.flags & FLAG_UV == 0 {
        return Err(Refusal::UserUnverified);
    }
    let signed = sig.signed(message).ok_or(Refusal::Malformed)?;
    let mut text = sha256(embedded.application).as_bytes().to_vec();
    text.push(signature.flags);
    text.extend_from_slice(&signature.counter.to_be_bytes());
    text.extend_from_slice(signed.as_bytes());
    if key.verifies(&text, &signature.value) { Ok(()) } else { Err(Refusal::BadSignature) }
}

/// The blob inside the armour as `ssh-keygen` writes it: lines ended by `\n` alone (the last end may be missing), nothing around.
fn unarmour(armour: &str) -> Option<Vec<u8>> {
    let body = armour.strip_prefix(BEGIN)?.strip_prefix('\n')?;
    let body = body.strip_suffix('\n').unwrap_or(body).strip_suffix(END)?.strip_suffix('\n')?;
    let base64: String = body.split('\n').collect();
    STANDARD.decode(base64).ok()
}

/// An SSHSIG blob, taken apart.
struct SshSig<'a> {
    public_key: &'a [u8],
    namespace: &'a [u8],
    hash: &'a [u8],
    signature: &'a [u8],
}

impl<'a> SshSig<'a> {
    fn read(blob: &'a [u8]) -> Option<Self> {
        let rest = blob.strip_prefix(MAGIC)?;
        let (version, mut rest) = rest.split_first_chunk::<4>()?;
        if u32::from_be_bytes(*version) != 1 {
            return None;
        }
        let public_key = take(&mut rest)?;
        let namespace = take(&mut rest)?;
        let reserved = take(&mut rest)?;
        let hash = take(&mut rest)?;
        let signature = take(&mut rest)?;
        (rest.is_empty() && reserved.is_empty()).then_some(Self { public_key, namespace, hash, signature })
    }

    /// SHA-256 of what SSHSIG has an authenticator sign: magic, namespace, reserved, hash name, hash of the message.
    fn signed(&self, message: &[u8]) -> Option<Digest> {
        use aws_lc_rs::digest;
        let algorithm = match self.hash {
            b"sha256" => &digest::SHA256,
            b"sha512" => &digest::SHA512,
            _ => return None,
        };
        let mut text = MAGIC.to_vec();
        put(&mut text, self.namespace);
        put(&mut text, b"");
        put(&mut text, self.hash);
        put(&mut text, digest::digest(algorithm, message).as_ref());
        Some(sha256(&text))
    }
}

/// A security key's public key blob, taken apart.
struct SkKey<'a> {
    raw: &'a [u8],
    application: &'a [u8],
}

impl<'a> SkKey<'a> {
    fn read(mut blob: &'a [u8], alg: Alg) -> Option<Self> {
        let name = take(&mut blob)?;
        let right = match alg {
            Alg::EdDsa => name == SK_ED25519,
            Alg::Es256 => name == SK_ECDSA && take(&mut blob)? == CURVE,
            Alg::Rs256 => false,
        };
        let raw = take(&mut blob)?;
        let application = take(&mut blob)?;
        (right && blob.is_empty()).then_some(Self { raw, application })
    }
}

/// A security key's signature, its value in the form [`PublicKey::verifies`] takes.
struct SkSignature {
    value: Vec<u8>,
    flags: u8,
    counter: u32,
}

impl SkSignature {
    fn read(mut text: &[u8], alg: Alg) -> Option<Self> {
        let name = take(&mut text)?;
        let value = take(&mut text)?;
        let value = match alg {
            Alg::EdDsa if name == SK_ED25519 => value.to_vec(),
            Alg::Es256 if name == SK_ECDSA => der_signature(value)?,
            Alg::EdDsa | Alg::Es256 | Alg::Rs256 => return None,
        };
        let (&[flags], rest) = text.split_first_chunk::<1>()?;
        let (counter, rest) = rest.split_first_chunk::<4>()?;
        rest.is_empty().then_some(Self { value, flags, counter: u32::from_be_bytes(*counter) })
    }
}

/// ECDSA's (r, s) from SSH's two `mpint`s to DER: both write an integer's bytes alike.
fn der_signature(mut mpints: &[u8]) -> Option<Vec<u8>> {
    let mut body = vec![];
    for _ in 0..2 {
        let integer = take(&mut mpints)?;
        body.push(0x02);
        body.push(u8::try_from(integer.len()).ok().filter(|n| *n < 0x80)?);
        body.extend_from_slice(integer);
    }
    let length = u8::try_from(body.len()).ok().filter(|n| *n < 0x80)?;
    let mut der = vec![0x30, length];
    der.extend_from_slice(&body);
    mpints.is_empty().then_some(der)
}

/// An SSH `string`: four bytes of length, then the bytes.
fn take<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = text.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (found, rest) = rest.split_at_checked(length)?;
    *text = rest;
    Some(found)
}

fn put(text: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    text.extend_from_slice(&length.to_be_bytes());
    text.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
