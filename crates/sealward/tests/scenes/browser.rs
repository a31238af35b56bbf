//! A real Chromium, driven through `tests/browser/driver.mjs`: one JSON command a line, one JSON answer a line.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use testkit::{SoftPasskey, World};

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/driver.mjs");

/// One browser; its pages belong to named persons, each with an authenticator of their own.
pub(crate) struct Browser {
    node: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Browser {
    /// Starts a browser.
    #[track_caller]
    pub(crate) fn new() -> Self {
        Self::launch(json!({}))
    }

    /// Starts a browser that takes a lying proxy for the world's hub.
    #[track_caller]
    pub(crate) fn behind_a_liar(world: &World) -> Self {
        let host = world.host().rsplit_once(':').unwrap().0;
        Self::launch(json!({ "lie_to": { "host": host, "port": world.address().port() } }))
    }

    #[track_caller]
    fn launch(args: Value) -> Self {
        let mut command = Command::new("node");
        command.arg(DRIVER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = command.spawn().expect("node; `make test` says how to install it");
        let to = node.stdin.take();
        let from = BufReader::new(node.stdout.take().unwrap());
        let mut browser = Self { node, to, from };
        browser.tell("launch", args);
        browser
    }

    /// Gives one command; panics with the browser's own words when it fails.
    #[track_caller]
    pub(crate) fn tell(&mut self, what: &str, args: Value) -> Value {
        let answer = self.attempt(what, args);
        assert!(
            answer["error"].is_null(),
            "the browser says: {}",
            answer["error"].as_str().unwrap_or_default()
        );
        answer["value"].clone()
    }

    /// Gives one command that may fail: `{"value"}` or `{"error"}`.
    #[track_caller]
    pub(crate) fn attempt(&mut self, what: &str, mut args: Value) -> Value {
        args["do"] = json!(what);
        let to = self.to.as_mut().expect("an open browser");
        writeln!(to, "{args}").expect("the driver reads");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the driver answers");
        assert!(
            !line.is_empty(),
            "the driver has gone; is tests/browser/node_modules there? `make test` installs it"
        );
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// A new person whose authenticator makes keys of one algorithm (COSE number).
    #[track_caller]
    pub(crate) fn person(&mut self, name: &str, alg: i64) {
        self.tell("person", json!({ "name": name, "alg": alg }));
    }

    /// Enrols a person over the link on the terminal, types what the terminal asks for, and logs in.
    #[track_caller]
    pub(crate) fn enrol(&mut self, world: &mut World, name: &str, alg: i64) {
        self.person(name, alg);
        let link = world.enrol_link();
        let fingerprint = self.tell("enrol", json!({ "name": name, "link": link, "label": name }));
        let fingerprint = fingerprint.as_str().unwrap();
        let screen = world.terminal().shows(fingerprint);
        assert!(screen.contains(name), "the terminal names the device: {screen}");
        let letters: Vec<char> = fingerprint.chars().filter(char::is_ascii_alphanumeric).collect();
        world.terminal().types(&letters[letters.len() - 6..].iter().collect::<String>());
        self.tell("enter", json!({ "name": name }));
    }

    /// A person whose passkey is one that the world has pinned already, logged in.
    #[track_caller]
    pub(crate) fn bring(&mut self, world: &World, name: &str, key: &SoftPasskey) {
        self.person(name, key.alg().cose());
        let rp_id = world.host().rsplit_once(':').unwrap().0;
        let args =
            json!({ "name": name, "rp_id": rp_id, "id": key.id(), "pkcs8": testkit::b64(&key.pkcs8()) });
        self.tell("plant", args);
        self.login(world, name);
    }

    /// Logs a person in.
    #[track_caller]
    pub(crate) fn login(&mut self, world: &World, name: &str) {
        self.tell("login", json!({ "name": name, "url": world.origin() }));
    }

    /// How many signatures a person's authenticator has made.
    #[track_caller]
    pub(crate) fn signatures(&mut self, name: &str) -> u64 {
        self.tell("signatures", json!({ "name": name })).as_u64().unwrap()
    }

    /// The rows on a person's page: id, status and visible text.
    #[track_caller]
    pub(crate) fn rows(&mut self, name: &str) -> Vec<Value> {
        self.tell("rows", json!({ "name": name })).as_array().unwrap().clone()
    }

    /// Approves one row; the hub takes it.
    #[track_caller]
    pub(crate) fn approve(&mut self, name: &str, id: &str) {
        let answer = self.tell("approve", json!({ "name": name, "id": id }));
        assert_eq!(answer["status"], 202, "{answer}");
    }

    /// Denies one row; the hub takes it.
    #[track_caller]
    pub(crate) fn deny(&mut self, name: &str, id: &str, channel: &str, reason: &str) {
        let answer =
            self.tell("deny", json!({ "name": name, "id": id, "channel": channel, "reason": reason }));
        assert_eq!(answer["status"], 201, "{answer}");
    }

    /// Panics when a person's page complained (an error, a broken policy, a dialog) or asked any other server.
    #[track_caller]
    pub(crate) fn kept_its_peace(&mut self, world: &World, name: &str) {
        let log = self.tell("log", json!({ "name": name }));
        assert_eq!(log["complaints"], json!([]), "the page complained");
        let own = |request: &Value| {
            request.as_str().unwrap().split(' ').nth(1).unwrap().starts_with(world.origin())
        };
        let foreign: Vec<&Value> = log["requests"].as_array().unwrap().iter().filter(|it| !own(it)).collect();
        assert!(foreign.is_empty(), "the page asked others: {foreign:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser when its input ends.
        drop(self.to.take());
        let mut rest = String::new();
        drop(self.from.read_line(&mut rest));
        drop(self.node.wait());
    }
}
