//! A whole hub in a folder of its own, on a port the kernel chose, with a clock the test moves; and the callers that visit it.
#![cfg(test)]

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use hub::{Clock, Config, Hub, Time};
use proto::api::Role;
use proto::{Timestamp, sha256};
use serde_json::{Value, json};
use store::{NewToken, SqliteStore, Store, TokenAdded};
use testkit::{Alg, Fields, Http, Payload, SoftPasskey, Temp, approvers_file, new_id, now_ms, write_private};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

/// The executor most tests ask for.
pub(crate) const HOOK: &str = "hook@laptop";
/// The hub's own identity.
pub(crate) const HUB: &str = "hub@test";

/// The machine's clock, moved by what the test says.
#[derive(Clone, Debug)]
pub(crate) struct TestTime(Arc<watch::Sender<i64>>);

impl TestTime {
    pub(crate) fn advance(&self, ms: i64) {
        self.0.send_modify(|ahead| *ahead += ms);
    }

    pub(crate) fn now_ms(&self) -> i64 {
        now_ms() + *self.0.borrow()
    }
}

impl Time for TestTime {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms())
    }

    fn until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut moved = self.0.subscribe();
        let left = u64::try_from(at.since(self.now())).unwrap_or(0);
        Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(std::time::Duration::from_millis(left)) => {}
                _ = moved.changed() => {}
            }
        })
    }
}

/// One hub and what it lives in.
pub(crate) struct House {
    pub(crate) folder: Temp,
    pub(crate) time: TestTime,
    pub(crate) address: SocketAddr,
    pub(crate) origin: String,
    scheme: &'static str,
    config: String,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl House {
    /// A hub with an undo window of 5 s and nobody pinned yet.
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// A hub that speaks TLS with `cert.pem` and `key.pem` of its folder, which `prepare` puts there.
    pub(crate) fn with_tls(prepare: impl FnOnce(&Temp)) -> Self {
        let folder = Temp::new();
        prepare(&folder);
        Self::at(folder, "https", "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n")
    }

    /// The same with more in its `hub.toml`.
    pub(crate) fn with(more: &str) -> Self {
        Self::at(Temp::new(), "http", more)
    }

    fn at(folder: Temp, scheme: &'static str, more: &str) -> Self {
        let time = TestTime(Arc::new(watch::Sender::new(0)));
        let mut house = Self {
            folder,
            time,
            address: "127.0.0.1:0".parse().unwrap(),
            origin: String::new(),
            scheme,
            config: more.to_owned(),
            running: None,
        };
        house.start();
        house
    }

    pub(crate) fn config_text(&self) -> String {
        let (port, scheme) = (self.address.port(), self.scheme);
        let head = format!(
            "listen = \"127.0.0.1:{port}\"\norigin = \"{scheme}://seal-test.localhost:{port}\"\nname = \"test\"\n"
        );
        format!("{head}{}", self.config)
    }

    pub(crate) fn start(&mut self) {
        let config = Config::parse(&self.config_text(), self.folder.path()).unwrap();
        let clock = Clock::new(self.time.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, started) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            Runtime::new().unwrap().block_on(async move {
                let hub = Hub::start(config, clock).await.unwrap();
                ready.send((hub.addresses()[0], hub.origin().as_str().to_owned())).unwrap();
                hub.run(async { drop(stopped.await) }).await;
            });
        });
        (self.address, self.origin) = started.recv().unwrap();
        self.running = Some((stop, thread));
    }

    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            thread.join().unwrap();
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("hub.sqlite")
    }

    /// Uses the database beside the running hub, as `sealward agents` does.
    pub(crate) fn beside<T, F: Future<Output = T>>(&self, work: impl FnOnce(SqliteStore) -> F) -> T {
        Runtime::new().unwrap().block_on(async {
            let store = SqliteStore::open(&self.database()).await.unwrap();
            work(store).await
        })
    }

    /// Writes the hub's pin file: these keys, and what `change` makes of it.
    pub(crate) fn pin_with(&self, keys: &[&SoftPasskey], change: impl FnOnce(&mut Value)) {
        let mut file = approvers_file(&[HUB], keys);
        change(&mut file);
        write_private(&self.folder.join("approvers.json"), &file.to_string());
    }

    pub(crate) fn pin(&self, keys: &[&SoftPasskey]) {
        self.pin_with(keys, |_| {});
    }

    /// A key of this page.
    pub(crate) fn key(&self, label: &str) -> SoftPasskey {
        SoftPasskey::at(Alg::Es256, &self.origin).label(label)
    }

    /// A key that is pinned alone, logged in.
    pub(crate) fn person(&self) -> (SoftPasskey, Http) {
        let key = self.key("phone");
        self.pin(&[&key]);
        let browser = self.login(&key);
        (key, browser)
    }

    /// A client without credentials under the page's name.
    pub(crate) fn page(&self) -> Http {
        let host = self.origin.strip_prefix("http://").unwrap();
        Http::new(self.address).header("Host", host).header("Origin", &self.origin)
    }

    pub(crate) fn login_answer(&self, key: &SoftPasskey) -> Value {
        let start = self.page().post("/api/login/start", &json!({})).expect(200).json();
        self.answer_to(key, &start)
    }

    /// What the page sends after `login/start` answered `start`.
    pub(crate) fn answer_to(&self, key: &SoftPasskey, start: &Value) -> Value {
        let issued = start["now"].as_i64().unwrap();
        let payload = Payload::login(start["nonce"].as_str().unwrap(), &self.origin).with("issued", issued);
        let signature = key.sign_bent(testkit::LOGIN_TYPE, &payload.bytes(), &testkit::Bend::default());
        json!({ "payload": testkit::b64(&payload.bytes()), "signature": signature })
    }

    /// Logs in; the browser carries cookie and token from then on.
    pub(crate) fn login(&self, key: &SoftPasskey) -> Http {
        let finish = self.page().post("/api/login/finish", &self.login_answer(key)).expect(200);
        let cookie = finish.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let token = finish.json()["token"].as_str().unwrap().to_owned();
        self.page().header("Cookie", &cookie).header("X-Sealward", &token)
    }

    /// Adds a token and gives its secret.
    pub(crate) fn add_token(&self, name: &str, role: Role, executors: &[&str]) -> String {
        let secret = testkit::random_hex(16);
        let new = NewToken {
            name: name.to_owned(),
            hash: sha256(secret.as_bytes()),
            role,
            executors: executors.iter().map(|one| (*one).to_owned()).collect(),
        };
        let now = self.time.now();
        let added = self.beside(async |store| store.add_token(&new, now).await.unwrap());
        assert_eq!(added, TokenAdded::New);
        secret
    }

    /// A program with a fresh token.
    pub(crate) fn machine(&self, name: &str, role: Role, executors: &[&str]) -> Http {
        Http::new(self.address).bearer(&self.add_token(name, role, executors))
    }

    /// The hook that most tests ask with.
    pub(crate) fn hook(&self) -> Http {
        self.machine("claude", Role::Hook, &[HOOK])
    }

    /// One row of the inbox.
    #[track_caller]
    pub(crate) fn row(&self, browser: &Http, id: &str) -> Value {
        let story = browser.get(&format!("/api/items/{id}")).expect(200).json();
        story["row"].clone()
    }

    /// Everything a person sees, without what moves by itself: to compare before and after.
    pub(crate) fn seen(&self, browser: &Http) -> Value {
        let mut snapshot = browser.get("/api/snapshot").expect(200).json();
        let members = snapshot.as_object_mut().unwrap();
        members.remove("now");
        for agent in members["agents"].as_array_mut().unwrap() {
            agent.as_object_mut().unwrap().remove("seen");
        }
        snapshot
    }

    /// A payload that approves these items now, releasing them after the undo window.
    pub(crate) fn approval(&self, items: &[&Fields]) -> Payload {
        let hashes: Vec<String> = items.iter().map(|item| item.hash()).collect();
        self.dated(Payload::approve(&hashes))
    }

    /// A payload of the test's machine clock, moved to the hub's.
    pub(crate) fn dated(&self, payload: Payload) -> Payload {
        payload.moved(self.time.now_ms() - now_ms())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            drop(thread.join());
        }
    }
}

/// A fresh ask as its hook knows it.
pub(crate) fn ask(agent: &str, command: &str) -> Fields {
    let input = json!({ "command": command }).to_string();
    let item = json!({
        "id": new_id("ask"), "executor": HOOK, "agent": agent, "session": "s1", "tool": "Bash", "input": input, "cwd": "/srv/app",
    });
    Fields::of("ask", &item)
}

/// The body with which its hook asks.
pub(crate) fn body(item: &Fields) -> Value {
    let mut body = item.json();
    let members = body.as_object_mut().unwrap();
    members.remove("agent");
    members.insert("kind".into(), json!("ask"));
    members.insert("quorum".into(), json!(1));
    body
}

/// Asks for `command` as agent `claude`.
#[track_caller]
pub(crate) fn asked(hook: &Http, command: &str) -> Fields {
    let item = ask("claude", command);
    hook.post("/api/asks", &body(&item)).expect(201);
    item
}

/// The entry of an item.
pub(crate) fn entry(item: &Fields) -> Value {
    json!({ "kind": "ask", "id": item.get("id"), "choice": "", "sha256": "" })
}

/// The body of `POST /api/proofs`.
pub(crate) fn sealing(proof: &Value, items: &[&Fields]) -> Value {
    let entries: Vec<Value> = items.iter().map(|item| entry(item)).collect();
    json!({ "proof": proof, "entries": entries })
}

/// The status of an ask, for its hook.
#[track_caller]
pub(crate) fn state(hook: &Http, item: &Fields) -> Value {
    hook.get(&format!("/api/asks/{}", item.get("id"))).expect(200).json()
}
