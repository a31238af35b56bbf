//! `sealward health`: one GET of `/healthz`, for containers and watchdogs. No client library: it must start where nothing else does.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward health --listen 127.0.0.1:8787";

/// A hub that is well answers within a millisecond; a container's check usually gives 3 to 30 s.
const PATIENCE: Duration = Duration::from_secs(3);
/// `{"status":"ok"}` with its head is under 300 bytes.
const ANSWER_MAX: u64 = 4096;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Where the hub listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
}

/// Exit 0 when the hub answers 200, 1 when it answers anything else or not at all.
pub(crate) fn run(args: &Args, _home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    match status(args.listen) {
        Ok(200) => {
            out.line("ok");
            Ok(Exit::Done)
        }
        Ok(code) => {
            out.note(format_args!("sealward: the hub at {} is not well (status {code})", args.listen));
            Ok(Exit::Refused)
        }
        Err(error) => {
            out.note(format_args!("sealward: no hub answers at {}: {error}", args.listen));
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
