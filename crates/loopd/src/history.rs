//! What was said, as items of a rollout and as messages of a request. Where it is kept is `session`'s.
//!
//! Items have Codex' shapes, so that its rollouts open here and ours there; what we do not know is kept and passed over.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// Words of the user.
    User(String),
    /// Words of the model.
    Assistant(String),
    /// A note of the loop itself, read by the model as the system's.
    Note(String),
    /// The model wants a tool called.
    Call { call: String, name: String, arguments: String },
    /// What came of it.
    Output { call: String, text: String },
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ItemLine {
    Message { role: String, content: Vec<Content> },
    FunctionCall { name: String, arguments: String, call_id: String },
    FunctionCallOutput { call_id: String, output: Value },
}

#[derive(Deserialize, Serialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

impl Entry {
    /// The payload of a `response_item` line.
    pub(crate) fn to_payload(&self) -> Value {
        let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
        match self {
            Self::User(text) => message("user", "input_text", text),
            Self::Assistant(text) => message("assistant", "output_text", text),
            Self::Note(text) => message("developer", "input_text", text),
            Self::Call { call, name, arguments } => {
                json!({ "type": "function_call", "name": name, "arguments": arguments, "call_id": call })
            }
            Self::Output { call, text } => {
                json!({ "type": "function_call_output", "call_id": call, "output": text })
            }
        }
    }

    /// Reads the payload of a `response_item` line; `None` for one that means nothing to us.
    pub(crate) fn from_payload(payload: &Value) -> Option<Self> {
        Some(match ItemLine::deserialize(payload).ok()? {
            ItemLine::Message { role, content } => {
                let text: String = content.into_iter().map(|part| part.text).collect();
                match role.as_str() {
                    "user" => Self::User(text),
                    "assistant" => Self::Assistant(text),
                    "developer" | "system" => Self::Note(text),
                    _ => return None,
                }
            }
            ItemLine::FunctionCall { name, arguments, call_id } => {
                Self::Call { call: call_id, name, arguments: replayable(&arguments) }
            }
            ItemLine::FunctionCallOutput { call_id, output } => {
                let inner = output.as_str().or_else(|| output.get("content").and_then(Value::as_str));
                let text = inner.map_or_else(|| output.to_string(), str::to_owned);
                Self::Output { call: call_id, text }
            }
        })
    }
}

/// Arguments that a server will take back. One that does not parse would poison every later request of the session.
pub(crate) fn replayable(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        Ok(_) | Err(_) => "{}".to_owned(),
    }
}

/// Calls without an output, and outputs without a call, in a list of entries.
pub(crate) fn dangling(entries: &[Entry]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Call { call, .. } => open.push(call.clone()),
            Entry::Output { call, .. } => {
                if let Some(at) = open.iter().position(|id| id == call) {
                    open.remove(at);
                }
            }
            Entry::User(_) | Entry::Assistant(_) | Entry::Note(_) => {}
        }
    }
    open
}

/// The messages of a request: system, then what was said. Words and calls of one answer are one message; an output whose call is
/// not there is left out, because servers refuse it.
pub(crate) fn messages(system: &str, entries: &[Entry]) -> Vec<Value> {
    let mut messages = vec![json!({ "role": "system", "content": system })];
    let mut open: Vec<&str> = Vec::new();
    for entry in entries {
        match entry {
            Entry::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Entry::Note(text) => {
                messages.push(json!({ "role": "user", "content": format!("[note] {text}") }))
            }
            Entry::Assistant(text) => messages.push(json!({ "role": "assistant", "content": text })),
            Entry::Call { call, name, arguments } => {
                open.push(call);
                let tool = json!({
                    "id": call, "type": "function",
                    "function": { "name": name, "arguments": replayable(arguments) },
                });
                let last = messages.last_mut().filter(|last| last.get("role") == Some(&json!("assistant")));
                match last.and_then(Value::as_object_mut) {
                    Some(last) => {
                        let calls = last.entry("tool_calls").or_insert_with(|| json!([]));
                        if let Some(calls) = calls.as_array_mut() {
                            calls.push(tool);
                        }
                    }
                    None => {
                        messages.push(json!({ "role": "assistant", "content": "", "tool_calls": [tool] }))
                    }
                }
            }
            Entry::Output { call, text } => {
                if let Some(at) = open.iter().position(|id| id == call) {
                    open.remove(at);
                    messages.push(json!({ "role": "tool", "tool_call_id": call, "content": text }));
                }
            }
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Entry {
        Entry::Call {
            call: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: "{\"path\":\"/x\"}".to_owned(),
        }
    }

    fn output(id: &str) -> Entry {
        Entry::Output { call: id.to_owned(), text: "out".to_owned() }
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let entries = [
            Entry::User("u".to_owned()),
            Entry::Assistant("a".to_owned()),
            Entry::Note("n".to_owned()),
            call("c"),
            output("c"),
        ];
        for entry in entries {
            assert_eq!(Entry::from_payload(&entry.to_payload()), Some(entry));
        }
        assert_eq!(Entry::from_payload(&json!({ "type": "reasoning", "summary": [] })), None);
    }

    #[test]
    fn a_denial_is_the_fourth_message() {
        let entries = [Entry::User("u".to_owned()), call("c"), output("c")];
        let messages = messages("s", &entries);
        let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(messages[3]["content"], "out");
    }

    #[test]
    fn words_and_parallel_calls_of_one_answer_are_one_message_and_strangers_are_left_out() {
        let entries =
            [Entry::Assistant("w".to_owned()), call("a"), call("b"), output("a"), output("b"), output("x")];
        let messages = messages("s", &entries);
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[1]["tool_calls"].as_array().unwrap().len(), 2);
        assert_eq!(dangling(&[call("a"), call("b"), output("a")]), ["b"]);
    }

    #[test]
    fn arguments_that_do_not_parse_are_never_replayed() {
        for bad in ["", "{", "[]", "1", "{\"a\":1}}"] {
            assert_eq!(replayable(bad), "{}", "{bad}");
        }
        assert_eq!(replayable("{ \"a\": 1 }"), "{ \"a\": 1 }");
    }
}
