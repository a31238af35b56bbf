//! What the hub answers is what its description says: every route that promises a shape is called once, and what comes back has
//! exactly the members of that shape, of their types.
#![cfg(test)]

use std::collections::BTreeSet;

use hub::ROUTES;
use proto::api::Role;
use serde_json::{Value, json};
use testkit::{Http, Payload, until};

use crate::house::{House, asked, sealing, state};

/// The description, and what was compared with it.
struct Described {
    document: Value,
    seen: BTreeSet<(&'static str, &'static str)>,
}

impl Described {
    /// Compares the answer of the route with this path.
    #[track_caller]
    fn check(&mut self, method: &str, path: &str, answer: &Value) {
        let route = ROUTES.iter().find(|route| route.path == path && route.method() == method).unwrap();
        let operation = &self.document["paths"][path][method.to_lowercase()];
        let responses = operation["responses"].as_object().unwrap();
        let (_, good) = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        let schema = &good["content"]["application/json"]["schema"];
        self.conforms(schema, answer, &format!("{method} {path}"));
        self.seen.insert((route.method(), route.path));
    }

    #[track_caller]
    fn conforms(&self, schema: &Value, value: &Value, at: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
            return self.conforms(target, value, at);
        }
        if let Some(either) = schema["anyOf"].as_array() {
            if !value.is_null() {
                self.conforms(&either[0], value, at);
            }
            return;
        }
        match schema["type"].as_str() {
            Some("string") => assert!(value.is_string(), "{at}: {value}"),
            Some("integer") => assert!(value.is_i64() || value.is_u64(), "{at}: {value}"),
            Some("boolean") => assert!(value.is_boolean(), "{at}: {value}"),
            Some("array") => {
                let elements = value.as_array().unwrap_or_else(|| panic!("{at}: {value}"));
                elements
                    .iter()
                    .for_each(|element| self.conforms(&schema["items"], element, &format!("{at}[]")));
            }
            Some("object") => {
                let members = value.as_object().unwrap_or_else(|| panic!("{at}: {value}"));
                for name in schema["required"].as_array().unwrap() {
                    assert!(members.contains_key(name.as_str().unwrap()), "{at} lacks {name}: {value}");
                }
                for (name, member) in members {
                    let schema = &schema["properties"][name];
                    assert!(!schema.is_null(), "{at} has an unknown member {name}: {value}");
                    self.conforms(schema, member, &format!("{at}.{name}"));
                }
            }
            _ => {}
        }
    }

    fn get(&mut self, client: &Http, route: &str, path: &str) -> Value {
        let answer = client.get(path).expect(200).json();
        self.check("GET", route, &answer);
        answer
    }

    fn post(&mut self, client: &Http, route: &str, path: &str, body: &Value) -> Value {
        let answer = client.post(path, body);
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        let answer = answer.json();
        self.check("POST", route, &answer);
        answer
    }
}

fn visit_the_door(described: &mut Described, house: &House, key: &testkit::SoftPasskey) {
    let page = house.page();
    described.get(&page, "/healthz", "/healthz");
    described.post(&page, "/api/login/start", "/api/login/start", &json!({}));
    described.post(&page, "/api/login/finish", "/api/login/finish", &house.login_answer(key));
    crate::login::open_enrolment(house, "code", 60_000);
    let body = json!({ "code": "code", "key": house.key("new").pin_entry() });
    described.post(&page, "/api/enrol", "/api/enrol", &body);
}

fn ask_and_seal(described: &mut Described, house: &House, key: &testkit::SoftPasskey, hook: &Http) {
    let browser = house.login(key);
    let item = crate::house::ask("claude", "make deploy");
    described.post(hook, "/api/asks", "/api/asks", &crate::house::body(&item));
    let prepare = json!({ "verb": "approve", "entries": [crate::house::entry(&item)] });
    described.post(&browser, "/api/prepare", "/api/prepare", &prepare);
    let sealing = sealing(&key.proof(&house.approval(&[&item])), &[&item]);
    let batch = described.post(&browser, "/api/proofs", "/api/proofs", &sealing)["batch"].clone();
    let batch = batch.as_str().unwrap();
    described.get(&browser, "/api/batches/{id}", &format!("/api/batches/{batch}"));
    described.get(&browser, "/api/snapshot", "/api/snapshot");
    let undo = format!("/api/batches/{batch}/undo");
    described.post(&browser, "/api/batches/{id}/undo", &undo, &json!({}));
    let close = format!("/api/asks/{}/close", item.get("id"));
    described.post(hook, "/api/asks/{id}/close", &close, &json!({ "status": "cancelled" }));
    described.get(hook, "/api/asks/{id}", &format!("/api/asks/{}", item.get("id")));
}

fn deny_and_trust(described: &mut Described, house: &House, key: &testkit::SoftPasskey, hook: &Http) {
    let browser = house.login(key);
    let item = asked(hook, "ls");
    let deny = key.proof(&house.dated(Payload::deny(&[item.hash()], "security", "no")));
    described.post(&browser, "/api/proofs", "/api/proofs", &sealing(&deny, &[&item]));
    described.get(hook, "/api/asks/{id}", &format!("/api/asks/{}", item.get("id")));
    described.get(hook, "/api/messages", "/api/messages");
    let revoke = key.proof(&house.dated(Payload::revoke("rule", "rule-1")));
    browser.post("/api/proofs", &json!({ "proof": revoke })).expect(201);
    described.get(hook, "/api/trust", "/api/trust");
    described.get(&browser, "/api/history", "/api/history");
    described.get(&browser, "/api/items/{id}", &format!("/api/items/{}", item.get("id")));
    described.get(&browser, "/api/snapshot", "/api/snapshot");
}

fn collect(described: &mut Described, house: &House, hook: &Http) {
    let (ada, bob) = (house.key("ada"), house.key("bob"));
    house.pin_with(&[&ada, &bob], |file| file["quorum"] = json!({ "ask": 2 }));
    let browser = house.login(&ada);
    let item = asked(hook, "two of us");
    let payload = house.approval(&[&item]);
    let sealed = browser.post("/api/proofs", &sealing(&ada.proof(&payload), &[&item])).expect(202).json();
    let path = format!("/api/batches/{}/signatures", sealed["batch"].as_str().unwrap());
    let body = json!({ "signatures": [bob.sign(&payload)] });
    described.post(&browser, "/api/batches/{id}/signatures", &path, &body);
    house.time.advance(5_100);
    until("it settled", || state(hook, &item)["status"] == "allowed");
    described.get(hook, "/api/asks/{id}", &format!("/api/asks/{}", item.get("id")));
    described.post(hook, "/api/pause", "/api/pause", &json!({}));
    described.post(&browser, "/api/resume", "/api/resume", &house.login_answer(&ada));
}

#[test]
fn every_answer_has_the_shape_that_is_promised() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let document = house.page().get("/api/openapi.json").expect(200).json();
    let mut described = Described { document, seen: BTreeSet::new() };
    visit_the_door(&mut described, &house, &key);
    ask_and_seal(&mut described, &house, &key, &hook);
    deny_and_trust(&mut described, &house, &key, &hook);
    for client in [&browser, &house.machine("terminal", Role::Approver, &[])] {
        described.get(client, "/api/me", "/api/me");
        described.get(client, "/api/events", "/api/events");
    }
    described.get(&browser, "/api/sessions", "/api/sessions");
    collect(&mut described, &house, &hook);
    let promised: BTreeSet<_> = ROUTES
        .iter()
        .filter(|route| {
            let operation = &described.document["paths"][route.path][route.method().to_lowercase()];
            operation["responses"].to_string().contains("application/json")
        })
        .map(|route| (route.method(), route.path))
        .collect();
    assert_eq!(described.seen, promised);
}
