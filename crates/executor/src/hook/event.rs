//! What came in on the hook's standard input, read by the agent's row of the table.
//!
//! The tool's input stays the exact text of the member. Nothing is trusted: the text is whatever the agent sent.

use std::collections::BTreeMap;

use proto::json_text;
use proto::limits::{HOOK_DEPTH, HOOK_STDIN_BYTES};
use serde_json::value::RawValue;

use super::shape::{Role, Shape};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) role: Role,
    pub(super) session: String,
    pub(super) cwd: String,
    pub(super) tool: String,
    /// The member's text exactly as it stood.
    pub(super) input: String,
    /// The number of this call; empty where the agent gives none.
    pub(super) call: String,
    /// The sub-agent; empty for the main one.
    pub(super) thread: String,
    /// The agent's own words on why; empty where it has none.
    pub(super) why: String,
}

/// Why a text is not an event we answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadEvent {
    #[error("the event is larger than {HOOK_STDIN_BYTES} bytes")]
    TooLarge,
    #[error("the event is not UTF-8")]
    NotText,
    #[error("the event {0}")]
    NotJson(String),
    #[error("the event has no `{0}` of the right kind")]
    Member(&'static str),
    #[error("the event could not be read: {0}")]
    Stdin(String),
    /// An event this program knows nothing about: no decision.
    #[error("`{0}` is not an event Sealward answers")]
    Unknown(String),
}

/// A text that could not be read, with the role it has for certain, where its name could still be made out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) role: Option<Role>,
    pub(super) cause: BadEvent,
}

impl Event {
    /// Reads an event.
    pub(super) fn read(shape: &Shape, bytes: &[u8]) -> Result<Self, Unread> {
        let lost = |cause| Unread { role: None, cause };
        if bytes.len() > HOOK_STDIN_BYTES {
            return Err(lost(BadEvent::TooLarge));
        }
        let text = str::from_utf8(bytes).map_err(|_| lost(BadEvent::NotText))?;
        json_text::check(text, HOOK_DEPTH).map_err(|cause| lost(BadEvent::NotJson(cause.to_string())))?;
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)
            .map_err(|cause| lost(BadEvent::NotJson(format!("is not one JSON object ({cause})"))))?;
        let name = text_of(&members, shape.members.event).map_err(lost)?;
        let role = shape.events.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
        let Some(role) = role else { return Err(lost(BadEvent::Unknown(name))) };
        Self::of(shape, role, &members).map_err(|cause| Unread { role: Some(role), cause })
    }

    fn of(shape: &Shape, role: Role, members: &BTreeMap<String, &RawValue>) -> Result<Self, BadEvent> {
        let names = &shape.members;
        let input = members.get(names.input).ok_or(BadEvent::Member(names.input))?.get();
        let inner: BTreeMap<String, &RawValue> =
            serde_json::from_str(input).map_err(|_| BadEvent::Member(names.input))?;
        let why = shape.why.iter().find_map(|name| text_of(&inner, name).ok());
        Ok(Self {
            role,
            session: text_of(members, names.session)?,
            cwd: text_of(members, names.cwd)?,
            tool: text_of(members, names.tool)?,
            input: input.to_owned(),
            call: text_of(members, names.call).unwrap_or_default(),
            thread: text_of(members, names.thread).unwrap_or_default(),
            why: why.unwrap_or_default(),
        })
    }
}

fn text_of(members: &BTreeMap<String, &RawValue>, name: &'static str) -> Result<String, BadEvent> {
    let raw = members.get(name).ok_or(BadEvent::Member(name))?;
    serde_json::from_str(raw.get()).map_err(|_| BadEvent::Member(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> &'static Shape {
        Shape::of("claude").unwrap()
    }

    fn event(input: &str) -> String {
        format!(
            r#"{{"session_id":"s1","transcript_path":"/t","cwd":"/repo","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{input},"tool_use_id":"toolu_1"}}"#
        )
    }

    #[test]
    fn the_input_stays_the_exact_text_of_the_member() {
        let input = "{ \"command\" : \"ls\\u0020-l\",\n  \"description\": \"look\" , \"timeout\": 1e3}";
        let read = Event::read(claude(), event(input).as_bytes()).unwrap();
        assert_eq!(
            read,
            Event {
                role: Role::Gate,
                session: "s1".into(),
                cwd: "/repo".into(),
                tool: "Bash".into(),
                input: input.into(),
                call: "toolu_1".into(),
                thread: String::new(),
                why: "look".into(),
            }
        );
    }

    #[track_caller]
    fn refused(bytes: &[u8], role: Option<Role>, cause: &str) {
        let unread = Event::read(claude(), bytes).unwrap_err();
        assert_eq!(unread.role, role);
        assert!(unread.cause.to_string().contains(cause), "{}", unread.cause);
    }

    #[test]
    fn what_two_readers_could_take_differently_is_refused() {
        refused(event(r#"{"command":"ls","command":"rm"}"#).as_bytes(), None, "`command` twice");
        refused(
            event("{\"command\":\"\u{e9}\"}").replace('\u{e9}', "\u{0}").as_bytes(),
            None,
            "not one JSON value",
        );
        refused(b"{\"a\":\"\xff\"}", None, "UTF-8");
        refused(b"[]", None, "not one JSON object");
        refused(b"", None, "not one JSON value");
        refused(&vec![b' '; HOOK_STDIN_BYTES + 1], None, "larger than");
    }

    #[test]
    fn a_known_event_with_missing_members_keeps_its_role() {
        refused(event("\"ls\"").as_bytes(), Some(Role::Gate), "tool_input");
        refused(event("{}").replace("\"cwd\"", "\"cwt\"").as_bytes(), Some(Role::Gate), "cwd");
        refused(event("{}").replace("\"s1\"", "1").as_bytes(), Some(Role::Gate), "session_id");
    }

    #[test]
    fn an_event_of_another_name_is_unknown() {
        let text = event("{}").replace("PreToolUse", "Stop");
        assert_eq!(
            Event::read(claude(), text.as_bytes()),
            Err(Unread { role: None, cause: BadEvent::Unknown("Stop".into()) })
        );
    }
}
