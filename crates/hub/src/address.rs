//! Host and Origin: under which names the hub answers, and to pages of which origin. Pure functions over header text.
//!
//! A browser that was led to a name which resolves to loopback (DNS rebinding) sends that name as `Host`; such a request must
//! get nowhere. The page's routes therefore answer under the configured origin alone, machine routes under loopback names too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `scheme://host[:port]` in the form in which browsers write it in `Origin`: lower case, default port left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    text: String,
    host: String,
    port: u16,
    https: bool,
}

impl Origin {
    /// Parses an origin. `http` is taken for `localhost` and names below it only: browsers give passkeys to nothing else.
    pub fn parse(text: &str) -> Result<Self, BadOrigin> {
        let bad = || BadOrigin::Form { origin: text.to_owned() };
        let (https, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(bad()),
        };
        let default_port = if https { 443 } else { 80 };
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, port.parse::<u16>().map_err(|_| bad())?),
            None => (rest, default_port),
        };
        let label = |part: &str| {
            !part.is_empty()
                && !part.starts_with('-')
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        if host.len() > 253 || !host.split('.').all(label) {
            return Err(bad());
        }
        if host.parse::<IpAddr>().is_ok() {
            return Err(BadOrigin::Address { origin: text.to_owned() });
        }
        if !https && !is_localhost(host) {
            return Err(BadOrigin::Insecure { origin: text.to_owned() });
        }
        Ok(Self::build(https, host, port))
    }

    fn build(https: bool, host: &str, port: u16) -> Self {
        let (scheme, default_port) = if https { ("https", 443) } else { ("http", 80) };
        let text = if port == default_port {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{port}")
        };
        Self { text, host: host.to_owned(), port, https }
    }

    /// The same origin with `port` in place of port 0.
    #[must_use]
    pub fn with_port_chosen(&self, port: u16) -> Self {
        if self.port == 0 { Self::build(self.https, &self.host, port) } else { self.clone() }
    }

    /// As browsers write it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, which is also the passkeys' `rp_id`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the page is reached by TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Whether `host` (a `Host` header) is the one under which the page lives.
    #[must_use]
    pub(crate) fn is_host(&self, host: &str) -> bool {
        let authority = self.text.split_once("://").map(|(_, authority)| authority);
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    }
}

/// Whether `host` (a `Host` header) is a loopback name with `port`, the port the hub listens on.
#[must_use]
pub(crate) fn is_loopback_host(host: &str, port: u16) -> bool {
    let Some((name, given)) = host.rsplit_once(':') else { return false };
    if given.parse::<u16>() != Ok(port) || !given.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    if let Some(inner) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>() == Ok(Ipv6Addr::LOCALHOST);
    }
    name.parse::<Ipv4Addr>() == Ok(Ipv4Addr::LOCALHOST) || is_localhost(&name.to_ascii_lowercase())
}

fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.strip_suffix(".localhost").is_some_and(|rest| !rest.is_empty())
}

/// Why a text is not an origin for the page.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOrigin {
    /// Not `scheme://host[:port]`, or not in lower case.
    #[error("`{origin}` is not of the form `https://host[:port]` in lower case")]
    Form {
        /// What was written.
        origin: String,
    },
    /// Browsers give no passkeys to bare addresses.
    #[error("`{origin}` is an address; passkeys need a name, such as `http://localhost:8787`")]
    Address {
        /// What was written.
        origin: String,
    },
    /// Browsers give passkeys to https and localhost only.
    #[error("`{origin}` needs https; plain http works for `localhost` and names below it only")]
    Insecure {
        /// What was written.
        origin: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_can_hold_passkeys_are_origins() {
        for good in [
            "http://localhost:8787",
            "http://seal-abcdefgh.localhost:8787",
            "https://seal.example.org",
            "https://seal.example.org:8443",
        ] {
            assert_eq!(Origin::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "http://127.0.0.1:8787",
            "https://127.0.0.1",
            "http://example.org",
            "http://localhost.evil.org",
            "http://notlocalhost:1",
            "http://.localhost:1",
            "HTTP://localhost",
            "http://localhost/",
            "http://localhost:8787/x",
            "http://user@localhost",
            "localhost:8787",
            "",
        ] {
            assert!(Origin::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Origin::parse("https://a.b:443").unwrap().as_str(), "https://a.b");
    }

    #[test]
    fn the_page_host_is_exact_and_machine_hosts_are_loopback_names_with_our_port() {
        let origin = Origin::parse("http://seal-a.localhost:8787").unwrap();
        assert!(origin.is_host("seal-a.localhost:8787"));
        for other in ["seal-a.localhost", "localhost:8787", "seal-a.localhost:8788", "evil:8787", ""] {
            assert!(!origin.is_host(other), "{other}");
        }
        for good in ["127.0.0.1:8787", "[::1]:8787", "localhost:8787", "LOCALHOST:8787", "x.localhost:8787"] {
            assert!(is_loopback_host(good, 8787), "{good}");
        }
        for bad in [
            "localhost",
            "127.0.0.1",
            "localhost:80",
            "localhost:+8787",
            "evil.org:8787",
            "localhost.evil.org:8787",
            "127.0.0.1.evil.org:8787",
            ".localhost:8787",
            "[::1]",
            "::1:8787",
            "",
        ] {
            assert!(!is_loopback_host(bad, 8787), "{bad}");
        }
    }
}
