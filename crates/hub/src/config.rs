//! What an operator wrote (`hub.toml`) and what it means once checked. No file is opened here but the configuration itself;
//! listening, the database and the pin file come later, from the paths this module gives.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use proto::limits;
use serde::Deserialize;

use crate::address::{BadOrigin, Origin};

/// The hub's checked configuration. Everything a running hub depends on that is not in its database or pin file.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder that holds the database, the pin file, `enrol.json` and `proposals/`.
    pub folder: PathBuf,
    /// Where to listen. Port 0 lets the kernel choose (tests); the origin then takes that port too.
    pub listen: SocketAddr,
    /// The one origin of the page.
    pub origin: Origin,
    /// The hub's name; its identity in pins is `hub@NAME`.
    pub name: String,
    /// A reverse proxy that speaks TLS stands before the hub.
    pub behind_proxy: bool,
    /// Certificate and key files, when the hub speaks TLS itself.
    pub tls: Option<TlsFiles>,
    /// How long an approval can be undone, in milliseconds.
    pub undo_ms: i64,
    /// How long an ask waits for an answer, in milliseconds.
    pub lifetime_ms: i64,
    /// Caps and rates.
    pub caps: Caps,
}

/// PEM files of the certificate chain and its private key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The chain, leaf first.
    pub cert: PathBuf,
    /// The private key of the leaf.
    pub key: PathBuf,
}

/// Caps and rates an operator may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Asks of one agent that may wait at once.
    pub pending_per_agent: u32,
    /// Asks that may wait at once in all.
    pub pending: u32,
    /// New asks of one token in a minute.
    pub asks_per_minute: u32,
    /// Long polls and streams of one token that may be open at once.
    pub polls_per_token: u32,
}

impl Config {
    /// Reads and checks `path`. Relative paths in it are relative to its own folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_path_buf(), source })?;
        let raw: Raw = toml::from_str(&text)
            .map_err(|source| ConfigError::Parse { path: path.to_path_buf(), source })?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        raw.check(folder.unwrap_or_else(|| Path::new(".")))
    }

    /// Parses and checks a configuration given as text; `folder` is where its files are.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let raw: Raw = toml::from_str(text)
            .map_err(|source| ConfigError::Parse { path: folder.join("hub.toml"), source })?;
        raw.check(folder)
    }

    /// The database file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.folder.join("hub.sqlite")
    }

    /// The hub's own pin file.
    #[must_use]
    pub fn pins(&self) -> PathBuf {
        self.folder.join("approvers.json")
    }

    /// The open enrolment, when there is one.
    #[must_use]
    pub fn enrolment(&self) -> PathBuf {
        self.folder.join("enrol.json")
    }

    /// Where proposed keys wait for a person at the terminal.
    #[must_use]
    pub fn proposals(&self) -> PathBuf {
        self.folder.join("proposals")
    }

    /// The identity under which the hub's own pin file must name it.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("hub@{}", self.name)
    }

    /// Whether the hub is reached by this machine alone.
    #[must_use]
    pub fn on_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

/// `hub.toml` as it was written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default = "default_listen")]
    listen: String,
    origin: String,
    name: String,
    #[serde(default)]
    behind_proxy: bool,
    tls: Option<TlsFiles>,
    #[serde(default)]
    inbox: RawInbox,
    #[serde(default)]
    limits: RawLimits,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInbox {
    undo_s: Option<u32>,
    lifetime_s: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimits {
    pending_per_agent: Option<u32>,
    pending: Option<u32>,
    asks_per_minute: Option<u32>,
    polls_per_token: Option<u32>,
}

fn default_listen() -> String {
    String::from("127.0.0.1:8787")
}

impl Raw {
    fn check(self, folder: &Path) -> Result<Config, ConfigError> {
        let Self { listen, origin, name, behind_proxy, tls, inbox, limits } = self;
        let listen: SocketAddr = listen.parse().map_err(|_| ConfigError::Listen { listen })?;
        let origin = Origin::parse(&origin)?;
        if name.is_empty()
            || name.len() > limits::NAME_BYTES
            || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        {
            return Err(ConfigError::Name { name });
        }
        let loopback = listen.ip().is_loopback();
        if loopback && !is_plain_loopback(listen.ip()) {
            return Err(ConfigError::OddLoopback { ip: listen.ip() });
        }
        if !loopback && tls.is_none() && !behind_proxy {
            return Err(ConfigError::Exposed { listen });
        }
        if tls.is_some() && !origin.is_https() {
            return Err(ConfigError::TlsOrigin { origin: origin.as_str().to_owned() });
        }
        let tls = tls.map(|files| TlsFiles { cert: folder.join(files.cert), key: folder.join(files.key) });
        Ok(Config {
            folder: folder.to_path_buf(),
            listen,
            origin,
            name,
            behind_proxy,
            tls,
            undo_ms: seconds("inbox.undo_s", inbox.undo_s, 5, (0, limits::UNDO_S_MAX))?,
            lifetime_ms: seconds("inbox.lifetime_s", inbox.lifetime_s, 3_600, (1, limits::LIFETIME_S_MAX))?,
            caps: limits.check()?,
        })
    }
}

impl RawLimits {
    fn check(self) -> Result<Caps, ConfigError> {
        let Self { pending_per_agent, pending, asks_per_minute, polls_per_token } = self;
        Ok(Caps {
            pending_per_agent: cap("limits.pending_per_agent", pending_per_agent, 32)?,
            pending: cap("limits.pending", pending, 1_000)?,
            asks_per_minute: cap("limits.asks_per_minute", asks_per_minute, 60)?,
            polls_per_token: cap("limits.polls_per_token", polls_per_token, 64)?,
        })
    }
}

fn is_plain_loopback(ip: IpAddr) -> bool {
    ip == IpAddr::V4(std::net::Ipv4Addr::LOCALHOST) || ip == IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)
}

fn seconds(
    key: &'static str,
    given: Option<u32>,
    default: u32,
    range: (u32, u32),
) -> Result<i64, ConfigError> {
    let value = given.unwrap_or(default);
    let (least, most) = range;
    if value < least || value > most {
        return Err(ConfigError::Range { key, value, least, most });
    }
    Ok(i64::from(value) * 1_000)
}

fn cap(key: &'static str, given: Option<u32>, default: u32) -> Result<u32, ConfigError> {
    let value = given.unwrap_or(default);
    if value == 0 || value > limits::CAP_MAX {
        return Err(ConfigError::Range { key, value, least: 1, most: limits::CAP_MAX });
    }
    Ok(value)
}

/// Why a configuration was not taken. The operator mends the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not there or not readable.
    #[error("cannot read `{path}`")]
    Read {
        /// The configuration file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not TOML, or with a key this hub does not know.
    #[error("`{path}` is not a configuration this hub understands")]
    Parse {
        /// The configuration file.
        path: PathBuf,
        /// Line and key.
        source: toml::de::Error,
    },
    /// `listen` is not an address and a port.
    #[error("`listen` must be an address and a port like `127.0.0.1:8787`, not `{listen}`")]
    Listen {
        /// What was written.
        listen: String,
    },
    /// `origin` cannot be the origin of a page with passkeys.
    #[error("`origin` cannot be used")]
    Origin(#[from] BadOrigin),
    /// The name would not fit into an identity.
    #[error("`name` must be letters, digits, `-`, `_` or `.`, not `{name}`")]
    Name {
        /// What was written.
        name: String,
    },
    /// A loopback address other than the two that names like `seal-….localhost` lead to.
    #[error("on loopback the hub listens on 127.0.0.1 and [::1], not on `{ip}`")]
    OddLoopback {
        /// What was written.
        ip: IpAddr,
    },
    /// Off loopback without TLS and without a proxy that speaks it.
    #[error("`{listen}` is reachable from other machines: set `[tls]` or `behind_proxy = true`")]
    Exposed {
        /// What was written.
        listen: SocketAddr,
    },
    /// TLS with an http origin: the page could never be reached under it.
    #[error("`[tls]` is set, so `origin` must begin with `https://`, not `{origin}`")]
    TlsOrigin {
        /// What was written.
        origin: String,
    },
    /// A number outside its range.
    #[error("`{key}` is {value}; it must lie between {least} and {most}")]
    Range {
        /// Which key.
        key: &'static str,
        /// What was written.
        value: u32,
        /// The least value taken.
        least: u32,
        /// The greatest value taken.
        most: u32,
    },
}
