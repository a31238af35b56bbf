//! A model server that answers from a script, over a Unix socket, as llama-server would on the wire. It understands nothing.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// What is answered to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A stream of these chunks, and its end.
    Stream(Vec<Value>),
    /// A status and a body.
    Status(u16, Value),
    /// Some chunks, then the connection breaks.
    Break(Vec<Value>),
    /// Bytes that are no HTTP.
    Noise,
}

impl Reply {
    /// An answer in words.
    #[must_use]
    pub fn words(text: &str) -> Self {
        Self::Stream(vec![json!({"choices":[{"delta":{"content":text},"finish_reason":"stop"}]})])
    }

    /// An answer with tool calls: id, name and arguments of each.
    #[must_use]
    pub fn calls(list: &[(&str, &str, &str)], finish: &str) -> Self {
        let calls: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(index, (id, name, arguments))| {
                json!({"index":index,"id":id,"type":"function","function":{"name":name,"arguments":arguments}})
            })
            .collect();
        Self::Stream(vec![
            json!({"choices":[{"delta":{"tool_calls":calls}}]}),
            json!({"choices":[{"delta":{},"finish_reason":finish}]}),
        ])
    }
}

/// A running fake. It ends with its script; `/props` and `/tools` are answered beside it.
#[derive(Debug)]
pub struct FakeModel {
    socket: PathBuf,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl FakeModel {
    /// Listens on `socket` and answers the completions it is asked for with `script`, in order.
    ///
    /// # Panics
    /// When the socket cannot be bound.
    #[must_use]
    pub fn start(socket: &Path, script: Vec<Reply>) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket for the fake model");
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        thread::spawn(move || {
            let mut script = script.into_iter();
            while let Ok((mut stream, _)) = listener.accept() {
                let Some((path, body)) = request(&stream) else { continue };
                match path.as_str() {
                    "/props" => answer(&mut stream, &Reply::Status(200, props())),
                    "/tools" => answer(&mut stream, &Reply::Status(403, json!({"error":{}}))),
                    _ => {
                        kept.lock().expect("the fake's memory").push(body);
                        let Some(reply) = script.next() else { return };
                        answer(&mut stream, &reply);
                    }
                }
            }
        });
        Self { socket: socket.to_owned(), bodies }
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Bodies of the completions it was asked for, byte for byte.
    ///
    /// # Panics
    /// When its thread panicked.
    #[must_use]
    pub fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("the fake's memory").clone()
    }
}

fn props() -> Value {
    json!({
        "total_slots": 2,
        "chat_template_caps": { "supports_tools": true, "supports_tool_calls": true },
        "default_generation_settings": { "n_ctx": 4096 },
    })
}

/// Path and body of a request, or nothing where the client went away.
fn request(stream: &UnixStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8(body).ok()?))
}

fn answer(stream: &mut UnixStream, reply: &Reply) {
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    // A client that went away has its reasons.
    let mut send = |text: &str| drop(stream.write_all(text.as_bytes()));
    match reply {
        Reply::Stream(chunks) | Reply::Break(chunks) => {
            send(chunked);
            for chunk in chunks {
                let event = format!("data: {chunk}\n\n");
                send(&format!("{:x}\r\n{event}\r\n", event.len()));
            }
            if matches!(reply, Reply::Stream(_)) {
                send("e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
            }
        }
        Reply::Status(status, body) => {
            let body = body.to_string();
            send(&format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
        Reply::Noise => send("\u{0}\u{1}garbage\r\n\r\n"),
    }
}
