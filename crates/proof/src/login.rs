//! A login to the page: the same keys over another payload type, so that no login is ever a proof.
//!
//! Not here: who made the nonce and whether it was used; the hub knows its own.

use proto::{Refusal, Timestamp, b64, limits};

use crate::challenge::LOGIN_TYPE;
use crate::envelope::Signature;
use crate::json::{BadJson, Object};
use crate::pins::Approvers;
use crate::signers::{Message, Signer, check_one};

/// A login that verified. The hub still has to find that it made the nonce and that it is unused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Login {
    /// 22 base64url characters.
    pub nonce: String,
    /// When it was signed.
    pub issued: Timestamp,
    /// The page's origin.
    pub origin: String,
    /// Who.
    pub signer: Signer,
}

/// Checks a login: steps 1 to 5 over the login's payload type, then its bytes, strictly. `origin` is the page's own; the
/// answer may be up to 60 s old.
///
/// # Errors
/// As for a proof; `bad_payload` for other bytes than `{"v":1,"nonce":…,"issued":…,"origin":…}`, `wrong_origin`,
/// `not_yet` and `expired` for its time.
pub fn check_login(
    approvers: &Approvers,
    payload: &[u8],
    signature: &[u8],
    origin: &str,
    now: Timestamp,
) -> Result<Login, Refusal> {
    let signature = Signature::parse(signature)?;
    let signer = check_one(approvers, &signature, &Message::new(LOGIN_TYPE, payload), now)?;
    let (nonce, issued, signed_origin) = read(payload).map_err(|_| Refusal::BadPayload)?;
    if signed_origin != origin {
        return Err(Refusal::WrongOrigin);
    }
    if issued > now.plus(limits::SKEW_MS) {
        return Err(Refusal::NotYet);
    }
    if now.since(issued) > limits::LOGIN_ANSWER_MS {
        return Err(Refusal::Expired);
    }
    Ok(Login { nonce, issued, origin: signed_origin, signer })
}

fn read(payload: &[u8]) -> Result<(String, Timestamp, String), BadJson> {
    let mut object = Object::parse(payload)?;
    if object.integer("v")? != 1 {
        return Err(BadJson::Value("v"));
    }
    let nonce = object.text("nonce")?;
    if b64::decode(&nonce).map(|bytes| bytes.len()) != Ok(16) {
        return Err(BadJson::Value("nonce"));
    }
    let issued = Timestamp::from_millis(object.integer("issued")?);
    let origin = object.text("origin")?;
    object.finish()?;
    Ok((nonce, issued, origin))
}
