//! A whole installation in a temporary home: the real `sealward up` on a real terminal, with pins and tokens seeded.
//!
//! Every world has its own ports, name and folders, so that scenes run side by side.

use crate::{
    Alg, Desk, Http, Program, Run, Running, SoftPasskey, Temp, Terminal, approvers_file, until, write_private,
};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A running installation. Everything it started ends with it.
#[derive(Debug)]
pub struct World {
    home: Temp,
    work: Temp,
    sealward: PathBuf,
    up: Option<Terminal>,
    origin: String,
    address: SocketAddr,
    hub_name: String,
}

impl World {
    /// Lays out a home with `sealward up` and waits until its hub answers. Nobody is pinned yet.
    #[track_caller]
    #[must_use]
    pub fn new(sealward: impl Into<PathBuf>) -> Self {
        Self::with_up(sealward, &[])
    }

    /// As [`World::new`], with further arguments for `up`.
    #[track_caller]
    #[must_use]
    pub fn with_up(sealward: impl Into<PathBuf>, up_args: &[&str]) -> Self {
        let mut world = Self {
            home: Temp::new(),
            work: Temp::new(),
            sealward: sealward.into(),
            up: None,
            origin: String::new(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            hub_name: String::new(),
        };
        let args: Vec<&str> = ["--port", "0"].into_iter().chain(up_args.iter().copied()).collect();
        world.start_with(&args);
        world
    }

    fn start_with(&mut self, up_args: &[&str]) {
        let home = self.home.path().to_str().expect("a plain path");
        let args = ["up", "--home", home].into_iter().chain(up_args.iter().copied());
        let up = Terminal::start(&self.sealward, args);
        let ready = |up: &Terminal| up.screen().contains("#enrol=") || up.screen().contains("http://");
        until("`sealward up` prints its address", || ready(&up));
        self.up = Some(up);
        self.read_address();
        until("the hub answers", || {
            self.http().attempt("GET", "/healthz", None).is_ok_and(|it| it.status == 200)
        });
    }

    fn read_address(&mut self) {
        let config =
            std::fs::read_to_string(self.home.join("hub/hub.toml")).expect("the hub's configuration");
        let value = |key: &str| {
            let line = config
                .lines()
                .find(|line| line.starts_with(&format!("{key} = ")))
                .expect("a key of hub.toml");
            line.split('"').nth(1).expect("a quoted value").to_owned()
        };
        self.address = value("listen").parse().expect("an address");
        self.origin = value("origin");
        self.hub_name = value("name");
    }

    /// The home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A folder for the agent to work in, outside the home.
    #[must_use]
    pub fn work(&self) -> &Path {
        self.work.path()
    }

    /// The page's origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The page's host with its port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.origin.split_once("://").expect("an origin").1
    }

    /// Where the hub listens on IPv4.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The terminal `sealward up` runs on.
    #[track_caller]
    pub fn terminal(&mut self) -> &mut Terminal {
        self.up.as_mut().expect("a world that is up")
    }

    /// The enrolment link the terminal printed last.
    #[track_caller]
    #[must_use]
    pub fn enrol_link(&mut self) -> String {
        let screen = self.terminal().shows("#enrol=");
        let mut links = screen.split_whitespace().filter(|word| word.contains("#enrol="));
        links.next_back().expect("a link on the screen").to_owned()
    }

    /// The identity of this machine's hook.
    #[must_use]
    pub fn hook_identity(&self) -> String {
        let config =
            std::fs::read_to_string(self.home.join("executor.toml")).expect("the executors' configuration");
        let line = config.lines().find(|line| line.starts_with("hook = ")).expect("the hook's identity");
        line.split('"').nth(1).expect("a quoted value").to_owned()
    }

    /// A software passkey for this world's page.
    #[must_use]
    pub fn passkey(&self, alg: Alg) -> SoftPasskey {
        SoftPasskey::at(alg, &self.origin)
    }

    /// Pins exactly these keys, at the hook and at the hub, with a quorum for asks.
    pub fn pin(&self, keys: &[&SoftPasskey], quorum: u32) {
        let hook = self.hook_identity();
        self.write_pins(&self.home.join("approvers.json"), &[&hook], keys, quorum);
        self.pin_at_hub(keys, quorum);
    }

    /// Pins exactly these keys at the hub alone.
    pub fn pin_at_hub(&self, keys: &[&SoftPasskey], quorum: u32) {
        let hub = format!("hub@{}", self.hub_name);
        self.write_pins(&self.home.join("hub/approvers.json"), &[&hub], keys, quorum);
    }

    fn write_pins(&self, path: &Path, executors: &[&str], keys: &[&SoftPasskey], quorum: u32) {
        let mut file = approvers_file(executors, keys);
        file["quorum"] = json!({ "ask": quorum });
        write_private(path, &file.to_string());
    }

    /// A client of the machine routes, without a credential.
    #[must_use]
    pub fn http(&self) -> Http {
        Http::new(self.address)
    }

    /// A client of the page's routes as a browser sends them, without a session.
    #[must_use]
    pub fn browser(&self) -> Http {
        let sent = self.http().header("Host", self.host()).header("Origin", &self.origin);
        sent.header("Sec-Fetch-Site", "same-origin")
    }

    /// Logs a software passkey in to the page's routes.
    #[track_caller]
    #[must_use]
    pub fn desk<'k>(&self, key: &'k SoftPasskey) -> Desk<'k> {
        Desk::login(self.browser(), key)
    }

    /// Runs `sealward` with arguments on this home.
    #[must_use]
    pub fn sealward<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        Program::new(&self.sealward).args(args).arg("--home").arg(self.home.path())
    }

    /// Makes a token with `sealward agents add`.
    #[track_caller]
    #[must_use]
    pub fn token(&self, name: &str, role: &str, executors: &[&str]) -> String {
        let mut program = self.sealward(["agents", "add", name, "--role", role]);
        for executor in executors {
            program = program.args(["--executor", executor]);
        }
        let run = program.run().expect(0);
        run.out().split_whitespace().last().expect("a token on standard output").to_owned()
    }

    /// A hook call of Claude Code's in the working folder: the event's JSON is what the agent writes on standard input.
    #[must_use]
    pub fn hook(&self, event: &str, wait_s: u64) -> Program {
        let wait = wait_s.to_string();
        let program = self.sealward(["hook", "claude", "--wait", &wait]);
        program.stdin(event).cwd(self.work.path()).patience(Duration::from_secs(wait_s + 30))
    }

    /// Starts a hook call in the background and waits until its ask has come to the hub; gives the ask's row too.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, desk: &Desk<'_>, event: &str, wait_s: u64) -> (Running, Value) {
        let before = desk.ids();
        let mut hook = self.hook(event, wait_s).start();
        let mut row = Value::Null;
        until("the hook's ask is in the inbox", || {
            assert!(hook.ended().is_none(), "the hook ended before it asked: {}", hook.said());
            let rows = desk.rows();
            row = rows.into_iter().find(|row| !before.contains(&id_of(row))).unwrap_or_default();
            !row.is_null()
        });
        (hook, row)
    }

    /// Runs one SQL script on the hub's database with another program, as somebody with the file would.
    #[track_caller]
    pub fn sql(&self, script: &str) -> Run {
        let code = "import sqlite3,sys\ndb=sqlite3.connect(sys.argv[1],timeout=5)\n\
                    rows=db.execute(sys.argv[2]).fetchall()\ndb.commit()\nprint(rows)";
        let database = self.home.join("hub/hub.sqlite");
        Program::new("python3").args(["-c", code]).arg(database).arg(script).run().expect(0)
    }

    /// The process id of the hub, a child of `up`.
    #[track_caller]
    #[must_use]
    pub fn hub_pid(&mut self) -> i32 {
        let parent = self.terminal().pid().to_string();
        let of = |entry: std::fs::DirEntry| -> Option<i32> {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let fields = stat.rsplit_once(')')?.1;
            let words = std::fs::read(entry.path().join("cmdline")).ok()?;
            let is_hub = words.split(|byte| *byte == 0).nth(1) == Some(b"hub");
            (is_hub && fields.split_whitespace().nth(1) == Some(&parent)).then_some(pid)
        };
        let found = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok).find_map(of);
        found.expect("a hub below `sealward up`")
    }

    /// Sends the hub a signal by its own process id.
    #[track_caller]
    pub fn signal_hub(&mut self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.hub_pid()).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("a running hub");
    }

    /// Stops `up` and its children gracefully.
    #[track_caller]
    pub fn stop(&mut self) {
        self.up.take().expect("a world that is up").stop();
        until("the hub is gone", || std::net::TcpStream::connect(self.address).is_err());
    }

    /// Starts it again, on the same home and address.
    #[track_caller]
    pub fn start(&mut self) {
        self.start_with(&[]);
    }
}

/// A row's id.
fn id_of(row: &Value) -> String {
    row["id"].as_str().expect("a row's id").to_owned()
}
