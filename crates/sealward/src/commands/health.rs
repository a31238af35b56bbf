//! `sealward health`: one GET of `/healthz`, for containers and watchdogs. On loopback without the client library, so that `up`
//! can knock forty times a second while its hub starts.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use client::{Address, BadAddress, Hub, SetUpError};

use crate::home::{Home, layout};
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str =
    "Example:\n  sealward health\n  sealward health --hub https://seal.example.org";

/// A hub that is well answers within a millisecond; a container's check usually gives 3 to 30 s.
const PATIENCE: Duration = Duration::from_secs(3);
/// `{"status":"ok"}` with its head is under 300 bytes.
const ANSWER_MAX: u64 = 4096;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Where the hub listens, without TLS [default: as in HOME/hub/hub.toml, else 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "hub")]
    listen: Option<SocketAddr>,
    /// The hub's address as machines know it, where it speaks TLS
    #[arg(long, value_name = "URL")]
    hub: Option<String>,
}

/// The hub cannot be asked.
#[derive(Debug, thiserror::Error)]
enum HealthError {
    #[error("`--hub` is not the address of a hub")]
    Address(#[from] BadAddress),
    #[error("the hub cannot be called")]
    SetUp(#[from] SetUpError),
}

/// Exit 0 when the hub answers 200, 1 when it answers anything else or not at all.
pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    if let Some(url) = &args.hub {
        return over_client(url, out);
    }
    let configured = || layout::existing(home).ok().map(|config| config.listen);
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, layout::PORT));
    let listen = args.listen.or_else(configured).unwrap_or(usual);
    match status(listen) {
        Ok(200) => {
            out.line("ok");
            Ok(Exit::Done)
        }
        Ok(code) => {
            out.note(format_args!("sealward: the hub at {listen} is not well (status {code})"));
            Ok(Exit::Refused)
        }
        Err(error) => {
            out.note(format_args!("sealward: no hub answers at {listen}: {error}"));
            Ok(Exit::Refused)
        }
    }
}

fn over_client(url: &str, out: &mut Output) -> Result<Exit, Failure> {
    let address = Address::parse(url).map_err(|bad| Failure::usage(HealthError::from(bad)))?;
    let hub = Hub::new(address, None, None).map_err(|bad| Failure::cannot(HealthError::from(bad)))?;
    match hub.health(PATIENCE) {
        Ok(()) => {
            out.line("ok");
            Ok(Exit::Done)
        }
        Err(error) => {
            out.failed(&error);
            Ok(Exit::Refused)
        }
    }
}

/// Whether a hub answers there and says that it is well.
pub(crate) fn is_well(listen: SocketAddr) -> bool {
    matches!(status(listen), Ok(200))
}

fn status(listen: SocketAddr) -> io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&listen, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    text.strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}
