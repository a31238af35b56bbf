//! One request, one bounded answer: the only file that knows the HTTP library.
//!
//! No retry here: whether an ask may be sent again is its caller's business. No redirect is followed and no proxy
//! is used, whatever the environment says: the token goes to the address in `executor.toml` and nowhere else.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body};

use crate::{Address, CallError, Refused};

/// Files in which systems keep the certificates they trust; the first one that exists is taken. Fixed places
/// instead of a lookup, because a lookup would read the environment.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A secret that names a machine to the hub. It is never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token as read from its file; white space around it is dropped. `None` unless it is 1 to 256
    /// visible ASCII characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.trim();
        let shaped = (1..=256).contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_graphic());
        shaped.then(|| Self(bare.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

/// Why a client could not be set up: nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The file of trusted certificates cannot be used.
    #[error("no trusted certificates in `{0}`; set `ca_file` in executor.toml to a PEM file")]
    Roots(String),
}

/// A connection to one hub, kept open between calls.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    agent: Agent,
    address: Address,
    token: Option<Token>,
}

impl Wire {
    /// Sets up TLS only when the address wants it: reading a hundred certificates costs more than a whole ask.
    pub(crate) fn new(
        address: Address,
        token: Option<Token>,
        ca_file: Option<&Path>,
    ) -> Result<Self, SetUpError> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .https_only(address.tls())
            .max_response_header_size(16 * 1024)
            .user_agent(concat!("sealward/", env!("CARGO_PKG_VERSION")));
        if address.tls() {
            config = config.tls_config(tls(ca_file)?);
        }
        Ok(Self { agent: config.build().new_agent(), address, token })
    }

    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: Duration,
        most: usize,
    ) -> Result<T, CallError> {
        let mut request = self.agent.get(format!("{}{path}", self.address.base()));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.0));
        }
        let sent = request.config().timeout_global(Some(limit)).build().call();
        self.answer(sent, limit, most)
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
        most: usize,
    ) -> Result<T, CallError> {
        let text = serde_json::to_vec(body)
            .map_err(|cause| self.bad_answer(format!("unsendable request: {cause}")))?;
        let mut request = self
            .agent
            .post(format!("{}{path}", self.address.base()))
            .header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.0));
        }
        let sent = request.config().timeout_global(Some(limit)).build().send(&text[..]);
        self.answer(sent, limit, most)
    }

    fn answer<T: DeserializeOwned>(
        &self,
        sent: Result<Response<Body>, ureq::Error>,
        limit: Duration,
        most: usize,
    ) -> Result<T, CallError> {
        let mut response = sent.map_err(|cause| self.failed(cause, limit))?;
        let status = response.status().as_u16();
        let retry_after =
            response.headers().get("Retry-After").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bound = u64::try_from(most).unwrap_or(u64::MAX);
        let body = response.body_mut().with_config().limit(bound).read_to_vec();
        match status {
            200..=299 => {
                let bytes = body.map_err(|cause| self.cut_short(cause, limit))?;
                serde_json::from_slice(&bytes).map_err(|cause| self.bad_answer(cause.to_string()))
            }
            // A refusal counts even when its words are lost: the status alone already says no.
            400..=599 => Err(CallError::Refused(Refused::read(
                status,
                retry_after.as_deref(),
                &body.unwrap_or_default(),
            ))),
            _ => Err(self.bad_answer(format!("status {status}"))),
        }
    }

    /// An error before the head of an answer was there.
    fn failed(&self, cause: ureq::Error, limit: Duration) -> CallError {
        let nonsense = matches!(
            cause,
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) | ureq::Error::Http(_)
        );
        if nonsense {
            self.bad_answer(cause.to_string())
        } else if matches!(cause, ureq::Error::Timeout(_)) {
            CallError::TooSlow { hub: self.address.to_string(), limit }
        } else {
            CallError::Unreachable { hub: self.address.to_string(), source: Box::new(cause) }
        }
    }

    /// An error within the body of an answer.
    fn cut_short(&self, cause: ureq::Error, limit: Duration) -> CallError {
        if let ureq::Error::BodyExceedsLimit(most) = cause {
            self.bad_answer(format!("it is longer than {most} bytes"))
        } else {
            self.failed(cause, limit)
        }
    }

    pub(crate) fn bad_answer(&self, what: String) -> CallError {
        CallError::BadAnswer { hub: self.address.to_string(), what }
    }
}

fn tls(ca_file: Option<&Path>) -> Result<TlsConfig, SetUpError> {
    let file = match ca_file {
        Some(file) => file,
        None => SYSTEM_ROOTS
            .iter()
            .map(Path::new)
            .find(|path| path.exists())
            .ok_or_else(|| SetUpError::Roots("the system's usual places".to_owned()))?,
    };
    let unusable = || SetUpError::Roots(file.display().to_string());
    let text = fs::read(file).map_err(|_| unusable())?;
    let roots: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if roots.is_empty() {
        return Err(unusable());
    }
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .root_certs(RootCerts::from(roots))
        .build())
}
