//! Who gets nowhere: a second process on the other loopback address, a cookie alone, a foreign or bare Host header.

use crate::{SEALWARD, claude};
use serde_json::json;
use std::net::TcpListener;
use testkit::{Alg, Program, Temp};

#[test]
fn while_the_hub_runs_nobody_else_gets_the_other_loopback_address() {
    let world = crate::world();
    let port = world.address().port();
    assert!(TcpListener::bind(("127.0.0.1", port)).is_err());
    assert!(TcpListener::bind(("::1", port)).is_err());
}

#[test]
fn the_hub_does_not_start_when_either_loopback_address_is_taken() {
    for host in ["127.0.0.1", "::1"] {
        let taken = TcpListener::bind((host, 0)).unwrap();
        let port = taken.local_addr().unwrap().port().to_string();
        let home = Temp::new();
        let up = Program::new(SEALWARD).args(["up", "--port", &port, "--home"]).arg(home.path());
        let run = up.patience(std::time::Duration::from_secs(20)).run();
        assert_ne!(run.code, Some(0), "{}", run.out());
        assert!(run.err().contains("taken"), "{}", run.err());
    }
}

#[test]
fn a_cookie_seen_by_another_localhost_service_opens_nothing() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let (_hook, row) = world.ask(&desk, &claude::bash("s1", world.work(), "make deploy"), 30);
    let id = row["id"].as_str().unwrap();
    // Cookies ignore ports: a service on another port of the same name is sent this one, and knows nothing else.
    let start = world.browser().post("/api/login/start", &json!({})).expect(200).json();
    let finish =
        world.browser().post("/api/login/finish", &key.login(start["nonce"].as_str().unwrap())).expect(200);
    let cookie = finish.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let thief = world.browser().header("Cookie", &cookie);
    for path in [
        "/api/snapshot",
        "/api/me",
        "/api/history",
        &format!("/api/items/{id}"),
        "/api/sessions",
        "/api/events",
    ] {
        let answer = thief.get(path);
        assert!(matches!(answer.status, 401 | 403), "{path}: {} {}", answer.status, answer.text());
    }
    let payload = testkit::Payload::approve(&[testkit::Fields::of("ask", &row["item"]).hash()]);
    let body = json!({ "proof": key.proof(&payload), "entries": [{ "kind": "ask", "id": id, "choice": "", "sha256": "" }] });
    assert!(matches!(thief.post("/api/proofs", &body).status, 401 | 403));
    let guess = thief.header("X-Sealward", &testkit::b64(&[7; 32]));
    assert!(matches!(guess.get("/api/snapshot").status, 401 | 403));
    assert_eq!(desk.row(id)["status"], "pending");
}

#[test]
fn the_page_answers_to_its_own_name_only() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let port = world.address().port();
    let (name, own) = (world.host().rsplit_once(':').unwrap().0.to_owned(), world.host().to_owned());
    assert_eq!(world.browser().get("/").status, 200);
    assert_eq!(desk.http().get("/api/snapshot").status, 200);
    let strangers = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("evil.example:{port}"),
        format!("{name}:1"),
        format!("{name}.evil.example:{port}"),
        name,
        "127.0.0.1".to_owned(),
    ];
    for host in &strangers {
        for path in ["/", "/api/snapshot"] {
            let answer = desk.http().clone().header("Host", host).get(path);
            assert_eq!(answer.status, 403, "Host: {host} {path}: {}", answer.text());
        }
    }
    // No Host header at all is not HTTP/1.1; whatever is said, it is not the page.
    let bare = desk.http().clone().header("Host", "").get("/api/snapshot");
    assert!(matches!(bare.status, 400 | 403), "{}", bare.text());
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("http://localhost:{port}"),
        format!("https://{own}"),
    ] {
        let answer = desk
            .http()
            .clone()
            .header("Origin", &origin)
            .post("/api/prepare", &json!({ "verb": "approve", "entries": [] }));
        assert_eq!(answer.status, 403, "Origin: {origin}: {}", answer.text());
    }
}

#[test]
fn the_two_audiences_never_mix() {
    let world = crate::world();
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let first = world.http().bearer(&world.token("first", "hook", &["hook@first"]));
    let second = world.http().bearer(&world.token("second", "hook", &["hook@second"]));
    let id = testkit::new_id("ask");
    let ask = |id: &str, executor: &str| {
        json!({ "kind": "ask", "quorum": 1, "id": id, "executor": executor, "session": "s", "tool": "Bash",
                "input": "{\"command\":\"make\"}", "cwd": "/srv" })
    };
    let _asked = first.post("/api/asks", &ask(&id, "hook@first")).expect(201);
    let _again = first.post("/api/asks", &ask(&id, "hook@first")).expect(200);
    assert_eq!(
        first.post("/api/asks", &ask(&testkit::new_id("ask"), "hook@second")).status,
        403,
        "not its executor"
    );
    assert!(matches!(second.get(&format!("/api/asks/{id}")).status, 403 | 404), "another agent's ask");
    assert!(matches!(second.post("/api/asks", &ask(&id, "hook@second")).status, 403 | 404 | 409));
    let close = json!({ "status": "cancelled" });
    assert!(matches!(second.post(&format!("/api/asks/{id}/close"), &close).status, 403 | 404));
    assert_eq!(first.get("/api/snapshot").status, 403, "a machine is not a browser");
    assert_eq!(first.get("/api/history").status, 403);
    assert_eq!(desk.http().get(&format!("/api/asks/{id}")).status, 403, "a browser is not a machine");
    assert_eq!(world.http().get(&format!("/api/asks/{id}")).status, 403, "no credential");
    assert_eq!(
        world.http().bearer("sw_nobody").get(&format!("/api/asks/{id}")).status,
        401,
        "an unknown one"
    );
    assert_eq!(desk.ids(), [id]);
}
