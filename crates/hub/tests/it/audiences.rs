//! Every route against every caller: the golden table, and the callers that only pretend.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use hub::{Audience, ROUTES, Route};
use proto::api::Role;
use serde_json::json;
use store::{Store as _, TokenRevoked};
use testkit::{Golden, Http, SoftPasskey};

use crate::house::{HOOK, House, asked, state};

/// The status of an answer that may be a stream without end: only its first line is read.
fn status(client: &Http, method: &str, path: &str, body: Option<&[u8]>) -> u16 {
    let mut socket = client.open(method, path, body).unwrap();
    let mut head = [0_u8; 12];
    socket.read_exact(&mut head).unwrap();
    std::str::from_utf8(&head).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

fn call(client: &Http, route: &Route) -> u16 {
    let path = route.path.replace("{id}", "nothing").replace("{asset}", "nothing.css");
    let body = (route.method() == "POST").then_some(&b"{}"[..]);
    status(client, route.method(), &path, body)
}

/// All kinds of callers, by the name of their column.
struct Callers {
    key: SoftPasskey,
    tokens: BTreeMap<&'static str, Http>,
    revoked: Http,
    ended: Http,
}

impl Callers {
    fn new(house: &House) -> Self {
        let (key, _) = house.person();
        let mut tokens = BTreeMap::new();
        for role in Role::ALL {
            tokens.insert(role.as_str(), house.machine(role.as_str(), role, &[HOOK]));
        }
        let revoked = house.machine("gone", Role::Hook, &[HOOK]);
        let now = proto::Timestamp::from_millis(house.time.now_ms());
        let done = house.beside(async |store| store.revoke_token("gone", now).await.unwrap());
        assert_eq!(done, TokenRevoked::Done);
        let ended = house.login(&key);
        ended.post("/api/logout", &json!({})).expect(204);
        Self { key, tokens, revoked, ended }
    }

    /// A caller of the right audience: what the hostile columns bend.
    fn right(&self, house: &House, route: &Route) -> Http {
        match route.audience {
            Audience::Machine => self.tokens[route.roles[0].as_str()].clone(),
            Audience::Open | Audience::Page | Audience::Door => house.page(),
            Audience::Browser | Audience::Both => house.login(&self.key),
        }
    }

    fn row(&self, house: &House, route: &Route) -> Vec<(&'static str, u16)> {
        let nobody = house.page();
        let mut row = vec![("none", call(&nobody, route)), ("browser", call(&house.login(&self.key), route))];
        for (name, token) in &self.tokens {
            row.push((name, call(token, route)));
        }
        row.push(("revoked token", call(&self.revoked, route)));
        row.push(("ended login", call(&self.ended, route)));
        let right = self.right(house, route);
        let host = format!("seal-test.localhost:{}", house.address.port());
        row.push(("evil host", call(&right.clone().header("Host", "evil.example:80"), route)));
        row.push(("bare host", call(&right.clone().header("Host", "seal-test.localhost"), route)));
        row.push(("evil origin", call(&right.clone().header("Origin", "http://evil.example"), route)));
        let neighbour = format!("http://localhost:{}", house.address.port());
        row.push(("other name", call(&right.header("Host", &host).header("Origin", &neighbour), route)));
        row
    }
}

#[test]
fn every_route_answers_every_caller_as_the_table_says() {
    let house = House::new();
    let callers = Callers::new(&house);
    let mut table = String::new();
    for route in ROUTES {
        let row = callers.row(&house, route);
        if table.is_empty() {
            let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
            writeln!(table, "{:40} {}", "route", names.join(" | ")).unwrap();
        }
        let audience = format!("{:?}", route.audience).to_lowercase();
        write!(table, "{:40}", format!("{} {} ({audience})", route.method(), route.path)).unwrap();
        for (name, status) in row {
            write!(table, " {status:>width$}", width = name.len()).unwrap();
        }
        table.push('\n');
    }
    Golden::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).check("routes.txt", &table);
}

#[test]
fn half_a_login_and_two_logins_at_once_are_no_login() {
    let house = House::new();
    let (_, browser) = house.person();
    let token = house.add_token("claude", Role::Hook, &[HOOK]);
    browser.get("/api/me").expect(200);
    // A cookie comes along from another port of this host; the page's token does not.
    browser.clone().header("X-Sealward", "").get("/api/me").expect(403);
    browser.clone().header("Cookie", "").get("/api/me").expect(403);
    browser.clone().header("X-Sealward", "guess").get("/api/me").expect(401);
    browser.clone().header("Cookie", "sealward=guess").get("/api/me").expect(401);
    browser.bearer(&token).get("/api/me").expect(403);
    let bare = Http::new(house.address);
    bare.clone().bearer(&token).get("/api/me").expect(200);
    bare.clone().bearer("guess").get("/api/me").expect(401);
    bare.clone().header("Authorization", "Basic YTpi").get("/api/me").expect(401);
    bare.bearer(&token).header("X-Sealward", "x").get("/api/me").expect(403);
}

#[test]
fn a_write_needs_the_pages_own_origin_and_a_read_no_foreign_one() {
    let house = House::new();
    let (_, browser) = house.person();
    browser.post("/api/pause", &json!({})).expect(200);
    for origin in ["", "null", "http://evil.example", "https://seal-test.localhost"] {
        let problem = browser.clone().header("Origin", origin).post("/api/pause", &json!({})).expect(403);
        assert_eq!(problem.json()["code"], "forbidden", "{origin}");
    }
    browser.clone().header("Origin", "").get("/api/me").expect(200);
    browser.clone().header("Origin", "").header("Sec-Fetch-Site", "same-site").get("/api/me").expect(403);
    browser.clone().header("Sec-Fetch-Site", "cross-site").get("/api/me").expect(403);
    browser.header("Sec-Fetch-Site", "same-origin").get("/api/me").expect(200);
}

#[test]
fn machines_may_use_any_loopback_name_and_pages_only_theirs() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let port = house.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "seal-test.localhost", "anything.localhost"] {
        hook.clone().header("Host", &format!("{host}:{port}")).get("/api/me").expect(200);
    }
    for host in ["", "localhost", "127.0.0.1", "192.0.2.1", "rebound.example", "localhost.example"] {
        hook.clone().header("Host", host).get("/api/me").expect(403);
        hook.clone().header("Host", &format!("x{host}:{port}")).get("/api/me").expect(403);
    }
    for host in ["localhost", "127.0.0.1", "[::1]", "other.localhost"] {
        browser.clone().header("Host", &format!("{host}:{port}")).get("/api/me").expect(403);
    }
}

#[test]
fn two_hosts_or_a_whole_address_in_the_request_line_get_nowhere() {
    let house = House::new();
    let port = house.address.port();
    for head in [
        format!("GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n"),
        format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost:{port}\r\n"),
        "GET /healthz HTTP/1.0\r\n".to_owned(),
    ] {
        let mut socket = TcpStream::connect(house.address).unwrap();
        socket.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.0 403"), "{head}{answer}");
    }
}

#[test]
fn a_token_sees_its_own_executors_asks_only_and_may_not_borrow_one() {
    let house = House::new();
    let hook = house.hook();
    let other = house.machine("other", Role::Hook, &["hook@server"]);
    let item = asked(&hook, "ls");
    other.get(&format!("/api/asks/{}", item.get("id"))).expect(404);
    let borrowed = crate::house::body(&crate::house::ask("other", "ls"));
    assert_eq!(other.post("/api/asks", &borrowed).expect(403).json()["code"], "forbidden");
    assert_eq!(state(&hook, &item)["status"], "pending");
}

#[test]
fn every_answer_carries_the_guards_and_no_answer_may_be_kept() {
    let house = House::new();
    let (_, browser) = house.person();
    for answer in [
        house.page().get("/"),
        house.page().get("/nothing"),
        browser.get("/api/me"),
        browser.header("Host", "evil.example").get("/api/me"),
        house.page().send("DELETE", "/api/me", None),
    ] {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        for part in [
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{part}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        assert!(answer.header("permissions-policy").unwrap().contains("publickey-credentials-get=(self)"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn unknown_paths_and_methods_are_problems_with_a_code() {
    let house = House::new();
    for (method, path, status, code) in [
        ("GET", "/api/nothing", 404, "not_found"),
        ("DELETE", "/api/asks", 405, "method"),
        ("PUT", "/healthz", 405, "method"),
    ] {
        let answer = house.page().send(method, path, None).expect(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem = answer.json();
        assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)));
        assert_eq!(problem["type"], "about:blank");
    }
}
