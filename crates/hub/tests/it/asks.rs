//! Asks: what is taken, what is refused and with which status, who may read and close one.
#![cfg(test)]

use proto::api::Role;
use serde_json::json;

use crate::house::{HOOK, House, ask, asked, body, state};

#[test]
fn an_ask_is_taken_once_and_waits() {
    let house = House::new();
    let hook = house.hook();
    let item = ask("claude", "make deploy");
    let first = hook.post("/api/asks", &body(&item)).expect(201).json();
    assert_eq!(first["status"], "pending");
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
