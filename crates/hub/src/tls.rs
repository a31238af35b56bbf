//! TLS by rustls, version 1.3, with certificate files that are read again when they change: a renewed certificate needs no
//! restart. Where a proxy speaks TLS nothing of this is used.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;

/// Accepts TLS with whatever the files hold at that moment.
#[derive(Clone)]
pub(crate) struct Acceptor {
    files: TlsFiles,
    loaded: Arc<Mutex<Loaded>>,
}

struct Loaded {
    stamp: Stamp,
    config: Arc<ServerConfig>,
}

/// What tells that a file changed: time and length of both files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp([(Option<SystemTime>, u64); 2]);

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Reads the files once; a hub does not start with files it cannot use.
    pub(crate) fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let loaded = Loaded { stamp: stamp(files)?, config: read(files)? };
        Ok(Self { files: files.clone(), loaded: Arc::new(Mutex::new(loaded)) })
    }

    /// Shakes hands with one peer.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.current()).accept(stream).await
    }

    /// The configuration of the files as they are now; files that cannot be used leave the last good one in place.
    fn current(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match stamp(&self.files) {
            Ok(now) if now == loaded.stamp => {}
            Ok(now) => match read(&self.files) {
                Ok(config) => *loaded = Loaded { stamp: now, config },
                Err(error) => {
                    tracing::warn!(%error, "the changed certificate cannot be used; the last one stays")
                }
            },
            Err(error) => tracing::warn!(%error, "the certificate cannot be looked at; the last one stays"),
        }
        Arc::clone(&loaded.config)
    }
}

fn stamp(files: &TlsFiles) -> Result<Stamp, TlsError> {
    let of = |path: &PathBuf| {
        fs::metadata(path)
            .map(|meta| (meta.modified().ok(), meta.len()))
            .map_err(|source| TlsError::Look { path: path.clone(), source })
    };
    Ok(Stamp([of(&files.cert)?, of(&files.key)?]))
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let pem = |path: &PathBuf| {
        let path = path.clone();
        move |source: pem::Error| TlsError::Pem { path, source }
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(pem(&files.cert))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(pem(&files.key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|source| TlsError::Pair { source })?;
    Ok(Arc::new(config))
}

/// Why TLS cannot be spoken with the configured files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be looked at.
    #[error("cannot read `{path}`")]
    Look {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not PEM, or holds nothing of its kind.
    #[error("`{path}` holds no certificate or key in PEM")]
    Pem {
        /// Which file.
        path: PathBuf,
        /// What the reader said.
        source: pem::Error,
    },
    /// Certificate and key do not belong together or are of a kind that is not taken.
    #[error("the certificate and its key cannot be used together")]
    Pair {
        /// What rustls said.
        source: tokio_rustls::rustls::Error,
    },
}
