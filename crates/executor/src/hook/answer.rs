//! What the hook tells the agent: the answer as a value, and each agent's way of writing it.
//!
//! Invariant: an allow carries the tool's input byte for byte as it came, and no form ever holds an "always".

use super::shape::Role;

/// What the agent is told. `reason` and `notes` are for the model; they hold nothing that was not written here or
/// checked against a pinned key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Run it, do not, or no word from us.
    pub ruling: Ruling,
    /// Why, in one or two sentences.
    pub reason: String,
    /// Messages of people that ride along.
    pub notes: Vec<String>,
    /// The tool's input as it stood on the wire.
    pub input: &'a str,
}

/// The three things a hook can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The call may run, exactly as it stands.
    Allow,
    /// The call must not run.
    Block,
    /// Nothing is printed: the agent's own rules go on.
    Silent,
}

/// Claude Code's forms: <https://docs.anthropic.com/en/docs/claude-code/hooks>.
pub(super) fn claude(role: Role, answer: &Answer<'_>) -> Option<String> {
    let reason = quoted(&answer.reason);
    match (role, answer.ruling) {
        (_, Ruling::Silent) | (Role::Done, Ruling::Allow | Ruling::Block) => None,
        (Role::Gate, Ruling::Allow) => Some(format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":{reason},"updatedInput":{}{}}}}}"#,
            answer.input,
            context(&answer.notes),
        )),
        (Role::Gate, Ruling::Block) => Some(format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":{reason}{}}}}}"#,
            context(&answer.notes),
        )),
        (Role::Request, Ruling::Allow) => Some(format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{{"behavior":"allow","updatedInput":{}}}}}}}"#,
            answer.input,
        )),
        (Role::Request, Ruling::Block) => Some(format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{{"behavior":"deny","message":{reason}}}}}}}"#,
        )),
    }
}

fn context(notes: &[String]) -> String {
    if notes.is_empty() {
        String::new()
    } else {
        format!(r#","additionalContext":{}"#, quoted(&notes.join("\n")))
    }
}

/// A JSON string of this text. Line and paragraph separators are escaped too: some readers take them for line ends.
fn quoted(text: &str) -> String {
    let escaped = serde_json::Value::from(text).to_string();
    escaped.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &str = r#"{ "command": "printf '\u00e9'",  "n":1.0 }"#;

    fn answer(ruling: Ruling) -> Answer<'static> {
        Answer { ruling, reason: "because \"so\"\u{2028}".into(), notes: Vec::new(), input: INPUT }
    }

    #[test]
    fn an_allow_repeats_the_input_byte_for_byte() {
        for role in [Role::Gate, Role::Request] {
            let text = claude(role, &answer(Ruling::Allow)).unwrap();
            assert!(text.contains(&format!(r#""updatedInput":{INPUT}"#)), "{text}");
            proto::json_text::check(&text, proto::limits::HOOK_DEPTH).unwrap();
        }
    }

    #[test]
    fn each_form_is_claudes_own() {
        let block = claude(Role::Gate, &answer(Ruling::Block)).unwrap();
        assert_eq!(
            block,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"because \"so\"\u2028"}}"#
        );
        let refusal = claude(Role::Request, &answer(Ruling::Block)).unwrap();
        assert_eq!(
            refusal,
            r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"because \"so\"\u2028"}}}"#
        );
    }

    #[test]
    fn silence_is_nothing_at_all_and_a_finished_call_gets_no_decision() {
        for role in [Role::Gate, Role::Request, Role::Done] {
            assert_eq!(claude(role, &answer(Ruling::Silent)), None);
        }
        assert_eq!(claude(Role::Done, &answer(Ruling::Block)), None);
    }

    #[test]
    fn messages_ride_along_with_the_gates_answer() {
        let mut with_notes = answer(Ruling::Allow);
        with_notes.notes = vec!["one".into(), "two".into()];
        let text = claude(Role::Gate, &with_notes).unwrap();
        assert!(text.ends_with(r#","additionalContext":"one\ntwo"}}"#), "{text}");
    }
}
