//! A small HTTP/1.1 client on one socket per request: it sends exactly the headers a test names, also wrong ones.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than the longest poll (55 s), so that a hub that hangs fails the test and not the client.
const PATIENCE: Duration = Duration::from_secs(70);

/// Where to send, and the headers that every request carries.
#[derive(Debug, Clone)]
pub struct Http {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Http {
    /// A client of the server at `address`, sending `Host: address`.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, headers: vec![("Host".to_owned(), address.to_string())] }
    }

    /// The same client with a header set, or replaced; an empty value removes it.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same client with a bearer token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// `GET path`.
    #[track_caller]
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// `POST path` with a JSON body.
    #[track_caller]
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body.to_string().as_bytes()))
    }

    /// Any request; a body is announced as JSON. Panics when there is no answer.
    #[track_caller]
    #[must_use]
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        self.attempt(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// As [`Self::send`], where no answer is an answer too.
    ///
    /// # Errors
    /// The socket's error, or `InvalidData` for something that is not HTTP.
    pub fn attempt(&self, method: &str, path: &str, body: Option<&[u8]>) -> std::io::Result<Answer> {
        let mut socket = self.open(method, path, body)?;
        let mut raw = Vec::new();
        // A server that refuses a large body may reset the socket after its answer: what was read still counts.
        if let Err(error) = socket.read_to_end(&mut raw)
            && raw.is_empty()
        {
            return Err(error);
        }
        Answer::parse(&raw).ok_or_else(|| std::io::Error::other("the answer is not HTTP"))
    }

    /// Sends a request and gives the socket back, for answers that do not end (server-sent events).
    ///
    /// # Errors
    /// The socket's error.
    pub fn open(&self, method: &str, path: &str, body: Option<&[u8]>) -> std::io::Result<TcpStream> {
        let mut socket = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head += "Content-Type: application/json\r\n";
            }
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        socket.write_all(format!("{head}\r\n").as_bytes())?;
        // As above: a refusal may come before the whole body was sent.
        drop(body.map(|body| socket.write_all(body)));
        Ok(socket)
    }
}

impl Answer {
    fn parse(raw: &[u8]) -> Option<Self> {
        let end = raw.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&raw[..end]).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let split = |line: &str| {
            line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        };
        let headers: Vec<(String, String)> = lines.filter_map(split).collect();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let rest = &raw[end + 4..];
        let body = if chunked { unchunk(rest)? } else { rest.to_vec() };
        Some(Self { status, headers, body })
    }

    /// The body as JSON. Panics when it is not.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{} with a body that is not JSON ({error}): {}", self.status, self.text())
        })
    }

    /// The body as text, lossily.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Panics unless the status is this one; gives the answer on.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "answer: {}", self.text());
        self
    }
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}
