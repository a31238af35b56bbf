//! A whole installation in a temporary home: the real `sealward up` on a real terminal, with pins and tokens seeded.
//!
//! Every world has its own ports, name and folders, so that scenes run side by side.

use crate::{
    Alg, Desk, Http, Program, Run, Running, SoftPasskey, Temp, Terminal, approvers_file, until, write_private,
};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
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
    small_disk: bool,
}

/// A further machine that asks a world's hub.
#[derive(Debug)]
pub struct Machine {
    home: Temp,
    work: PathBuf,
    sealward: PathBuf,
}

impl World {
    /// An installation with an undo window of one second, on an address chosen before. Nobody is pinned yet.
    #[track_caller]
    #[must_use]
    pub fn new(sealward: impl Into<PathBuf>) -> Self {
        Self::configured(sealward, "[inbox]\nundo_s = 1\n")
    }

    /// An installation whose `hub.toml` ends in the given text.
    #[track_caller]
    #[must_use]
    pub fn configured(sealward: impl Into<PathBuf>, more: &str) -> Self {
        let mut world = Self::laid_out(sealward.into(), more);
        world.start_with(&[]);
        world
    }

    fn laid_out(sealward: PathBuf, more: &str) -> Self {
        let mut world = Self::empty(sealward);
        let port = free_port();
        let name = format!("seal-{}", letters(8));
        write_private(&world.home.join("hub/name"), &format!("{name}\n"));
        let config = format!(
            "listen = \"127.0.0.1:{port}\"\norigin = \"http://{name}.localhost:{port}\"\nname = \"{name}\"\n{more}"
        );
        write_private(&world.home.join("hub/hub.toml"), &config);
        world.read_address();
        world
    }

    /// As [`World::configured`], with the hub's folder on a disk of 8 MiB of its own, which a scene may fill.
    ///
    /// The disk is a tmpfs in a mount namespace; `unshare` makes it for root, and for others where user namespaces are allowed.
    #[track_caller]
    #[must_use]
    pub fn on_a_small_disk(sealward: impl Into<PathBuf>, more: &str) -> Self {
        let mut world = Self::laid_out(sealward.into(), more);
        world.small_disk = true;
        world.start_with(&[]);
        world
    }

    /// What a newcomer gets: `sealward up` on an empty home, here with a port chosen by the system.
    #[track_caller]
    #[must_use]
    pub fn fresh(sealward: impl Into<PathBuf>) -> Self {
        let mut world = Self::empty(sealward.into());
        world.start_with(&["--port", "0"]);
        world
    }

    fn empty(sealward: PathBuf) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let (origin, hub_name) = (String::new(), String::new());
        Self {
            home: Temp::new(),
            work: Temp::new(),
            sealward,
            up: None,
            origin,
            address,
            hub_name,
            small_disk: false,
        }
    }

    fn start_with(&mut self, up_args: &[&str]) {
        let home = self.home.path().to_str().expect("a plain path").to_owned();
        let args = ["up", "--home", &home].into_iter().chain(up_args.iter().copied());
        let up = if self.small_disk {
            self.start_on_a_small_disk(&home)
        } else {
            Terminal::start(&self.sealward, args)
        };
        let ready = |up: &Terminal| up.screen().contains("#enrol=") || up.screen().contains("http://");
        until("`sealward up` prints its address", || ready(&up));
        self.up = Some(up);
        self.read_address();
        until("the hub answers", || {
            self.http().attempt("GET", "/healthz", None).is_ok_and(|it| it.status == 200)
        });
    }

    fn start_on_a_small_disk(&self, home: &str) -> Terminal {
        const SCRIPT: &str = r#"
            cp -a "$1/hub" "$1/hub.kept" && mount -t tmpfs -o size=8m,mode=700 tmpfs "$1/hub" &&
            cp -a "$1/hub.kept/." "$1/hub/" && exec "$2" up --home "$1""#;
        let own = if rustix::process::getuid().is_root() { "--mount" } else { "--map-root-user" };
        let sealward = self.sealward.to_str().expect("a plain path");
        Terminal::start("unshare", [own, "--mount", "sh", "-c", SCRIPT, "sh", home, sealward])
    }

    /// The hub's folder, seen from outside also where it is on a disk of its own.
    fn hub_folder(&self) -> PathBuf {
        let folder = self.home.join("hub");
        match &self.up {
            Some(up) if self.small_disk => {
                let inside = folder.strip_prefix("/").expect("an absolute path");
                Path::new("/proc").join(up.pid().to_string()).join("root").join(inside)
            }
            Some(_) | None => folder,
        }
    }

    /// Takes all the space that is left on the hub's small disk.
    pub fn fill_the_disk(&self) {
        assert!(self.small_disk, "only a small disk is to be filled");
        let mut file =
            std::fs::File::create(self.hub_folder().join("filler")).expect("a file on the small disk");
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    }

    /// Gives the space back.
    pub fn empty_the_disk(&self) {
        std::fs::remove_file(self.hub_folder().join("filler")).expect("the filler");
    }

    fn read_address(&mut self) {
        let config =
            std::fs::read_to_string(self.hub_folder().join("hub.toml")).expect("the hub's configuration");
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
        let broker = hook.replace("hook@", "broker@");
        self.write_pins(&self.home.join("approvers.json"), &[&hook, &broker], keys, quorum);
        self.pin_at_hub(keys, quorum);
    }

    /// Pins exactly these keys at the hub alone.
    pub fn pin_at_hub(&self, keys: &[&SoftPasskey], quorum: u32) {
        let hub = format!("hub@{}", self.hub_name);
        self.write_pins(&self.hub_folder().join("approvers.json"), &[&hub], keys, quorum);
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
        run.out().trim().to_owned()
    }

    /// A further machine with pins, store and token of its own, whose executors ask the hub at `hub` (the real one or a proxy).
    ///
    /// It is pinned as `hook@name`, to the keys that this world's own hook believes, and called `name`.
    #[track_caller]
    #[must_use]
    pub fn machine(&self, name: &str, hub: SocketAddr) -> Machine {
        let identity = format!("hook@{name}");
        let token = self.token(name, "hook", &[&identity]);
        let home = Temp::new();
        copy_folder(&self.home.join("replay"), &home.join("replay"));
        copy_folder(&self.home.join("grants"), &home.join("grants"));
        let config = format!(
            "hub = \"http://{hub}\"\ntoken_file = \"token\"\nguard = \"user\"\n[identity]\nhook = \"{identity}\"\n"
        );
        write_private(&home.join("executor.toml"), &config);
        write_private(&home.join("token"), &token);
        let pins = std::fs::read_to_string(self.home.join("approvers.json")).expect("this world's pins");
        let mut pins: Value = serde_json::from_str(&pins).expect("a pin file");
        pins["executor"] = json!([identity]);
        write_private(&home.join("approvers.json"), &pins.to_string());
        Machine { home, work: self.work.path().to_owned(), sealward: self.sealward.clone() }
    }

    /// A hook call of Claude Code's in the working folder: the event's JSON is what the agent writes on standard input.
    #[must_use]
    pub fn hook(&self, event: &str, wait_s: u64) -> Program {
        hook(&self.sealward, self.home.path(), self.work.path(), event, wait_s)
    }

    /// Starts a hook call in the background and waits until its ask has come to the hub; gives the ask's row too.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, desk: &Desk<'_>, event: &str, wait_s: u64) -> (Running, Value) {
        waiting(desk, self.hook(event, wait_s))
    }

    /// Runs one SQL script on the hub's database with another program, as somebody with the file would.
    #[track_caller]
    pub fn sql(&self, script: &str) -> Run {
        let code = "import sqlite3,sys\ndb=sqlite3.connect(sys.argv[1],timeout=5)\n\
                    rows=db.execute(sys.argv[2]).fetchall()\ndb.commit()\nprint(rows)";
        let database = self.hub_folder().join("hub.sqlite");
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

impl Machine {
    /// Its home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A hook call on this machine.
    #[must_use]
    pub fn hook(&self, event: &str, wait_s: u64) -> Program {
        hook(&self.sealward, self.home.path(), &self.work, event, wait_s)
    }

    /// Starts a hook call in the background and waits until its ask has come to the hub; gives the ask's row too.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, desk: &Desk<'_>, event: &str, wait_s: u64) -> (Running, Value) {
        waiting(desk, self.hook(event, wait_s))
    }
}

fn hook(sealward: &Path, home: &Path, work: &Path, event: &str, wait_s: u64) -> Program {
    let program =
        Program::new(sealward).args(["hook", "claude", "--wait", &wait_s.to_string(), "--home"]).arg(home);
    program.stdin(event).cwd(work).patience(Duration::from_secs(wait_s + 30))
}

#[track_caller]
fn waiting(desk: &Desk<'_>, program: Program) -> (Running, Value) {
    let before = desk.ids();
    let mut hook = program.start();
    let mut row = Value::Null;
    until("the hook's ask is in the inbox", || {
        assert!(hook.ended().is_none(), "the hook ended before it asked: {}", hook.said());
        let rows = desk.rows();
        row = rows.into_iter().find(|row| !before.contains(&id_of(row))).unwrap_or_default();
        !row.is_null()
    });
    (hook, row)
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    std::fs::set_permissions(to, std::fs::metadata(from).expect("the folder").permissions())
        .expect("its permissions");
    for entry in std::fs::read_dir(from).expect("the folder").filter_map(Result::ok) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file of it");
    }
}

/// A port that is free on both loopbacks right now.
fn free_port() -> u16 {
    let both = || {
        let four = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = four.local_addr().expect("its address").port();
        TcpListener::bind(("::1", port)).is_ok().then_some(port)
    };
    std::iter::repeat_with(both).take(32).flatten().next().expect("a port free on both loopbacks")
}

/// `count` letters from a to z.
fn letters(count: usize) -> String {
    let digits = crate::random_hex(count);
    digits.bytes().take(count).map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// A row's id.
fn id_of(row: &Value) -> String {
    row["id"].as_str().expect("a row's id").to_owned()
}
