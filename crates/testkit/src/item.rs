//! Items as the design page hashes them, a second time and from the page alone.

use crate::{hex, sha256};

/// The fields of an item in their hashed order, with the kind's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    kind: &'static str,
    fields: Vec<(&'static str, String)>,
}

/// kind and field names in order, from the table of the page on proofs
const KINDS: &[(&str, &[&str])] = &[
    ("ask", &["id", "executor", "agent", "session", "tool", "input", "cwd"]),
    ("call", &["id", "executor", "session", "tool", "arguments"]),
    ("review", &["id", "executor", "repository", "worktree", "branch", "tree", "base", "diff", "gate"]),
    ("decision", &["id", "executor", "question", "choice"]),
    ("command", &["id", "executor", "task", "command", "directory"]),
];

impl Fields {
    /// An item of `kind` from a JSON object of its fields (the `item` member of a row). Panics on a missing field.
    #[track_caller]
    #[must_use]
    pub fn of(kind: &str, item: &serde_json::Value) -> Self {
        let (kind, names) = KINDS.iter().find(|(known, _)| *known == kind).expect("a known kind");
        let read = |name: &&'static str| {
            let text = item[*name].as_str().unwrap_or_else(|| panic!("no text field {name} in {item}"));
            (*name, text.to_owned())
        };
        Self { kind, fields: names.iter().map(read).collect() }
    }

    /// The same item with one field changed.
    #[track_caller]
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        let field = self.fields.iter_mut().find(|(known, _)| *known == name).expect("a field of this kind");
        value.clone_into(&mut field.1);
        self
    }

    /// One field's text.
    #[track_caller]
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        &self.fields.iter().find(|(known, _)| *known == name).expect("a field of this kind").1
    }

    /// The item as a JSON object.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        self.fields
            .iter()
            .map(|(name, text)| ((*name).to_owned(), serde_json::Value::from(text.as_str())))
            .collect()
    }

    /// `item_hash`, lower-case hex.
    #[must_use]
    pub fn hash(&self) -> String {
        let texts: Vec<&str> = self.fields.iter().map(|(_, text)| text.as_str()).collect();
        hash_item(self.kind, &texts)
    }
}

/// `SHA-256("sealward/item/" kind "/v1" 0x00 · u64 big-endian length · bytes …)` over the fields in order, lower-case hex.
#[must_use]
pub fn hash_item(kind: &str, fields: &[&str]) -> String {
    let mut bytes = format!("sealward/item/{kind}/v1\0").into_bytes();
    for field in fields {
        bytes.extend_from_slice(&u64::try_from(field.len()).expect("a length").to_be_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    hex(&sha256(&bytes))
}

/// A fresh id: `prefix` (`ask`, `call`, …), a dash and 32 random hex digits.
#[must_use]
pub fn new_id(prefix: &str) -> String {
    format!("{prefix}-{}", random_hex(16))
}

/// `count` random bytes as hex.
#[must_use]
pub fn random_hex(count: usize) -> String {
    let mut bytes = vec![0; count];
    aws_lc_rs::rand::fill(&mut bytes).expect("system randomness");
    hex(&bytes)
}
