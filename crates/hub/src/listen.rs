//! Taking the addresses. On a desk the hub needs both loopback addresses: a name like `seal-….localhost` may lead a browser to
//! either, and a stranger's process on the other one would be handed the page's visitors.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

/// How often a port chosen by the kernel for one address may turn out to be taken on the other.
const CHOSEN_TRIES: u32 = 16;

/// Listens on `address`; on loopback on `127.0.0.1` and `[::1]` with the same port. Refuses when either is taken.
pub(crate) async fn listen(address: SocketAddr) -> Result<Vec<TcpListener>, ListenError> {
    if !address.ip().is_loopback() {
        return Ok(vec![bind(address).await?]);
    }
    let mut tries = 0;
    loop {
        let first = bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port())).await?;
        let port = first.local_addr().map_err(|source| ListenError::Bind { address, source })?.port();
        match bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port)).await {
            Ok(second) => return Ok(vec![first, second]),
            Err(ListenError::Taken { .. }) if address.port() == 0 && tries < CHOSEN_TRIES => tries += 1,
            // Nobody can sit on an address this machine does not have.
            Err(ListenError::Bind { source, .. })
                if source.kind() == io::ErrorKind::AddrNotAvailable
                    || source.kind() == io::ErrorKind::Unsupported
                    || source.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) =>
            {
                tracing::warn!(port, "this machine has no [::1]; listening on 127.0.0.1 alone");
                return Ok(vec![first]);
            }
            Err(other) => return Err(other),
        }
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| {
        if source.kind() == io::ErrorKind::AddrInUse {
            ListenError::Taken { address }
        } else {
            ListenError::Bind { address, source }
        }
    })
}

/// Why the hub does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Somebody else has the address.
    #[error(
        "`{address}` is taken by another program; the hub needs both 127.0.0.1 and [::1] and starts on neither: end that program \
         or choose another port"
    )]
    Taken {
        /// Which one.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot listen on `{address}`")]
    Bind {
        /// Which one.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}
