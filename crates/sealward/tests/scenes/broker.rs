//! The broker that `sealward up` starts: a call that needs a person waits in the inbox, and the broker checks the proof itself.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use testkit::{Alg, Desk, Payload, SoftPasskey, World, proof_of, until};

const GRANT: &str = "[[grant]]\nname = 'read'\ntool = 'read_file'\neffect = 'ask'\n[[grant]]\nname = 'list'\ntool = 'list_dir'\neffect = 'allow'\n";

/// A world whose broker asks before it reads, and a key that it believes.
fn world() -> (World, SoftPasskey) {
    let mut world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    world.stop();
    std::fs::write(world.home().join("broker/grants/g.toml"), GRANT).unwrap();
    world.start();
    let socket = world.home().join("run/loop-broker/broker.sock");
    until("the broker listens", || UnixStream::connect(&socket).is_ok());
    (world, key)
}

/// A call in flight.
struct Call(BufReader<UnixStream>);

impl Call {
    fn make(world: &World, path: &str) -> Self {
        let mut stream = UnixStream::connect(world.home().join("run/loop-broker/broker.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let call = json!({
            "type": "call", "id": 1, "session": "s", "thread": "t", "call": "c",
            "tool": "read_file", "arguments": json!({ "path": path }).to_string(),
        });
        writeln!(stream, "{}\n{call}", json!({ "type": "hello", "version": 1 })).unwrap();
        Self(BufReader::new(stream))
    }

    fn result(mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the broker hung up");
            let frame: Value = serde_json::from_str(&line).unwrap();
            if frame["type"] == "result" {
                return frame["result"].clone();
            }
        }
    }
}

/// The one call that waits.
fn waiting(desk: &Desk<'_>) -> Value {
    let mut row = Value::Null;
    until("the call waits in the inbox", || {
        row = desk.rows().into_iter().find(|row| row["kind"] == "call").unwrap_or_default();
        !row.is_null()
    });
    row
}

#[test]
fn a_persons_proof_lets_a_call_through_and_the_log_says_whose() {
    let (world, key) = world();
    let desk = world.desk(&key);
    let call = Call::make(&world, "/etc/hostname");
    let row = waiting(&desk);
    assert_eq!(row["item"]["tool"], "read_file");
    let _batch = desk.approve(&[&row]).expect(202);
    let result = call.result();
    assert_eq!(result["content"], std::fs::read_to_string("/etc/hostname").unwrap(), "{result}");
    let shown = world.sealward(["audit", "show", "--json"]).run().expect(0).out();
    assert!(shown.contains("\"kind\":\"proof_used\"") && shown.contains("\"by\":\"proof\""), "{shown}");
    assert!(world.sealward(["audit", "verify"]).run().expect(0).out().starts_with("whole: "));
}

#[test]
fn a_denial_is_quoted_and_a_withdrawn_call_leaves_the_inbox() {
    let (world, key) = world();
    let desk = world.desk(&key);
    let call = Call::make(&world, "/etc/hostname");
    let row = waiting(&desk);
    let _denied = desk.deny(&[&row], "post", "not today").expect(201);
    assert_eq!(call.result()["text"], "Denied: a person said no: not today");
    let gone = Call::make(&world, "/etc/hostname");
    let row = waiting(&desk);
    drop(gone);
    let id = row["id"].as_str().unwrap();
    until("the call is cancelled", || desk.row(id)["status"] == "cancelled");
}

#[test]
fn forged_foreign_expired_and_changed_proofs_are_refused_and_recorded() {
    let (world, key) = world();
    let desk = world.desk(&key);
    let stranger = world.passkey(Alg::Es256);
    let forge = |proof: &dyn Fn(&str) -> Value, code: &str| {
        let call = Call::make(&world, "/etc/hostname");
        let row = waiting(&desk);
        let id = row["id"].as_str().unwrap().to_owned();
        let batch = desk.approve(&[&row]).expect(202).json()["batch"].as_str().unwrap().to_owned();
        // Somebody with the hub's database puts another proof in the place of the good one before it is released.
        let forged = proof(&id).to_string().replace('\'', "''");
        world.sql(&format!("UPDATE batches SET proof = '{forged}' WHERE id = '{batch}'"));
        let result = call.result();
        assert_eq!(result["reason"]["code"], "proof", "{result}");
        assert_eq!(result["reason"]["refusal"], code, "{result}");
    };
    let hash = |id: &str| {
        let row = desk.row(id);
        testkit::Fields::of("call", &row["item"]).hash()
    };
    forge(&|id| proof_of(&Payload::approve(&[hash(id)]), &[&stranger]), "not_pinned");
    forge(&|_| proof_of(&Payload::approve(&["0".repeat(64)]), &[&key]), "not_listed");
    forge(&|id| proof_of(&Payload::approve(&[hash(id)]).moved(-48 * 3600 * 1000), &[&key]), "expired");
    forge(&|id| proof_of(&Payload::deny(&[hash(id)], "post", ""), &[&key]), "wrong_verb");
    let shown = world.sealward(["audit", "show", "--json"]).run().expect(0).out();
    for code in ["not_pinned", "not_listed", "expired", "wrong_verb"] {
        assert!(shown.contains(&format!("\"refused\":\"{code}\"")), "{code}: {shown}");
    }
}
