//! Where the hub lives, as an executor's own file says it: checked once, so that a token never leaves in the clear.
//!
//! No name is looked up here, and nothing is read from the environment.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ureq::http::Uri;

/// The hub's address: `https://NAME[:PORT]`, or `http://` on this machine's own loopback.
///
/// `localhost` and names below it become `127.0.0.1` here, so that no resolver and no hosts file can send a
/// token elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    tls: bool,
    port: u16,
}

/// Why a text is not the address of a hub.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not `http://HOST:PORT` or `https://HOST`, or it has a path, a query or a user.
    #[error("`{0}` is not the address of a hub; write http://127.0.0.1:PORT or https://NAME")]
    Form(String),
    /// Plain http to another machine: the token could be read on the way.
    #[error("`{0}` is plain http to another machine; use https, or http on this machine's loopback")]
    Clear(String),
}

impl Address {
    /// Reads an address; the only shapes are those of [`Address`], with nothing after the port but one `/`.
    ///
    /// # Errors
    /// [`BadAddress`] for every other text.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let form = || BadAddress::Form(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| form())?;
        let authority = uri.authority().ok_or_else(form)?;
        let bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        if !bare || authority.as_str().contains('@') || text.contains('#') {
            return Err(form());
        }
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(form()),
        };
        let port = match authority.port_u16() {
            Some(port) => port,
            // A port that is empty or no number of 16 bits.
            None if authority.as_str() != authority.host() => return Err(form()),
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
        };
        if tls {
            return Ok(Self { base: format!("https://{}:{port}", authority.host()), tls, port });
        }
        let loopback = loopback(authority.host()).ok_or_else(|| BadAddress::Clear(text.to_owned()))?;
        let base = match loopback {
            IpAddr::V4(v4) => format!("http://{v4}:{port}"),
            IpAddr::V6(v6) => format!("http://[{v6}]:{port}"),
        };
        Ok(Self { base, tls, port })
    }

    /// Scheme, host and port, without a slash at the end.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the way to the hub is encrypted.
    #[must_use]
    pub const fn tls(&self) -> bool {
        self.tls
    }

    /// The port on which the hub listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

fn loopback(host: &str) -> Option<IpAddr> {
    if host == "localhost" || host.ends_with(".localhost") {
        return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().ok().filter(IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, base: &str) {
        assert_eq!(Address::parse(text).map(|address| address.base), Ok(base.to_owned()));
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        reads("http://127.0.0.1:8787", "http://127.0.0.1:8787");
        reads("http://127.0.0.1:8787/", "http://127.0.0.1:8787");
        reads("http://[::1]:8787", "http://[::1]:8787");
        reads("http://seal-abcdefgh.localhost:8787", "http://127.0.0.1:8787");
        reads("https://seal.example.org", "https://seal.example.org:443");
        for elsewhere in ["http://10.0.0.1:8787", "http://seal.example.org", "http://127.0.0.1.example.org:1"]
        {
            assert_eq!(Address::parse(elsewhere), Err(BadAddress::Clear(elsewhere.to_owned())));
        }
    }

    #[test]
    fn an_address_is_scheme_host_and_port_and_no_more() {
        for odd in [
            "",
            "127.0.0.1:8787",
            "ftp://127.0.0.1",
            "http://127.0.0.1:8787/api",
            "http://127.0.0.1:8787?x=1",
            "http://me@127.0.0.1:8787",
            "http://127.0.0.1:8787#x",
            "http://127.0.0.1:",
            "http://127.0.0.1:99999",
        ] {
            assert_eq!(Address::parse(odd), Err(BadAddress::Form(odd.to_owned())), "{odd}");
        }
    }
}
