//! The log from outside: own lines only, long polls, and a stream that goes on where it stopped.
#![cfg(test)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use proto::api::{Events, Role};
use proto::chain::ChainVerifier;
use serde_json::{Value, json};
use testkit::Http;

use crate::house::{HOOK, House, asked, sealing};

/// A server-sent event.
#[derive(Debug, PartialEq)]
struct Sent {
    id: String,
    event: String,
    data: Value,
}

struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(client: &Http, path: &str) -> Self {
        let mut stream = Self(BufReader::new(client.open("GET", path, None).unwrap()));
        let head = stream.until_blank();
        assert!(head[0].contains("200"), "{head:?}");
        assert!(
            head.iter().any(|line| line.eq_ignore_ascii_case("content-type: text/event-stream")),
            "{head:?}"
        );
        stream
    }

    fn until_blank(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended after {lines:?}");
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                return lines;
            }
            lines.push(line);
        }
    }

    /// The next event; comments and the sizes of chunks are passed over.
    fn next(&mut self) -> Sent {
        loop {
            let lines = self.until_blank();
            let find = |name: &str| {
                lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
            };
            if let (Some(id), Some(event), Some(data)) = (find("id"), find("event"), find("data")) {
                return Sent { id, event, data: serde_json::from_str(&data).unwrap() };
            }
        }
    }
}

#[test]
fn every_change_is_one_line_of_a_chain_that_verifies() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let proof = key.proof(&house.approval(&[&item]));
    let batch = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(202).json()["batch"].clone();
    browser.post(&format!("/api/batches/{}/undo", batch.as_str().unwrap()), &json!({})).expect(200);
    let answer = browser.get("/api/events?limit=500").expect(200);
    let kinds: Vec<String> = answer.json()["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["event"]["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["login", "agent_added", "asked", "approved", "undone"]);
    // The lines as they stand, byte for byte, are what the verifier of every log takes.
    let lines: Events = serde_json::from_slice(&answer.body).unwrap();
    let mut verifier = ChainVerifier::new();
    for line in &lines.events {
        verifier.feed("log", format!("{}\n", line.get()).as_bytes());
    }
    let report = verifier.finish();
    assert_eq!((report.records, report.failure), (5, None));
    let head = browser.get("/api/snapshot").expect(200).json()["head"].clone();
    assert_eq!((&head["seq"], &head["verified"]), (&json!(5), &json!(true)));
}

#[test]
fn a_machine_sees_its_own_lines_and_a_person_all() {
    let house = House::new();
    let (_, browser) = house.person();
    let (hook, other) = (house.hook(), house.machine("other", Role::Hook, &[HOOK]));
    let item = asked(&hook, "secret command");
    let lines = |client: &Http| client.get("/api/events").expect(200).text();
    assert!(lines(&hook).contains(item.get("id")));
    assert!(!lines(&other).contains(item.get("id")));
    assert!(lines(&browser).contains(item.get("id")));
    assert!(!lines(&browser).contains("secret command"), "a line names the item and does not repeat it");
    for limit in ["0", "501", "-1", "x"] {
        browser.get(&format!("/api/events?limit={limit}")).expect(400);
    }
    let some = browser.get("/api/events?kinds=asked,login&since=1").expect(200).json();
    assert_eq!(some["events"].as_array().unwrap().len(), 1);
}

#[test]
fn a_poll_for_lines_ends_with_the_next_one() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let head = browser.get("/api/snapshot").expect(200).json()["head"]["seq"].clone();
    let waiting = std::thread::spawn({
        let path = format!("/api/events?kinds=asked&since={head}&wait=55");
        move || browser.get(&path).expect(200).json()
    });
    let item = asked(&hook, "ls");
    assert_eq!(waiting.join().unwrap()["events"][0]["event"]["id"], item.get("id"));
}

#[test]
fn a_stream_goes_on_after_the_last_line_that_was_seen() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let first = asked(&hook, "one");
    let mut stream = Stream::open(&browser, "/api/stream?since=0");
    let seen: Vec<Sent> = (0..3).map(|_| stream.next()).collect();
    assert_eq!(seen[2].event, "asked");
    assert_eq!(seen[2].data["event"]["id"], first.get("id"));
    assert_eq!(seen[2].id, seen[2].data["seq"].to_string());
    let second = asked(&hook, "two");
    assert_eq!(stream.next().data["event"]["id"], second.get("id"));
    drop(stream);
    let third = asked(&hook, "three");
    let again = browser.clone().header("Last-Event-ID", &seen[2].id);
    let mut stream = Stream::open(&again, "/api/stream?since=0");
    assert_eq!(stream.next().data["event"]["id"], second.get("id"), "not from the beginning again");
    assert_eq!(stream.next().data["event"]["id"], third.get("id"));
    browser.header("Last-Event-ID", "x").get("/api/stream").expect(400);
}

#[test]
fn a_stream_without_a_number_begins_now_and_ends_with_its_credential() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    asked(&hook, "before");
    let mut stream = Stream::open(&browser, "/api/stream");
    let item = asked(&hook, "after");
    assert_eq!(stream.next().data["event"]["id"], item.get("id"));
    browser.post("/api/logout", &json!({})).expect(204);
    let mut rest = String::new();
    while stream.0.read_line(&mut rest).unwrap() > 0 {}
    assert!(!rest.contains("asked"), "{rest}");
}
