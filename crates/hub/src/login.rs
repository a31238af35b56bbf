//! Logging in with a passkey. The page builds the bytes that are signed; the hub gives a nonce and checks the answer. A login is
//! not authority: it opens the page, and everything the page seals is signed again.
//!
//! Nonces are kept nowhere until they are used: each carries its time and a tag only this process can make, so that a flood of
//! `login/start` fills no table.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use proto::{Timestamp, b64, limits, sha256};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::NewSession;

use crate::app::App;
use crate::body::{Answer, Body, Json, Nothing};
use crate::chance;
use crate::gate::cookie_name;
use crate::problem::{Code, Problem};

/// Makes and spends login nonces: 4 bytes of seconds, 4 of chance, 8 of tag.
#[derive(Debug)]
pub(crate) struct Nonces {
    key: hmac::Key,
    spent: Mutex<HashMap<[u8; 16], Timestamp>>,
}

impl Nonces {
    /// With a key of this process's own.
    pub(crate) fn new() -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &chance::bytes::<32>());
        Self { key, spent: Mutex::new(HashMap::new()) }
    }

    fn make(&self, now: Timestamp) -> [u8; 16] {
        let seconds = u32::try_from(now.as_millis().div_euclid(1_000)).unwrap_or(0);
        let mut nonce = [0_u8; 16];
        let (head, tag) = nonce.split_at_mut(8);
        let chance = chance::bytes::<4>();
        for (to, from) in head.iter_mut().zip(seconds.to_be_bytes().into_iter().chain(chance)) {
            *to = from;
        }
        let made = hmac::sign(&self.key, head);
        for (to, from) in tag.iter_mut().zip(made.as_ref()) {
            *to = *from;
        }
        nonce
    }

    /// Whether the nonce is ours, fresh and not spent before; spends it.
    fn spend(&self, nonce: &[u8], now: Timestamp) -> bool {
        let Ok(nonce) = <[u8; 16]>::try_from(nonce) else { return false };
        let (head, tag) = nonce.split_at(8);
        let made = hmac::sign(&self.key, head);
        let Some((made, _)) = made.as_ref().split_at_checked(8) else { return false };
        let Some((seconds, _)) = head.split_first_chunk::<4>() else { return false };
        let issued = Timestamp::from_millis(i64::from(u32::from_be_bytes(*seconds)) * 1_000);
        // The nonce's time is cut to whole seconds, so a fresh one may look up to a second old.
        let fresh = (0..=limits::LOGIN_ANSWER_MS + 1_000).contains(&now.since(issued));
        if verify_slices_are_equal(made, tag).is_err() || !fresh {
            return false;
        }
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, issued| now.since(*issued) <= 2 * limits::LOGIN_ANSWER_MS);
        spent.insert(nonce, issued).is_none()
    }
}

/// `POST /api/login/start`
#[derive(Debug, Serialize)]
pub(crate) struct Started {
    nonce: String,
    credentials: Vec<Credential>,
    rp_id: String,
    origin: String,
    now: Timestamp,
}

#[derive(Debug, Serialize)]
struct Credential {
    id: String,
    label: String,
}

/// `POST /api/login/start`
pub(crate) async fn start(State(app): State<App>, Body(Nothing {}): Body<Nothing>) -> Answer<Started> {
    let now = app.now();
    knock(&app)?;
    let pins = app.pins()?;
    let rp_id = app.config().origin.host();
    let credentials = pins.may_sign(now).into_iter().filter(|entry| entry.rp_id == rp_id);
    std::future::ready(Ok(Json(Started {
        nonce: b64::encode(&app.nonces().make(now)),
        credentials: credentials
            .map(|entry| Credential { id: entry.id.clone(), label: entry.label.clone() })
            .collect(),
        rp_id: rp_id.to_owned(),
        origin: app.config().origin.as_str().to_owned(),
        now,
    })))
    .await
}

/// A passkey's answer over bytes the page built.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginAnswer {
    payload: String,
    signature: Box<RawValue>,
}

/// `POST /api/login/finish`
#[derive(Debug, Serialize)]
pub(crate) struct Finished {
    token: String,
    label: String,
    person: String,
    expires: Timestamp,
}

/// `POST /api/login/finish`
pub(crate) async fn finish(
    State(app): State<App>,
    Body(answer): Body<LoginAnswer>,
) -> Result<(HeaderMap, Json<Finished>), Problem> {
    knock(&app)?;
    let signer = check(&app, &answer).await?;
    let now = app.now();
    let (cookie, token) = (chance::token(), chance::token());
    let expires = now.plus(limits::LOGIN_LIFE_MS);
    let session = NewSession {
        id: format!("ses-{}", chance::hex()),
        cookie_hash: sha256(cookie.as_bytes()),
        page_hash: sha256(token.as_bytes()),
        keyid: signer.keyid,
        label: signer.label.clone(),
        person: signer.person.name().to_owned(),
        expires,
    };
    app.store().add_session(&session, now).await?;
    app.changed();
    let max_age_s = limits::LOGIN_LIFE_MS / 1_000;
    let headers = cookie_header(&app, &format!("{cookie}; Max-Age={max_age_s}"));
    Ok((headers, Json(Finished { token, label: signer.label, person: session.person, expires })))
}

/// Checks a login answer: the signature over the page's bytes, then that the nonce is a fresh one of ours, once.
pub(crate) async fn check(app: &App, answer: &LoginAnswer) -> Result<proof::Signer, Problem> {
    let LoginAnswer { payload, signature } = answer;
    let bytes = b64::decode(payload).map_err(|_| {
        Problem::new(Code::Malformed, "`payload` is not canonical base64url; nobody was logged in")
    })?;
    let now = app.now();
    let origin = app.config().origin.as_str();
    let login = proof::check_login(&app.pins()?, &bytes, signature.get().as_bytes(), origin, now);
    let login = match login {
        Ok(login) => login,
        Err(refusal) => {
            crate::seal::record_refusal(app, refusal, "login").await;
            return Err(Problem::refused(refusal));
        }
    };
    let nonce = b64::decode(&login.nonce).unwrap_or_default();
    if !app.nonces().spend(&nonce, now) {
        return Err(Problem::new(Code::Gone, "this login took too long or was used already; start again"));
    }
    Ok(login.signer)
}

/// One try at the door, of everybody together: each may cost a signature check.
pub(crate) fn knock(app: &App) -> Result<(), Problem> {
    app.counters()
        .door
        .take("door", limits::DOOR_PER_MINUTE, app.now())
        .map_err(|wait_s| Problem::too_many("too many tries to log in or enrol; wait a little", wait_s))
}

/// The header that makes a browser forget its login.
pub(crate) fn cleared_cookie(app: &App) -> HeaderMap {
    cookie_header(app, "; Max-Age=0")
}

fn cookie_header(app: &App, value: &str) -> HeaderMap {
    let secure = if app.config().origin.is_https() { "; Secure" } else { "" };
    let cookie = format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}", cookie_name(app));
    let mut headers = HeaderMap::new();
    if let Ok(cookie) = cookie.parse() {
        headers.insert(SET_COOKIE, cookie);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(1_790_000_000_000 + ms)
    }

    #[test]
    fn a_nonce_is_ours_once_and_for_a_minute() {
        let nonces = Nonces::new();
        let nonce = nonces.make(at(0));
        assert!(!nonces.spend(&nonce, at(62_000)), "too late");
        assert!(!nonces.spend(&nonce, at(-2_000)), "from the future");
        assert!(nonces.spend(&nonce, at(60_000)));
        assert!(!nonces.spend(&nonce, at(60_000)), "spent");
        assert!(!Nonces::new().spend(&nonces.make(at(0)), at(0)), "another process's");
        let mut bent = nonces.make(at(0));
        bent[5] ^= 1;
        assert!(!nonces.spend(&bent, at(0)), "bent");
        assert!(!nonces.spend(b"short", at(0)));
    }
}
