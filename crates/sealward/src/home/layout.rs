//! Lays out a home folder: names, ports and the two configuration files, made once and then left as they are.
//!
//! Not here: tokens (`agents`), pins (`pinning`), the database (`store`).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use proto::Timestamp;

use crate::chance::{self, NoChance};
use crate::home::Home;
use crate::home::files::{self, FileError};
use crate::home::pins::{self, PinsError};
use crate::output::Failure;

/// Where a hub listens when nobody says otherwise.
pub(crate) const PORT: u16 = 8787;
/// Letters after `seal-`: 8 × 4.7 bits make a name no other local service has by chance.
const NAME_LETTERS: usize = 8;
/// Free ports tried for `--port 0`; each is free on IPv4 and only seldom taken on IPv6.
const PORT_TRIES: usize = 32;
/// A host name longer than this is cut for an identity; DNS labels have at most 63.
const HOST_MAX: usize = 63;

/// What the command line asks of the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// A port, 0 for any free one, or nothing for the remembered one.
    pub(crate) port: Option<u16>,
    /// The page's name, or nothing for the remembered one.
    pub(crate) name: Option<PageName>,
}

/// Under which name the browser finds the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PageName {
    /// `seal-XXXXXXXX.localhost`: its passkeys and cookies are shared with no other local service
    Seal,
    /// `localhost`, for browsers that do not resolve names below it
    Localhost,
}

/// A home that is laid out.
#[derive(Debug)]
pub(crate) struct Laid {
    /// The hub's configuration, as the hub will read it.
    pub(crate) hub: hub::Config,
    /// Who the hook of this machine is.
    pub(crate) hook: String,
    /// Who its broker is; a home that was laid out before there was one has none.
    pub(crate) broker: Option<String>,
}

/// The home folder could not be laid out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    /// A file or folder would not.
    #[error(transparent)]
    File(#[from] FileError),
    /// No randomness for the name.
    #[error(transparent)]
    Chance(#[from] NoChance),
    /// The pins cannot be read.
    #[error(transparent)]
    Pins(#[from] PinsError),
    /// `hub.toml` was changed into something the hub does not take.
    #[error("`{path}` cannot be used; mend it, or move it away to have it made anew")]
    Config {
        /// The file.
        path: PathBuf,
        /// Which key, and why.
        source: Box<hub::ConfigError>,
    },
    /// `up` never ran on this home.
    #[error("there is no hub in `{}`; run `sealward up` once, or give the right --home", home.display())]
    NotLaidOut {
        /// The home.
        home: PathBuf,
    },
    /// `executor.toml` was changed into something the executors do not take.
    #[error("`{path}` has no `[identity]` with `hook`; mend it, or move it away to have it made anew")]
    Executor {
        /// The file.
        path: PathBuf,
    },
    /// Passkeys belong to an address; moving the page strands them.
    #[error(
        "keys are pinned for the page at `{origin}`; start without --port and --name, or give another --home and enrol there"
    )]
    Moved {
        /// Where the page lives.
        origin: String,
    },
    /// Something else listens there.
    #[error(
        "{address} is taken: another `sealward up` or another program listens there. Stop it, or start with `--port 0` to choose a free port"
    )]
    Taken {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system does not let this user listen there.
    #[error("cannot listen on {address}; choose another port with `--port`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No port is free on both loopbacks.
    #[error("no port is free on both 127.0.0.1 and [::1]")]
    NoPort {
        /// What the system said.
        source: io::Error,
    },
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        match &error {
            LayoutError::Moved { .. } => Self::refused(error),
            LayoutError::Config { .. } | LayoutError::Executor { .. } => Self::usage(error),
            LayoutError::File(_)
            | LayoutError::Chance(_)
            | LayoutError::Pins(_)
            | LayoutError::NotLaidOut { .. }
            | LayoutError::Taken { .. }
            | LayoutError::Listen { .. }
            | LayoutError::NoPort { .. } => Self::cannot(error),
        }
    }
}

/// Lays the home out as wished, or checks the one that is there.
///
/// # Errors
/// See [`LayoutError`]; what was there before is untouched.
pub(crate) fn lay_out(home: &Home, wish: Wish, host: &str, now: Timestamp) -> Result<Laid, LayoutError> {
    for folder in home.folders() {
        files::folder(&folder)?;
    }
    let name = own_name(home)?;
    let path = home.hub_config();
    let hub = match files::read_if_there(&path)? {
        None => {
            let port = choose_port(wish.port.unwrap_or(PORT))?;
            let page = page_host(wish.name.unwrap_or(PageName::Seal), &name);
            files::write(&path, hub_toml(port, &page, &name).as_bytes())?;
            load(&path)?
        }
        Some(_) => moved_as_wished(home, wish, load(&path)?)?,
    };
    let identity = executor(home, hub.listen.port(), host)?;
    let executors: Vec<&str> = identity.values().filter_map(toml::Value::as_str).collect();
    pins::lay_out(home, &executors, &hub.identity(), now)?;
    let hook = identity.get("hook").and_then(toml::Value::as_str);
    let hook = hook.ok_or_else(|| LayoutError::Executor { path: home.executor_config() })?.to_owned();
    let broker = identity.get("broker").and_then(toml::Value::as_str).map(str::to_owned);
    if let Some(broker) = &broker
        && files::read_if_there(&home.broker_config())?.is_none()
    {
        files::write(&home.broker_config(), broker_toml(home, hub.listen.port(), broker).as_bytes())?;
    }
    Ok(Laid { hub, hook, broker })
}

/// Says early, and with a remedy, that the hub could not listen.
///
/// # Errors
/// [`LayoutError::Taken`].
pub(crate) fn both_free(listen: SocketAddr) -> Result<(), LayoutError> {
    for address in loopbacks(listen) {
        match TcpListener::bind(address) {
            Ok(_) => {}
            Err(error) if no_such_address(&error) && address.is_ipv6() => {}
            Err(source) if source.kind() == io::ErrorKind::AddrInUse => {
                return Err(LayoutError::Taken { address, source });
            }
            Err(source) => return Err(LayoutError::Listen { address, source }),
        }
    }
    Ok(())
}

/// `hook@laptop` and its like want a short name: the first label, lower case, letters, digits and `-`.
pub(crate) fn host_word(node: &str) -> String {
    let label = node.split('.').next().unwrap_or_default();
    let word: String = label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(HOST_MAX)
        .collect();
    match word.trim_matches('-') {
        "" => String::from("here"),
        word => word.to_owned(),
    }
}

/// The name made once for this home.
fn own_name(home: &Home) -> Result<String, LayoutError> {
    let path = home.hub_name();
    if let Some(text) = files::read_if_there(&path)? {
        return Ok(text.trim().to_owned());
    }
    let name = format!("seal-{}", chance::letters(NAME_LETTERS)?);
    files::write(&path, format!("{name}\n").as_bytes())?;
    Ok(name)
}

fn page_host(page: PageName, name: &str) -> String {
    match page {
        PageName::Seal => format!("{name}.localhost"),
        PageName::Localhost => String::from("localhost"),
    }
}

fn hub_toml(port: u16, host: &str, name: &str) -> String {
    format!(
        "# Made by `sealward up`. Passkeys are bound to `origin`: changing it strands those that are pinned.\n\
         listen = \"127.0.0.1:{port}\"\n\
         origin = \"http://{host}:{port}\"\n\
         name = \"{name}\"\n"
    )
}

fn executor_toml(port: u16, host: &str) -> String {
    format!(
        "# Made by `sealward up`. The hub that the executors of this machine ask, and who they are.\n\
         hub = \"http://127.0.0.1:{port}\"\n\
         token_file = \"token\"\n\
         guard = \"user\"\n\
         \n\
         [identity]\n\
         hook = \"hook@{host}\"\n\
         commit = \"commit@{host}\"\n\
         runner = \"runner@{host}\"\n\
         broker = \"broker@{host}\"\n"
    )
}

/// The broker shares pins and replay store with the other executors of this home; its log lies beside them.
fn broker_toml(home: &Home, port: u16, identity: &str) -> String {
    let folder = |path: &Path| toml::Value::from(path.display().to_string());
    format!(
        "# Made by `sealward up`. Without grants the broker denies every call, and records that.\n\
         [paths]\n\
         home = {}\n\
         grants = {}\n\
         \n\
         [hub]\n\
         url = \"http://127.0.0.1:{port}\"\n\
         token_file = {}\n\
         identity = \"{identity}\"\n",
        folder(home.dir()),
        folder(&home.dir().join("broker/grants")),
        folder(&home.broker_token()),
    )
}

fn load(path: &Path) -> Result<hub::Config, LayoutError> {
    hub::Config::load(path)
        .map_err(|source| LayoutError::Config { path: path.to_path_buf(), source: Box::new(source) })
}

/// Moves the page to the wished address, unless keys are already pinned for the old one.
fn moved_as_wished(home: &Home, wish: Wish, hub: hub::Config) -> Result<hub::Config, LayoutError> {
    let port = match wish.port {
        // Any port will do, and the remembered one is a port.
        None | Some(0) => hub.listen.port(),
        Some(port) => port,
    };
    let host = match wish.name {
        None => hub.origin.host().to_owned(),
        Some(page) => page_host(page, &hub.name),
    };
    if port == hub.listen.port() && host == hub.origin.host() {
        return Ok(hub);
    }
    if pins::any(home)? {
        return Err(LayoutError::Moved { origin: hub.origin.as_str().to_owned() });
    }
    let path = home.hub_config();
    let mut table: toml::Table = files::read_if_there(&path)?.unwrap_or_default().parse().unwrap_or_default();
    table.insert(String::from("listen"), format!("127.0.0.1:{port}").into());
    table.insert(String::from("origin"), format!("http://{host}:{port}").into());
    files::write(&path, table.to_string().as_bytes())?;
    load(&path)
}

/// Makes `executor.toml`, or brings its address up to date, and gives the identities in it.
fn executor(home: &Home, port: u16, host: &str) -> Result<toml::Table, LayoutError> {
    let path = home.executor_config();
    let text = match files::read_if_there(&path)? {
        Some(text) => text,
        None => {
            let text = executor_toml(port, host);
            files::write(&path, text.as_bytes())?;
            text
        }
    };
    let wrong = || LayoutError::Executor { path: path.clone() };
    let mut table: toml::Table = text.parse().map_err(|_| wrong())?;
    let identity = table.get("identity").and_then(toml::Value::as_table).ok_or_else(wrong)?.clone();
    let hub = format!("http://127.0.0.1:{port}");
    if table.get("hub").and_then(toml::Value::as_str) != Some(hub.as_str()) {
        table.insert(String::from("hub"), hub.into());
        files::write(&path, table.to_string().as_bytes())?;
    }
    Ok(identity)
}

/// The wished port, or for 0 one that is free on both loopbacks now. The hub binds it again a moment later.
fn choose_port(wished: u16) -> Result<u16, LayoutError> {
    if wished != 0 {
        return Ok(wished);
    }
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..PORT_TRIES {
        let found = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        match found.map(|address| (address.port(), both_free(address))) {
            Ok((port, Ok(()))) => return Ok(port),
            Ok((_, Err(LayoutError::Taken { source, .. }))) | Err(source) => last = source,
            Ok((_, Err(other))) => return Err(other),
        }
    }
    Err(LayoutError::NoPort { source: last })
}

/// On loopback the hub listens on both addresses, elsewhere on the one it was given.
fn loopbacks(listen: SocketAddr) -> Vec<SocketAddr> {
    if listen.ip().is_loopback() {
        let port = listen.port();
        vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
    } else {
        vec![listen]
    }
}

/// A machine without IPv6: nobody can take the address, so it is as good as free.
fn no_such_address(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.kind() == io::ErrorKind::Unsupported
}

/// The configuration of a home that `up` laid out before.
///
/// # Errors
/// [`LayoutError::NotLaidOut`] where there is none, [`LayoutError::Config`] where the hub does not take it.
pub(crate) fn existing(home: &Home) -> Result<hub::Config, LayoutError> {
    if !home.hub_config().exists() {
        return Err(LayoutError::NotLaidOut { home: home.dir().to_path_buf() });
    }
    load(&home.hub_config())
}
