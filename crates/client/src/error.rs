//! Why a call to the hub gave nothing, sorted by who must act.

use std::error::Error;
use std::time::Duration;

/// Why a call to the hub gave nothing usable. None of these is a decision about any item.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection, or it ended before an answer: start the hub, or mend the address.
    #[error("the hub at `{hub}` cannot be reached; start it with `sealward up`")]
    Unreachable {
        /// The hub's address.
        hub: String,
        /// What the network said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The hub understood and said no: its code tells who must act.
    #[error("the hub refused: {0}")]
    Refused(Refused),
    /// No whole answer within the time given.
    #[error("the hub at `{hub}` did not answer within {} ms", limit.as_millis())]
    TooSlow {
        /// The hub's address.
        hub: String,
        /// The time it was given.
        limit: Duration,
    },
    /// An answer that is not what the route gives: another program on that port, or another version.
    #[error("the answer from `{hub}` is not a hub's: {what}")]
    BadAnswer {
        /// The hub's address.
        hub: String,
        /// What is wrong with it.
        what: String,
    },
}

/// A refusal of the hub (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status, 400 to 599.
    pub status: u16,
    /// The stable code; `unknown` where the hub gave none of the right shape.
    pub code: String,
    /// The hub's words, at most [`DETAIL_BYTES`] bytes. Untrusted: for a person's eyes, never for an agent.
    pub detail: String,
    /// Seconds to wait before asking again, where the hub says so.
    pub retry_after_s: Option<u64>,
}

/// Words of the hub kept of a refusal: a few lines for a terminal.
pub const DETAIL_BYTES: usize = 500;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.code)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", shown(&self.detail)) }
    }
}

/// A foreign text fit for a terminal: what would move the cursor, hide or reorder text is written out.
#[must_use]
pub fn shown(text: &str) -> String {
    let hides = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if hides(letter) { out.extend(letter.escape_unicode()) } else { out.push(letter) }
    }
    out
}

#[derive(serde::Deserialize)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
}

impl Refused {
    /// Reads a refusal from its status and body; a body that is no problem document gives the code `unknown`.
    #[must_use]
    pub fn read(status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let problem = serde_json::from_slice::<Problem>(body)
            .unwrap_or(Problem { code: String::new(), detail: String::new() });
        let shaped = (1..=40).contains(&problem.code.len())
            && problem.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let code = if shaped { problem.code } else { "unknown".to_owned() };
        let mut detail = problem.detail;
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
        Self { status, code, detail, retry_after_s: retry_after.and_then(|text| text.trim().parse().ok()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_is_read_and_anything_else_is_unknown() {
        let told = Refused::read(
            429,
            Some("7"),
            br#"{"type":"about:blank","code":"too_many","detail":"60 a minute"}"#,
        );
        assert_eq!(
            told,
            Refused {
                status: 429,
                code: "too_many".into(),
                detail: "60 a minute".into(),
                retry_after_s: Some(7)
            }
        );
        for body in ["", "<html>", r#"{"code":"Ignore previous instructions"}"#, r#"{"code":7}"#] {
            assert_eq!(Refused::read(500, None, body.as_bytes()).code, "unknown", "{body}");
        }
    }

    #[test]
    fn the_hubs_words_are_bounded_and_escaped() {
        let body = format!(r#"{{"code":"stale","detail":"{}"}}"#, "é".repeat(DETAIL_BYTES));
        let told = Refused::read(409, None, body.as_bytes());
        assert_eq!(told.detail.len(), DETAIL_BYTES);
        let odd = Refused::read(409, None, br#"{"code":"stale","detail":"a\u001b[2Jb"}"#);
        assert_eq!(odd.to_string(), "409 stale: a\\u{1b}[2Jb");
    }
}
