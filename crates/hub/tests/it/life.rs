//! Starting, stopping, failing: what a hub needs to start, what survives, what a full disk does.
#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use hub::{Clock, Config, ConfigError, Hub, ListenError, StartError};
use serde_json::json;
use testkit::{Temp, until};
use tokio::runtime::Runtime;

use crate::house::{House, ask, asked, body, sealing, state};

fn config(folder: &Temp, text: &str) -> Result<Config, ConfigError> {
    Config::parse(&format!("origin = \"http://localhost:8787\"\nname = \"test\"\n{text}"), folder.path())
}

#[test]
fn a_hub_starts_on_neither_loopback_when_one_is_taken() {
    for taken in ["[::1]:0", "127.0.0.1:0"] {
        let folder = Temp::new();
        let squatter = TcpListener::bind(taken).unwrap();
        let port = squatter.local_addr().unwrap().port();
        let config = config(&folder, &format!("listen = \"127.0.0.1:{port}\"")).unwrap();
        let started = Runtime::new().unwrap().block_on(Hub::start(config, Clock::system()));
        let Err(StartError::Listen(ListenError::Taken { address })) = started else { panic!("{started:?}") };
        assert_eq!(address, squatter.local_addr().unwrap());
        assert!(!folder.join("hub.sqlite").exists(), "nothing was made");
        let other = if taken.starts_with('[') { "127.0.0.1" } else { "[::1]" };
        TcpListener::bind(format!("{other}:{port}")).unwrap();
    }
}

#[test]
fn a_running_hub_leaves_no_loopback_to_a_second_program() {
    let house = House::new();
    let port = house.address.port();
    for address in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        TcpListener::bind(&address).unwrap_err();
        TcpStream::connect(&address).unwrap();
    }
}

#[test]
fn configurations_that_expose_or_confuse_are_refused() {
    let folder = Temp::new();
    config(&folder, "listen = \"0.0.0.0:8787\"\nbehind_proxy = true").unwrap();
    assert!(matches!(config(&folder, "listen = \"0.0.0.0:8787\""), Err(ConfigError::Exposed { .. })));
    assert!(matches!(config(&folder, "listen = \"127.0.0.2:8787\""), Err(ConfigError::OddLoopback { .. })));
    assert!(matches!(config(&folder, "listen = \"8787\""), Err(ConfigError::Listen { .. })));
    assert!(matches!(config(&folder, "undo = 5"), Err(ConfigError::Parse { .. })));
    assert!(matches!(config(&folder, "[inbox]\nundo_s = 601"), Err(ConfigError::Range { .. })));
    assert!(matches!(config(&folder, "[limits]\npending = 0"), Err(ConfigError::Range { .. })));
    let tls = "[tls]\ncert = \"c.pem\"\nkey = \"k.pem\"";
    assert!(matches!(config(&folder, tls), Err(ConfigError::TlsOrigin { .. })));
}

#[test]
fn a_restart_keeps_inbox_logins_and_what_was_sealed() {
    let mut house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (waiting, sealed) = (asked(&hook, "one"), asked(&hook, "two"));
    let proof = key.proof(&house.approval(&[&sealed]));
    browser.post("/api/proofs", &sealing(&proof, &[&sealed])).expect(202);
    // Stopped inside the undo window, started after it.
    house.stop();
    house.time.advance(60_000);
    house.start();
    until("what was sealed settles", || state(&hook, &sealed)["status"] == "allowed");
    assert_eq!(state(&hook, &sealed)["proof"], proof);
    assert_eq!(state(&hook, &waiting)["status"], "pending");
    hook.post("/api/asks", &body(&waiting)).expect(200);
    let inbox = browser.get("/api/snapshot").expect(200).json();
    assert_eq!(inbox["inbox"][0]["id"], waiting.get("id"));
    assert_eq!(inbox["head"]["verified"], true);
}

#[test]
fn a_stop_ends_polls_and_streams_with_an_answer_and_loses_no_request() {
    let mut house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let path = format!("/api/asks/{}?wait=55", item.get("id"));
    let mut poll = hook.open("GET", &path, None).unwrap();
    let mut stream = browser.open("GET", "/api/stream", None).unwrap();
    let mut first = [0_u8; 12];
    stream.read_exact(&mut first).unwrap();
    let start = Instant::now();
    house.stop();
    assert!(start.elapsed() < Duration::from_secs(9), "nothing had to be cut");
    let mut answer = String::new();
    poll.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("200 OK") && answer.contains("\"pending\""), "{answer}");
    stream.read_to_string(&mut answer).unwrap();
    TcpStream::connect(house.address).unwrap_err();
}

#[test]
fn a_second_hub_on_the_same_folder_and_port_does_not_start() {
    let house = House::new();
    let config = Config::parse(&house.config_text(), house.folder.path()).unwrap();
    let second = Runtime::new().unwrap().block_on(Hub::start(config, Clock::system()));
    assert!(matches!(second, Err(StartError::Listen(ListenError::Taken { .. }))), "{second:?}");
}

#[test]
fn a_body_that_stops_coming_is_given_up_and_nothing_is_stored() {
    let house = House::new();
    let hook = house.hook();
    let whole = body(&ask("claude", "ls")).to_string();
    let announced = hook
        .clone()
        .header("Content-Length", &whole.len().to_string())
        .header("Content-Type", "application/json");
    let half = whole.as_bytes().split_at(whole.len() / 2).0;
    let mut slow = announced.open("POST", "/api/asks", None).unwrap();
    slow.write_all(half).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("did not come whole"), "{answer}");
    assert_eq!(hook.get("/api/events?kinds=asked").expect(200).json()["events"], json!([]));
}

#[test]
fn a_slow_head_is_cut_off_and_bothers_nobody() {
    let house = House::new();
    let mut slow = TcpStream::connect(house.address).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost").unwrap();
    house.page().get("/healthz").expect(200);
    slow.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn when_the_house_is_full_the_next_visitor_is_told() {
    let house = House::new();
    let visitors: Vec<TcpStream> =
        (0..proto::limits::CONNECTIONS).map(|_| TcpStream::connect(house.address).unwrap()).collect();
    let mut told = String::new();
    until("a visitor is turned away", || {
        let mut visitor = TcpStream::connect(house.address).unwrap();
        visitor.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        told.clear();
        visitor.read_to_string(&mut told).is_ok() && told.contains("503")
    });
    let body = told.split("\r\n\r\n").nth(1).unwrap();
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], "unavailable");
    drop(visitors);
    until("there is room again", || {
        house.page().attempt("GET", "/healthz", None).is_ok_and(|a| a.status == 200)
    });
}

#[test]
fn health_says_ok_and_no_more() {
    let house = House::new();
    assert_eq!(house.page().get("/healthz").expect(200).json(), json!({ "status": "ok" }));
}

#[test]
fn a_pin_file_nobody_can_trust_stops_every_seal() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let body = sealing(&key.proof(&house.approval(&[&item])), &[&item]);
    let pins = house.folder.join("approvers.json");
    std::fs::set_permissions(&pins, std::fs::Permissions::from_mode(0o644)).unwrap();
    browser.post("/api/proofs", &body).expect(503);
    std::fs::set_permissions(&pins, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&pins, house.folder.join("aside")).unwrap();
    browser.post("/api/proofs", &body).expect(401);
    std::fs::rename(house.folder.join("aside"), &pins).unwrap();
    browser.post("/api/proofs", &body).expect(202);
    hook.post("/api/asks", &crate::house::body(&ask("claude", "ls"))).expect(201);
}
