//! Asks: what is taken, what is refused and with which status, who may read and close one.
#![cfg(test)]

use proto::api::Role;
use proto::limits;
use serde_json::{Value, json};
use testkit::until;

use crate::house::{HOOK, House, ask, asked, body, state};

fn with(member: &str, value: Value) -> Value {
    let mut body = body(&ask("claude", "ls"));
    body[member] = value;
    body
}

#[test]
fn an_ask_is_taken_once_and_waits() {
    let house = House::new();
    let hook = house.hook();
    let item = ask("claude", "make deploy");
    let first = hook.post("/api/asks", &body(&item)).expect(201).json();
    assert_eq!(first["status"], "pending");
    assert_eq!(first["expires"].as_i64().unwrap() / 10_000, (house.time.now_ms() + 3_600_000) / 10_000);
    assert_eq!(hook.post("/api/asks", &body(&item)).expect(200).json(), first);
    let other = item.clone().with("cwd", "/elsewhere");
    assert_eq!(hook.post("/api/asks", &body(&other)).expect(409).json()["code"], "duplicate");
    assert_eq!(state(&hook, &item), json!({ "status": "pending" }));
}

#[test]
fn another_machines_ask_does_not_exist_for_you() {
    let house = House::new();
    let (hook, other) = (house.hook(), house.machine("other", Role::Hook, &[HOOK]));
    let item = asked(&hook, "ls");
    let path = format!("/api/asks/{}", item.get("id"));
    other.get(&path).expect(404);
    other.post(&format!("{path}/close"), &json!({ "status": "cancelled" })).expect(404);
    assert_eq!(other.post("/api/asks", &body(&item)).expect(409).json()["code"], "duplicate");
    assert_eq!(state(&hook, &item)["status"], "pending");
}

#[test]
fn hostile_text_is_kept_to_the_byte_and_shown_as_data() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let filler = "x".repeat(256 * 1024);
    for input in [
        r#"{ "command" : "echo \u202e\u0000</script><img src=x onerror=alert(1)>" , "n":1e400}"#.to_owned(),
        "{\"command\":\"\u{202e}\u{200b}\u{1f600} \\u001b[2J\"}".to_owned(),
        format!("{{\"content\":\"{filler}\"}}"),
    ] {
        let item = ask("claude", "ls").with("input", &input);
        hook.post("/api/asks", &body(&item)).expect(201);
        let row = house.row(&browser, item.get("id"));
        assert_eq!(row["item"], item.json());
    }
}

#[test]
fn what_readers_could_take_differently_is_422_and_not_stored() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let before = house.seen(&browser);
    let deep = format!("{}{}", "[".repeat(limits::INPUT_DEPTH + 1), "]".repeat(limits::INPUT_DEPTH + 1));
    for input in [r#"{"a":1,"a":2}"#, r#"{"x":[{"a":1,"\u0061":2}]}"#, "{} {}", "", "{", "text", &deep] {
        let answer = hook.post("/api/asks", &with("input", json!(input))).expect(422).json();
        assert_eq!(answer["code"], "unprocessable", "{input}");
    }
    for (member, value) in [
        ("id", json!("ask-1")),
        ("id", json!(testkit::new_id("call"))),
        ("quorum", json!(0)),
        ("quorum", json!(17)),
        ("tool", json!("")),
        ("cwd", json!("relative")),
        ("arguments", json!("{}")),
        ("kind", json!("call")),
        ("kind", json!("review")),
    ] {
        hook.post("/api/asks", &with(member, value.clone())).expect(422);
    }
    let mut bytes = with("tool", json!("MARK")).to_string().into_bytes();
    let at = bytes.windows(4).position(|four| four == b"MARK").unwrap();
    bytes[at] = 0xff;
    hook.send("POST", "/api/asks", Some(&bytes)).expect(422);
    assert_eq!(house.seen(&browser), before);
}

#[test]
fn unknown_doubled_and_missing_members_are_400() {
    let house = House::new();
    let hook = house.hook();
    hook.post("/api/asks", &with("extra", json!(1))).expect(400);
    hook.post("/api/asks", &with("quorum", json!("1"))).expect(400);
    hook.post("/api/asks", &with("agent", json!("somebody"))).expect(400);
    hook.post("/api/asks", &json!({})).expect(400);
    let doubled = body(&ask("claude", "ls")).to_string().replacen('{', "{\"tool\":\"Bash\",", 1);
    hook.send("POST", "/api/asks", Some(doubled.as_bytes())).expect(400);
    hook.send("POST", "/api/asks", Some(b"not json")).expect(400);
    hook.header("Content-Type", "text/plain").post("/api/asks", &body(&ask("claude", "ls"))).expect(400);
}

#[test]
fn sizes_end_where_the_limits_say() {
    let house = House::new();
    let hook = house.hook();
    let input = |bytes: usize| json!(format!("\"{}\"", "x".repeat(bytes - 2)));
    hook.post("/api/asks", &with("input", input(limits::INPUT_BYTES))).expect(201);
    let over = hook.post("/api/asks", &with("input", input(limits::INPUT_BYTES + 1))).expect(413).json();
    assert_eq!(over["code"], "too_large");
    hook.post("/api/asks", &with("input", input(limits::BODY_BYTES + 1))).expect(413);
    hook.post("/api/asks", &with("why", json!("w".repeat(limits::WHY_BYTES)))).expect(201);
    hook.post("/api/asks", &with("why", json!("w".repeat(limits::WHY_BYTES + 1)))).expect(413);
    hook.post("/api/asks", &with("session", json!("s".repeat(limits::NAME_BYTES + 1)))).expect(413);
}

#[test]
fn an_asker_takes_its_ask_back_once_and_only_in_two_ways() {
    let house = House::new();
    let hook = house.hook();
    for status in ["cancelled", "superseded"] {
        let item = asked(&hook, "ls");
        let path = format!("/api/asks/{}/close", item.get("id"));
        hook.post(&path, &json!({ "status": "allowed" })).expect(400);
        hook.post(&path, &json!({ "status": status })).expect(200);
        hook.post(&path, &json!({ "status": status })).expect(200);
        assert_eq!(state(&hook, &item)["status"], status);
        let other = if status == "cancelled" { "superseded" } else { "cancelled" };
        assert_eq!(hook.post(&path, &json!({ "status": other })).expect(409).json()["code"], "closed");
    }
}

#[test]
fn caps_and_rates_answer_429_and_say_when_to_come_back() {
    let house = House::with("[limits]\npending_per_agent = 2\npending = 3\nasks_per_minute = 5\n");
    let (hook, other) = (house.hook(), house.machine("other", Role::Hook, &[HOOK]));
    let (first, _) = (asked(&hook, "1"), asked(&hook, "2"));
    let full = |client: &testkit::Http, agent: &str| {
        let answer = client.post("/api/asks", &body(&ask(agent, "x"))).expect(429);
        assert_eq!(answer.json()["code"], "too_many");
        answer.header("retry-after").unwrap().parse::<u64>().unwrap()
    };
    assert!(full(&hook, "claude") > 0);
    other.post("/api/asks", &body(&ask("other", "3"))).expect(201);
    assert!(full(&other, "other") > 0, "the inbox as a whole is full");
    hook.post(&format!("/api/asks/{}/close", first.get("id")), &json!({ "status": "cancelled" })).expect(200);
    asked(&hook, "4");
    assert!(full(&hook, "claude") > 0);
    let wait_s = full(&hook, "claude");
    assert!((50..=60).contains(&wait_s), "a sixth new ask in a minute: {wait_s}");
    // The same ask again is no new one.
    hook.post(&format!("/api/asks/{}/close", first.get("id")), &json!({ "status": "cancelled" })).expect(200);
    hook.post("/api/asks", &body(&first)).expect(200);
    house.time.advance(61_000);
    assert!(full(&hook, "claude") < 50, "the minute is over, the cap still holds");
}

#[test]
fn a_poll_waits_for_the_answer_and_no_longer_than_it_said() {
    let house = House::new();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let path = format!("/api/asks/{}", item.get("id"));
    hook.get(&format!("{path}?wait=56")).expect(400);
    hook.get(&format!("{path}?wait=x")).expect(400);
    hook.get(&format!("{path}?weight=1")).expect(400);
    assert_eq!(hook.get(&format!("{path}?wait=1")).expect(200).json()["status"], "pending");
    let waiting = std::thread::spawn({
        let (hook, path) = (hook.clone(), path.clone());
        move || hook.get(&format!("{path}?wait=55")).expect(200).json()
    });
    hook.post(&format!("{path}/close"), &json!({ "status": "cancelled" })).expect(200);
    assert_eq!(waiting.join().unwrap()["status"], "cancelled");
}

#[test]
fn a_token_holds_only_so_many_polls_and_gets_closed_ones_back() {
    let house = House::with("[limits]\npolls_per_token = 1\n");
    let hook = house.hook();
    let item = asked(&hook, "ls");
    let look = format!("/api/asks/{}", item.get("id"));
    let mut open = None;
    until("a poll is open and the next one is turned away", || {
        open = Some(hook.open("GET", &format!("{look}?wait=55"), None).unwrap());
        hook.get(&format!("{look}?wait=1")).status == 429
    });
    assert_eq!(hook.get(&look).status, 200, "a look is no poll");
    drop(open);
    until("the place is free again", || hook.get(&format!("{look}?wait=1")).status == 200);
}

#[test]
fn an_unanswered_ask_expires_by_the_timer_alone() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "ls");
    house.time.advance(3_600_001);
    until("it expired", || state(&hook, &item)["status"] == "expired");
    assert_eq!(house.row(&browser, item.get("id"))["status"], "expired");
}

#[test]
fn an_inbox_of_the_largest_inputs_comes_in_pages_and_comes_whole() {
    let house = House::new();
    let (_, browser) = house.person();
    let hook = house.hook();
    let input = format!("\"{}\"", "x".repeat(limits::INPUT_BYTES - 2));
    let mut ids: Vec<String> = Vec::new();
    for n in 0..17 {
        let item =
            ask("claude", "ls").with("tool", "Note").with("input", &input).with("session", &n.to_string());
        hook.post("/api/asks", &body(&item)).expect(201);
        ids.push(item.get("id").to_owned());
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let answer = browser.get(&format!("/api/snapshot?limit=500{after}")).expect(200);
        assert!(answer.body.len() < limits::PAGE_BYTES + 64 * 1024, "{}", answer.body.len());
        let page = answer.json();
        assert_eq!(page["total"], 17);
        seen.extend(
            page["inbox"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((seen, pages), (ids, 2));
    let small = browser.get("/api/snapshot?limit=3").expect(200).json();
    assert_eq!(small["inbox"].as_array().unwrap().len(), 3);
    browser.get("/api/snapshot?limit=501").expect(400);
    browser.get("/api/snapshot?after=x").expect(400);
}
