//! `sealward agents`, beside a running hub.

use serde_json::Value;

use crate::world;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON value on stdout")
}

#[test]
fn a_token_is_shown_once_works_at_once_and_ends_at_once_while_the_hub_runs() {
    let world = world();
    let added =
        world.sealward(["agents", "add", "builder", "--role", "runner", "--executor", "runner@b1", "--json"]);
    let added = json(&added.run().expect(0).out());
    assert_eq!(added["name"], "builder");
    assert_eq!(added["role"], "runner");
    assert_eq!(added["executors"], serde_json::json!(["runner@b1"]));
    let token = added["token"].as_str().unwrap();
    assert!(token.len() == 46 && token.starts_with("sw_"), "{token}");

    let me = world.http().bearer(token).get("/api/me").expect(200).json();
    assert_eq!(me["name"], "builder");

    let listed = world.sealward(["agents", "list", "--json"]).run().expect(0).out();
    assert!(!listed.contains(token), "the list shows no token");
    let rows = json(&listed)["agents"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["name"] == "builder").unwrap();
    assert_eq!(row["revoked"], Value::Null);

    let _done = world.sealward(["agents", "revoke", "builder"]).run().expect(0);
    let _refused = world.http().bearer(token).get("/api/me").expect(401);
    let listed = json(&world.sealward(["agents", "list", "--json"]).run().expect(0).out());
    let rows = listed["agents"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["name"] == "builder" && row["revoked"].is_i64()), "{listed}");
}

#[test]
fn a_name_is_taken_only_once_and_an_unknown_one_cannot_be_revoked() {
    let world = world();
    let _token = world.token("twin", "agent", &[]);
    let again = world.sealward(["agents", "add", "twin"]).run().expect(1);
    assert_eq!(again.out(), "");
    assert!(again.err().contains("agents revoke twin"), "{}", again.err());
    let unknown = world.sealward(["agents", "revoke", "nobody"]).run().expect(1);
    assert!(unknown.err().contains("nobody"), "{}", unknown.err());
}

#[test]
fn the_database_keeps_no_token_in_clear() {
    let world = world();
    let token = world.token("quiet", "agent", &[]);
    let secret = token.strip_prefix("sw_").unwrap().as_bytes();
    for file in std::fs::read_dir(world.home().join("hub")).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{path:?}");
        }
    }
}
