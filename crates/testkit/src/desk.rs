//! A person in software: logs in to the page's routes with a software passkey and seals as the page does.
//!
//! For the scenes whose subject is not the browser. It builds payloads and hashes itself, as the page does.

use crate::{Fields, Http, Payload, SoftPasskey};
use serde_json::{Value, json};

/// A logged-in person.
#[derive(Debug)]
pub struct Desk<'k> {
    http: Http,
    key: &'k SoftPasskey,
}

impl<'k> Desk<'k> {
    /// Logs `key` in over `http`, a client that sends a browser's headers.
    #[track_caller]
    #[must_use]
    pub fn login(http: Http, key: &'k SoftPasskey) -> Self {
        let start = http.post("/api/login/start", &json!({})).expect(200).json();
        let answer = key.login(start["nonce"].as_str().expect("a nonce"));
        let finish = http.post("/api/login/finish", &answer).expect(200);
        let cookie =
            finish.header("set-cookie").expect("a cookie").split(';').next().expect("its pair").to_owned();
        let token = finish.json()["token"].as_str().expect("a token").to_owned();
        Self { http: http.header("Cookie", &cookie).header("X-Sealward", &token), key }
    }

    /// The client with its credentials.
    #[must_use]
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// The waiting rows.
    #[track_caller]
    #[must_use]
    pub fn rows(&self) -> Vec<Value> {
        let snapshot = self.http.get("/api/snapshot?limit=200").expect(200).json();
        snapshot["inbox"].as_array().expect("an inbox").clone()
    }

    /// The waiting rows' ids.
    #[track_caller]
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.rows().iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// The row of an item, waiting or not.
    #[track_caller]
    #[must_use]
    pub fn row(&self, id: &str) -> Value {
        self.http.get(&format!("/api/items/{id}")).expect(200).json()["row"].clone()
    }

    /// Signs and posts an approval of these rows, without an undo window in the payload.
    #[track_caller]
    #[must_use]
    pub fn approve(&self, rows: &[&Value]) -> crate::Answer {
        let hashes: Vec<String> = rows.iter().map(|row| hash_of(row)).collect();
        self.post(&Payload::approve(&hashes), rows)
    }

    /// Signs and posts a denial of these rows.
    #[track_caller]
    #[must_use]
    pub fn deny(&self, rows: &[&Value], channel: &str, reason: &str) -> crate::Answer {
        let hashes: Vec<String> = rows.iter().map(|row| hash_of(row)).collect();
        self.post(&Payload::deny(&hashes, channel, reason), rows)
    }

    /// Signs any payload and posts it with the entries of these rows.
    #[track_caller]
    #[must_use]
    pub fn post(&self, payload: &Payload, rows: &[&Value]) -> crate::Answer {
        self.post_proof(&self.key.proof(payload), rows)
    }

    /// Posts a ready proof with the entries of these rows.
    #[track_caller]
    #[must_use]
    pub fn post_proof(&self, proof: &Value, rows: &[&Value]) -> crate::Answer {
        let entries: Vec<Value> = rows.iter().map(|row| entry_of(row)).collect();
        self.http.post("/api/proofs", &json!({ "proof": proof, "entries": entries }))
    }
}

/// The hash of a row's item.
#[track_caller]
pub(crate) fn hash_of(row: &Value) -> String {
    Fields::of(row["kind"].as_str().expect("a kind"), &row["item"]).hash()
}

/// The entry that names a row in a batch.
#[track_caller]
pub(crate) fn entry_of(row: &Value) -> Value {
    json!({ "kind": row["kind"], "id": row["id"], "choice": "", "sha256": "" })
}
