//! A running broker on a temporary home, and one connection to it, spoken by hand.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::Duration,
};

use proto::{AuditEvent, AuditRecord, chain::ChainVerifier};
use serde_json::{Value, json};
use testkit::{Program, Running, Temp, until};

/// A broker. Dropping it kills it.
pub(crate) struct Broker {
    pub(crate) home: Temp,
    process: Option<Running>,
}

impl Broker {
    /// A broker with these grants and further configuration.
    pub(crate) fn new(grants: &str, more: &str) -> Self {
        let mut broker = Self::laid_out(grants, more);
        broker.start();
        broker
    }

    pub(crate) fn laid_out(grants: &str, more: &str) -> Self {
        let home = Temp::new();
        fs::write(home.folder("grants").join("g.toml"), grants).unwrap();
        let config =
            format!("[paths]\nhome = '{0}/home'\ngrants = '{0}/grants'\n{more}", home.path().display());
        fs::write(home.join("brokerd.toml"), config).unwrap();
        Self { home, process: None }
    }

    pub(crate) fn program(&self, command: &str) -> Program {
        Program::new(env!("CARGO_BIN_EXE_brokerd"))
            .args([command, "--config"])
            .arg(self.home.join("brokerd.toml"))
    }

    pub(crate) fn start(&mut self) {
        self.process = Some(self.program("serve").start());
        until("the broker listens", || UnixStream::connect(self.socket()).is_ok());
    }

    pub(crate) fn kill(&mut self) {
        drop(self.process.take());
    }

    pub(crate) fn process(&self) -> &Running {
        self.process.as_ref().unwrap()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.home.join("home/run/loop-broker/broker.sock")
    }

    /// The log, verified; an unfinished last line is allowed and left out.
    pub(crate) fn log(&self) -> Vec<AuditRecord> {
        let text = fs::read(self.home.join("home/audit/00000001.jsonl")).unwrap_or_default();
        let mut verifier = ChainVerifier::new();
        verifier.feed("1", &text);
        let report = verifier.finish();
        assert_eq!(report.failure, None);
        let lines = text.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    pub(crate) fn decisions(&self) -> Vec<AuditEvent> {
        let events = self.log().into_iter().map(|record| record.event);
        events.filter(|event| matches!(event, AuditEvent::Decision { .. })).collect()
    }
}

/// One connection.
pub(crate) struct Line {
    stream: BufReader<UnixStream>,
}

impl Line {
    /// Connects and says hello.
    pub(crate) fn open(broker: &Broker) -> Self {
        let mut line = Self::silent(broker);
        line.send(&json!({"type":"hello","version":1}));
        assert_eq!(line.receive().unwrap()["type"], "hello");
        line
    }

    /// Connects and says nothing.
    pub(crate) fn silent(broker: &Broker) -> Self {
        let stream = UnixStream::connect(broker.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_bytes(format!("{frame}\n").as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        // A broker that hung up is seen by the next read.
        drop(self.stream.get_mut().write_all(bytes));
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        self.send(&json!({
            "type": "call", "id": id, "session": "s", "thread": "t", "call": format!("c{id}"),
            "tool": tool, "arguments": arguments.to_string(),
        }));
    }

    /// The next frame; `None` once the broker hung up.
    pub(crate) fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// The result of the call that was just made; its events are passed over.
    pub(crate) fn result(&mut self) -> Value {
        loop {
            let frame = self.receive().unwrap();
            match frame["type"].as_str() {
                Some("event") => {}
                Some("result") => return frame["result"].clone(),
                _ => panic!("{frame}"),
            }
        }
    }

    /// Waits for the question for a person.
    pub(crate) fn asked(&mut self) -> Value {
        let frame = self.receive().unwrap();
        assert_eq!(frame["event"]["kind"], "waiting_for_person", "{frame}");
        frame["event"]["assurance"].clone()
    }
}
