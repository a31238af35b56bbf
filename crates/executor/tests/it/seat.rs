//! A home with pins and a replay store, and before it a hub that says what the test wants.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use executor::Clock;
use executor::hook::{Job, Outcome, Shape, run};
use proof::ReplayStore;
use proto::Timestamp;
use serde_json::{Value, json};
use testkit::{
    Alg, Asked, Deed, Fields, Payload, Proxy, SoftPasskey, Temp, approvers_file, now_ms, write_private,
};

/// The name the hub's token stands for.
pub(crate) const AGENT: &str = "tester";
/// The hook's own identity.
pub(crate) const IDENTITY: &str = "hook@laptop";
/// A folder that is its own real path on every machine, and holds none of the files the events name.
pub(crate) const CWD: &str = "/usr";

type Judge = dyn Fn(&Fields, usize) -> Deed + Send + Sync;
type Trouble = dyn Fn(&Asked) -> Option<Deed> + Send + Sync;

/// What the hub keeps, and what it says.
pub(crate) struct Script {
    pub(crate) asks: Mutex<Vec<Value>>,
    pub(crate) closes: Mutex<Vec<(String, Value)>>,
    pub(crate) trust: Mutex<Value>,
    pub(crate) messages: Mutex<Value>,
    pub(crate) polls: AtomicUsize,
    /// What the hub's clock is off by, ms.
    pub(crate) off_ms: i64,
    judge: Box<Judge>,
    trouble: Box<Trouble>,
}

impl Script {
    /// A hub that answers every poll of an ask as `judge` says, given its item and how many polls came before.
    pub(crate) fn new(judge: impl Fn(&Fields, usize) -> Deed + Send + Sync + 'static) -> Self {
        Self {
            asks: Mutex::default(),
            closes: Mutex::default(),
            trust: Mutex::new(json!({"proofs": [], "next": 0})),
            messages: Mutex::new(json!({"messages": [], "next": 0})),
            polls: AtomicUsize::new(0),
            off_ms: 0,
            judge: Box::new(judge),
            trouble: Box::new(|_| None),
        }
    }

    /// A hub that answers some requests in another way.
    pub(crate) fn but(mut self, trouble: impl Fn(&Asked) -> Option<Deed> + Send + Sync + 'static) -> Self {
        self.trouble = Box::new(trouble);
        self
    }

    fn answer(&self, asked: &Asked) -> Deed {
        if let Some(deed) = (self.trouble)(asked) {
            return deed;
        }
        let path = asked.path.split('?').next().unwrap();
        match (asked.method.as_str(), path) {
            ("GET", "/api/me") => Deed::Say(200, self.me()),
            ("GET", "/api/trust") => Deed::Say(200, held(&self.trust).clone()),
            ("GET", "/api/messages") => Deed::Say(200, held(&self.messages).clone()),
            ("POST", "/api/asks") => self.ask(&asked.body),
            ("GET", _) => {
                let ask = self.ask_of(path.trim_start_matches("/api/asks/"));
                (self.judge)(&ask, self.polls.fetch_add(1, Ordering::SeqCst))
            }
            _ => {
                let id = path.trim_start_matches("/api/asks/").trim_end_matches("/close").to_owned();
                let body: Value = serde_json::from_slice(&asked.body).unwrap();
                held(&self.closes).push((id.clone(), body.clone()));
                Deed::Say(200, json!({"id": id, "status": body["status"]}))
            }
        }
    }

    fn me(&self) -> Value {
        json!({"audience": "machine", "name": AGENT, "role": "hook", "executors": [IDENTITY], "hub": "hub@test",
            "origin": "http://localhost:8787", "paused": false, "now": now_ms() + self.off_ms})
    }

    fn ask(&self, body: &[u8]) -> Deed {
        let body: Value = serde_json::from_slice(body).unwrap();
        let mut asks = held(&self.asks);
        let again = asks.iter().any(|ask| ask["id"] == body["id"]);
        let answer = json!({"id": body["id"], "status": "pending", "expires": now_ms() + 3_600_000});
        if !again {
            asks.push(body);
        }
        Deed::Say(if again { 200 } else { 201 }, answer)
    }

    /// The item of an ask as a hub would show and hash it.
    fn ask_of(&self, id: &str) -> Fields {
        let asks = held(&self.asks);
        let mut item = asks.iter().find(|ask| ask["id"] == id).expect("an ask that was posted").clone();
        item["agent"] = json!(AGENT);
        Fields::of("ask", &item)
    }
}

pub(crate) fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An executor's home, its person's key, and the hub.
pub(crate) struct Seat {
    pub(crate) home: Temp,
    pub(crate) key: Arc<SoftPasskey>,
    pub(crate) script: Arc<Script>,
    hub: Option<Proxy>,
    pub(crate) off_ms: i64,
}

impl Seat {
    /// A home whose pinned key approves everything that is asked.
    pub(crate) fn approving() -> Self {
        Self::with(|key| Script::new(move |item, _| approved(&key, item)))
    }

    /// A home before a hub with this script; the key is the pinned one.
    pub(crate) fn with(script: impl FnOnce(Arc<SoftPasskey>) -> Script) -> Self {
        let key = Arc::new(SoftPasskey::new(Alg::Es256));
        let script = Arc::new(script(Arc::clone(&key)));
        let told = Arc::clone(&script);
        let nobody = "127.0.0.1:9".parse().unwrap();
        let hub = Proxy::new(nobody, move |asked| told.answer(asked));
        let seat = Self { home: Temp::new(), key, script, hub: Some(hub), off_ms: 0 };
        write_private(&seat.file("token"), "machine-token\n");
        seat.settings();
        seat.pin(&approvers_file(&[IDENTITY], &[&seat.key]));
        ReplayStore::create_backdated(&seat.file("replay"), Timestamp::from_millis(now_ms())).unwrap();
        seat
    }

    fn settings(&self) {
        let hub = self.hub.as_ref().map_or_else(|| "127.0.0.1:9".to_owned(), |hub| hub.address().to_string());
        let text = format!(
            "hub = \"http://{hub}\"\ntoken_file = \"token\"\nguard = \"user\"\n[identity]\nhook = \"{IDENTITY}\"\n"
        );
        write_private(&self.file("executor.toml"), &text);
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn pin(&self, approvers: &Value) {
        write_private(&self.file("approvers.json"), &approvers.to_string());
    }

    /// The hub goes away for good.
    pub(crate) fn without_hub(mut self) -> Self {
        self.hub = None;
        self
    }

    /// Runs the hook on this event with this time-out.
    pub(crate) fn hook(&self, event: &str, wait_s: u64) -> Outcome {
        self.hook_bytes(event.as_bytes().to_vec(), wait_s)
    }

    pub(crate) fn hook_bytes(&self, event: Vec<u8>, wait_s: u64) -> Outcome {
        let mut random = [0; 16];
        aws_lc_rs::rand::fill(&mut random).unwrap();
        let job = Job {
            shape: Shape::of("claude").unwrap(),
            home: self.home.path().to_path_buf(),
            wait: Duration::from_secs(wait_s),
            random,
            stdin: Box::new(std::io::Cursor::new(event)),
        };
        let clock: Arc<dyn Clock> = Arc::new(Watch::start(self.off_ms));
        let outcome = run(job, &clock);
        assert!(
            clock.elapsed() < Duration::from_secs(wait_s),
            "the agent's time-out came first: {outcome:?}"
        );
        check_form(&outcome);
        outcome
    }

    /// The asks that reached the hub.
    pub(crate) fn asks(&self) -> Vec<Value> {
        held(&self.script.asks).clone()
    }

    /// Names of the files of asks that are still kept.
    pub(crate) fn kept(&self) -> Vec<String> {
        let Ok(listing) = fs::read_dir(self.file("kept")) else { return Vec::new() };
        listing.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// Whatever happened: at most one JSON object, one line, members named once.
#[track_caller]
fn check_form(outcome: &Outcome) {
    let Some(text) = &outcome.stdout else { return };
    let value: Value = serde_json::from_str(text).expect("one JSON value");
    let members: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["hookSpecificOutput"], "{text}");
}

/// The machine's clock, off by a known amount.
pub(crate) struct Watch {
    started: Instant,
    off_ms: i64,
}

impl Watch {
    pub(crate) fn start(off_ms: i64) -> Self {
        Self { started: Instant::now(), off_ms }
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(now_ms() + self.off_ms)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn pause(&self, span: Duration) {
        std::thread::park_timeout(span);
    }
}

/// The hub's word that an ask is allowed, with this proof.
pub(crate) fn allowed(proof: &Value) -> Deed {
    Deed::Say(200, json!({"status": "allowed", "proof": proof}))
}

/// An honest approval of this item.
pub(crate) fn approved(key: &SoftPasskey, item: &Fields) -> Deed {
    allowed(&key.proof(&Payload::approve(&[item.hash()])))
}

/// The hub's word that an ask is denied, with this proof.
pub(crate) fn denied(proof: &Value, channel: &str, reason: &str) -> Deed {
    let denial = json!({"channel": channel, "reason": reason, "label": "phone", "proof": proof});
    Deed::Say(200, json!({"status": "denied", "denial": denial}))
}

/// The hub's word that nothing has changed.
pub(crate) fn status(word: &str) -> Deed {
    Deed::Say(200, json!({ "status": word }))
}

/// An event of Claude Code about a Bash call.
pub(crate) fn bash(event: &str, command: &str) -> String {
    let input = json!({"command": command, "description": "what it is for"});
    format!(
        r#"{{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"{CWD}","permission_mode":"default","hook_event_name":"{event}","tool_name":"Bash","tool_input":{input},"tool_use_id":"toolu_1"}}"#
    )
}

/// What the gate told the agent: `allow` or `deny`, and why.
#[track_caller]
pub(crate) fn gate(outcome: &Outcome) -> (String, String) {
    let value: Value = serde_json::from_str(outcome.stdout.as_deref().expect("an answer")).unwrap();
    let said = &value["hookSpecificOutput"];
    assert_eq!(said["hookEventName"], "PreToolUse");
    let word = said["permissionDecision"].as_str().unwrap();
    assert!(word == "allow" || said.get("updatedInput").is_none(), "{value}");
    (word.to_owned(), said["permissionDecisionReason"].as_str().unwrap().to_owned())
}

/// Asserts that the gate blocked, for a reason that holds these words, and that people are told on stderr.
#[track_caller]
pub(crate) fn blocked(outcome: &Outcome, words: &str) {
    let (word, reason) = gate(outcome);
    assert_eq!(word, "deny", "{reason}");
    assert!(reason.contains(words), "`{words}` is not in `{reason}`; stderr: {:?}", outcome.stderr);
    assert!(outcome.stderr.contains(&reason), "{:?}", outcome.stderr);
}

/// Asserts that no decision was printed and that people are told on stderr why.
#[track_caller]
pub(crate) fn no_decision(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.stdout, None);
    let told = outcome.stderr.join("\n");
    assert!(told.contains(words), "`{words}` is not in `{told}`");
}
