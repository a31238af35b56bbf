//! A hub that lies to machines: a proxy before the real one, which passes on, changes, withholds or invents answers.

use crate::{Answer, Http};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A request as the proxy saw it.
#[derive(Debug)]
pub struct Asked {
    /// `GET`, `POST`.
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// The body's bytes.
    pub body: Vec<u8>,
    headers: Vec<(String, String)>,
}

/// What the proxy does with a request.
#[derive(Debug)]
pub enum Deed {
    /// Pass it on and its answer back.
    Pass,
    /// Answer it with this status and JSON, without asking the hub.
    Say(u16, Value),
    /// Answer it with these very bytes, HTTP or not.
    Raw(Vec<u8>),
    /// Take it and never answer.
    Hang,
    /// Close the connection at once.
    Close,
}

/// A proxy on a port of its own; it stops when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

type Rule = dyn Fn(&Asked) -> Deed + Send + Sync;

impl Proxy {
    /// Listens on a free loopback port before the hub at `hub`; `rule` judges every request.
    #[must_use]
    pub fn new(hub: SocketAddr, rule: impl Fn(&Asked) -> Deed + Send + Sync + 'static) -> Self {
        let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = socket.local_addr().expect("its address");
        let stop = Arc::new(AtomicBool::new(false));
        let (told, rule): (_, Arc<Rule>) = (Arc::clone(&stop), Arc::new(rule));
        let listener = std::thread::spawn(move || {
            for connection in socket.incoming() {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                let (rule, told) = (Arc::clone(&rule), Arc::clone(&told));
                // One that goes away in the middle is the other side's matter.
                std::thread::spawn(move || {
                    connection.and_then(|socket| serve(socket, hub, &*rule, &told)).ok()
                });
            }
        });
        Self { address, stop, listener: Some(listener) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A last connection wakes the listener so that it sees the flag.
        TcpStream::connect(self.address).ok();
        if let Some(listener) = self.listener.take() {
            listener.join().ok();
        }
    }
}

fn serve(mut socket: TcpStream, hub: SocketAddr, rule: &Rule, stop: &AtomicBool) -> std::io::Result<()> {
    let asked = read(&mut socket)?;
    match rule(&asked) {
        Deed::Pass => socket.write_all(&pass(&asked, hub)?),
        Deed::Say(status, body) => socket.write_all(&http(status, body.to_string().as_bytes())),
        Deed::Raw(bytes) => socket.write_all(&bytes),
        Deed::Close => Ok(()),
        Deed::Hang => {
            // Until the other side gives up, or the proxy ends.
            socket.set_read_timeout(Some(std::time::Duration::from_millis(200)))?;
            let mut one = [0];
            while !stop.load(Ordering::Relaxed) {
                if let Ok(0) = socket.read(&mut one) {
                    break;
                }
            }
            Ok(())
        }
    }
}

fn read(socket: &mut TcpStream) -> std::io::Result<Asked> {
    let mut from = BufReader::new(socket);
    let mut line = String::new();
    from.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    from.read_exact(&mut body)?;
    Ok(Asked { method, path, body, headers })
}

fn pass(asked: &Asked, hub: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut onward = Http::new(hub);
    for (name, value) in &asked.headers {
        if !matches!(name.as_str(), "host" | "connection" | "content-length") {
            onward = onward.header(name, value);
        }
    }
    let body = (asked.method != "GET").then_some(asked.body.as_slice());
    let Answer { status, body, .. } = onward.attempt(&asked.method, &asked.path, body)?;
    Ok(http(status, &body))
}

fn http(status: u16, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
