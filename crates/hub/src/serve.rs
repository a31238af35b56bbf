//! The daemon's life: open, listen, serve connections, stop without losing anything. What is served is in `routes`.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use proto::limits;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::address::Origin;
use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::listen::{ListenError, listen};
use crate::tls::{Acceptor, TlsError};
use crate::{due, routes};

/// Why a hub did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The database could not be opened.
    #[error("the hub's database cannot be opened")]
    Store(#[from] store::StoreError),
    /// An address could not be taken.
    #[error("the hub does not listen")]
    Listen(#[from] ListenError),
    /// The certificate or its key could not be used.
    #[error("the hub has no TLS")]
    Tls(#[from] TlsError),
}

/// A hub that listens and has its database open, but answers nobody yet.
#[derive(Debug)]
pub struct Hub {
    app: App,
    listeners: Vec<TcpListener>,
    tls: Option<Acceptor>,
    stop: watch::Sender<bool>,
}

impl Hub {
    /// Takes the addresses, then opens the database: of two hubs started on one folder the second fails here.
    pub async fn start(mut config: Config, clock: Clock) -> Result<Self, StartError> {
        let listeners = listen(config.listen).await?;
        if let Some(Ok(address)) = listeners.first().map(TcpListener::local_addr) {
            config.origin = config.origin.with_port_chosen(address.port());
            config.listen.set_port(address.port());
        }
        let tls = config.tls.as_ref().map(Acceptor::load).transpose()?;
        let (stop, stopping) = watch::channel(false);
        let app = App::open(config, clock, stopping).await?;
        Ok(Self { app, listeners, tls, stop })
    }

    /// The page's origin, with the port that was chosen.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.app.config().origin
    }

    /// The addresses it listens on.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until `shutdown` completes, then lets open requests finish. Whatever was answered before is on disk.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let Self { app, listeners, tls, stop } = self;
        tracing::info!(origin = app.config().origin.as_str(), "the hub answers");
        let router = routes::router(&app);
        let timer = tokio::spawn(due::run(app.clone()));
        let door = Arc::new(Semaphore::new(limits::CONNECTIONS));
        let mut accepting = JoinSet::new();
        for listener in listeners {
            let (router, tls, door) = (router.clone(), tls.clone(), Arc::clone(&door));
            accepting.spawn(accept(listener, tls, router, door, stop.subscribe()));
        }
        shutdown.await;
        tracing::info!("the hub stops");
        stop.send_replace(true);
        while accepting.join_next().await.is_some() {}
        if let Err(error) = timer.await {
            tracing::error!(%error, "the timer ended badly");
        }
        app.close().await;
    }
}

/// Starts a hub and serves until `shutdown` completes.
pub async fn serve(
    config: Config,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), StartError> {
    Hub::start(config, clock).await?.run(shutdown).await;
    Ok(())
}

/// Accepts until stopped, then waits for its connections for a moment.
async fn accept(
    listener: TcpListener,
    tls: Option<Acceptor>,
    router: Router,
    door: Arc<Semaphore>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        while open.try_join_next().is_some() {}
        let stream = match accepted {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                // Out of descriptors: taking the next at once would only spin.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(limits::ACCEPT_PAUSE_MS)).await;
                continue;
            }
        };
        match Arc::clone(&door).try_acquire_owned() {
            Ok(place) => {
                open.spawn(connection(stream, tls.clone(), router.clone(), place, stopping.clone()));
            }
            Err(_) => {
                open.spawn(turn_away(stream));
            }
        }
    }
    drop(listener);
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(Duration::from_millis(limits::STOP_MS), all).await.is_err() {
        tracing::warn!("some connections did not end in time and are cut");
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<Acceptor>,
    router: Router,
    place: OwnedSemaphorePermit,
    stopping: watch::Receiver<bool>,
) {
    // Small answers should not wait for more bytes; a socket that cannot do it works all the same.
    drop(stream.set_nodelay(true));
    match tls {
        None => exchange(stream, router, stopping).await,
        Some(acceptor) => {
            let hello = Duration::from_millis(limits::HEAD_MS);
            match tokio::time::timeout(hello, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => exchange(stream, router, stopping).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS with a peer"),
                Err(_) => tracing::debug!("a peer did not finish its TLS hello"),
            }
        }
    }
    drop(place);
}

async fn exchange<S>(stream: S, router: Router, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits::HEAD_MS))
        .max_buf_size(limits::HEAD_BYTES);
    let mut conn = pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = conn.as_mut() => Some(ended),
        _ = stopping.wait_for(|stop| *stop) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            conn.as_mut().graceful_shutdown();
            conn.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Says that the house is full; a peer that does not take the answer is dropped.
async fn turn_away(mut stream: TcpStream) {
    let body = r#"{"type":"about:blank","title":"The hub is full","status":503,"code":"unavailable","detail":"too many connections; nothing was allowed; try again"}"#;
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1";
    let answer = format!("{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let say = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(Duration::from_millis(limits::ACCEPT_PAUSE_MS), say).await, Ok(Ok(())))
    {
        tracing::debug!("a peer that found the hub full did not wait for the answer");
    }
}
