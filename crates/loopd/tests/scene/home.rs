//! A temporary home with a running broker, and what its log says.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use loopd::{
    baseline::Baseline,
    broker_port::{BrokerPort, Port as _},
    config::Config,
    llama::Client,
    session::Session,
    tools::Registry,
    turn::{Outcome, Runtime, TurnError, run_turn},
};
use proto::{AuditEvent, AuditRecord, SessionId, TurnEvent, chain::ChainVerifier};
use testkit::{Program, Running, Temp, until};

/// A home with a broker. Dropping it ends the broker.
pub(crate) struct Home {
    temp: Temp,
    broker: Option<Running>,
}

/// What a turn did.
pub(crate) struct Turn {
    pub(crate) outcome: Result<Outcome, TurnError>,
    pub(crate) events: Vec<TurnEvent>,
}

impl Home {
    /// A home whose broker has these grants.
    pub(crate) fn new(grants: &str) -> Self {
        let temp = Temp::new();
        let home = temp.path();
        fs::create_dir(home.join("grants")).unwrap();
        fs::write(home.join("grants/g.toml"), grants).unwrap();
        let config = format!("[paths]\nhome = '{0}/broker'\ngrants = '{0}/grants'\n", home.display());
        fs::write(home.join("brokerd.toml"), config).unwrap();
        let mut this = Self { temp, broker: None };
        this.start_broker();
        this
    }

    pub(crate) fn path(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("broker/run/loop-broker/broker.sock")
    }

    pub(crate) fn start_broker(&mut self) {
        let broker =
            Program::new(brokerd()).args(["serve", "--config"]).arg(self.path().join("brokerd.toml")).start();
        self.broker = Some(broker);
        let port = BrokerPort::new(self.socket(), Duration::from_secs(5));
        until("the broker answers", || port.tools().is_ok());
    }

    pub(crate) fn kill_broker(&mut self) {
        drop(self.broker.take());
    }

    /// The loop's configuration for a model server on `socket`.
    pub(crate) fn config(&self, socket: &Path) -> Config {
        Config::from_toml(&format!(
            "sessions = '{home}/sessions'\n[model]\nendpoint = '{model}'\nmax_tokens = 256\ntemperature = 0.0\n[broker]\nsocket = '{broker}'\n",
            home = self.path().display(),
            model = socket.display(),
            broker = self.socket().display(),
        ))
        .unwrap()
    }

    pub(crate) fn runtime(&self, model: &Path) -> Runtime<BrokerPort> {
        let cfg = self.config(model);
        let port = BrokerPort::new(self.socket(), Duration::from_secs(30));
        let registry = Registry::from_broker(port.tools().unwrap());
        Runtime { client: Client::new(cfg.model.clone()), cfg, port, registry }
    }

    pub(crate) fn session(&self, name: &str, runtime: &Runtime<BrokerPort>) -> Session {
        let baseline = Baseline::assemble(&runtime.cfg, &runtime.registry).unwrap();
        let id = SessionId::new(name).unwrap();
        Session::create(&runtime.cfg.sessions, id, baseline, runtime.cfg.slots.main).unwrap()
    }

    /// The log as it is, verified.
    pub(crate) fn log(&self) -> Vec<AuditRecord> {
        let text = fs::read(self.path().join("broker/audit/00000001.jsonl")).unwrap_or_default();
        let mut verifier = ChainVerifier::new();
        verifier.feed("00000001.jsonl", &text);
        let report = verifier.finish();
        assert_eq!((report.failure, report.torn_tail), (None, None));
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }
}

/// Runs a turn and keeps its events.
pub(crate) fn turn(session: &mut Session, runtime: &Runtime<BrokerPort>, text: &str) -> Turn {
    let mut events = Vec::new();
    let outcome = run_turn(session, runtime, text, &mut |event: &TurnEvent| events.push(event.clone()));
    Turn { outcome, events }
}

/// The decisions among records.
pub(crate) fn decisions(log: &[AuditRecord]) -> Vec<&AuditEvent> {
    log.iter()
        .map(|record| &record.event)
        .filter(|event| matches!(event, AuditEvent::Decision { .. }))
        .collect()
}

fn brokerd() -> PathBuf {
    if let Some(path) = std::env::var_os("SEALWARD_BROKERD") {
        return PathBuf::from(path);
    }
    let test = std::env::current_exe().unwrap();
    let beside = test.ancestors().nth(2).unwrap().join("brokerd");
    assert!(beside.exists(), "no broker beside the test: `cargo build -p brokerd` first, or use `make test`");
    beside
}
