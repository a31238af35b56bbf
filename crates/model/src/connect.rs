//! Where a model server listens, and one connection to it. What is said over it is `chat`'s.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::ModelError;

/// Connecting to a server on this machine takes no time; a busy one may need some.
const CONNECT: Duration = Duration::from_secs(10);

/// Where a model server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Plain HTTP: `host:port`, and what stands before every path.
    Http {
        /// `host:port`.
        authority: String,
        /// `/base` or nothing.
        base: String,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

/// The text names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no model server: an absolute socket path or `http://host:port[/base]` is wanted")]
pub struct BadEndpoint(pub String);

impl Endpoint {
    /// Reads an absolute socket path or an `http://` address.
    ///
    /// # Errors
    /// [`BadEndpoint`]. `https` is not spoken here: put a TLS proxy of your own in front.
    pub fn parse(text: &str) -> Result<Self, BadEndpoint> {
        let bad = || BadEndpoint(text.to_owned());
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let rest = text.strip_prefix("http://").ok_or_else(bad)?;
        let (authority, base) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if authority.is_empty() || authority.contains('@') || !plain(rest) || base.contains(['?', '#']) {
            return Err(bad());
        }
        let authority =
            if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        let base = base.trim_end_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        Ok(Self::Http { authority, base })
    }

    /// What stands in the `Host` header.
    pub(crate) fn authority(&self) -> &str {
        match self {
            Self::Http { authority, .. } => authority,
            Self::Unix(_) => "localhost",
        }
    }

    /// `path` below the base.
    pub(crate) fn path(&self, path: &str) -> String {
        match self {
            Self::Http { base, .. } => format!("{base}{path}"),
            Self::Unix(_) => path.to_owned(),
        }
    }

    /// Sends one request over a connection of its own; dropping the response's body closes it.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ModelError> {
        match self {
            Self::Http { authority, .. } => {
                exchange(self.reach(TcpStream::connect(authority)).await?, request).await
            }
            Self::Unix(path) => exchange(self.reach(unix(path)).await?, request).await,
        }
    }

    async fn reach<S>(&self, connecting: impl Future<Output = io::Result<S>>) -> Result<S, ModelError> {
        let outcome =
            timeout(CONNECT, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        outcome.map_err(|source| ModelError::Unreachable { endpoint: self.to_string(), source })
    }
}

async fn unix(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path).await
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ModelError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let died = |error: hyper::Error| ModelError::Died(Some(io::Error::other(error)));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(died)?;
    // The task ends with the connection; its error reaches us through the body.
    tokio::spawn(async move { drop(connection.await) });
    sender.send_request(request).await.map_err(died)
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { authority, base } => write!(f, "http://{authority}{base}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_socket_path_or_a_plain_http_address() {
        assert_eq!(Endpoint::parse("/run/x.sock"), Ok(Endpoint::Unix("/run/x.sock".into())));
        let http = |authority: &str, base: &str| {
            Ok(Endpoint::Http { authority: authority.to_owned(), base: base.to_owned() })
        };
        assert_eq!(Endpoint::parse("http://127.0.0.1:8080"), http("127.0.0.1:8080", ""));
        assert_eq!(Endpoint::parse("http://host/v/"), http("host:80", "/v"));
        for bad in ["run/x.sock", "https://host", "http://", "http://a@b", "http://h/?q", "http://h h"] {
            assert_eq!(Endpoint::parse(bad), Err(BadEndpoint(bad.to_owned())), "{bad}");
        }
    }
}
