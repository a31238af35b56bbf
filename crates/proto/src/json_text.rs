//! Whether a text is exactly one JSON value that every reader understands alike: no member twice at any depth, and no deeper
//! than its reader allows. Values are not read: the text is what is signed. Hook and hub share this look, so that what one
//! asks the other takes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// Not JSON, or more than one value; the parser's words.
    #[error("is not one JSON value ({0})")]
    NotJson(String),
    /// A member stands twice in one object.
    #[error("has the member `{0}` twice in one object, and readers would disagree which one counts")]
    Twice(String),
    /// More levels than allowed.
    #[error("is nested deeper than {0}")]
    Deep(usize),
}

/// Checks that `text` is one JSON value without doubled member names, at most `depth_max` levels deep.
///
/// # Errors
/// [`BadText`], a clause whose subject is the text.
pub fn check(text: &str, depth_max: usize) -> Result<(), BadText> {
    // The first read judges the grammar as a whole; what follows only takes apart what is known to be JSON.
    let whole: &RawValue = parse(text)?;
    if depth(text) > depth_max {
        return Err(BadText::Deep(depth_max));
    }
    value(whole)
}

/// How deep a text that is JSON is nested. Looked at first and in one pass: what follows takes time for every level.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn value(raw: &RawValue) -> Result<(), BadText> {
    match raw.get().as_bytes().first() {
        Some(b'{') => {
            let Members(members) = parse(raw.get())?;
            let mut names = HashSet::with_capacity(members.len());
            for (name, member) in members {
                value(member)?;
                if let Some(twice) = names.replace(name) {
                    return Err(BadText::Twice(twice.into_owned()));
                }
            }
            Ok(())
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = parse(raw.get())?;
            elements.into_iter().try_for_each(value)
        }
        _ => Ok(()),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadText> {
    serde_json::from_str(text).map_err(|error| BadText::NotJson(error.to_string()))
}

/// The members of one object in their order, twins included.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::INPUT_DEPTH;

    fn check(text: &str) -> Result<(), BadText> {
        super::check(text, INPUT_DEPTH)
    }

    #[test]
    fn one_value_of_any_kind_is_taken_as_it_stands() {
        for good in [
            "{}",
            " [1, 2.5e400, null, \"\\ud800\", true] ",
            "\"text\"",
            "12345678901234567890123456789",
            r#"{"a":{"a":[{"a":1},{"a":2}]}}"#,
            "{\"\u{202e}\":\"\u{200b}\\u0000\"}",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_readers_could_take_differently_is_refused() {
        for bad in
            ["", " ", "{} {}", "{}x", "{'a':1}", "[1,]", "NaN", "{\"a\":1", "\u{feff}{}", "\"\n\"", "01"]
        {
            assert!(matches!(check(bad), Err(BadText::NotJson(_))), "{bad}: {:?}", check(bad));
        }
        for (bad, twice) in [
            (r#"{"a":1,"a":1}"#, "a"),
            (r#"{"a":1,"\u0061":2}"#, "a"),
            (r#"[[{"x":{"b":1,"c":2,"b":3}}]]"#, "b"),
            (r#"{"":1,"":2}"#, ""),
        ] {
            assert_eq!(check(bad), Err(BadText::Twice(twice.to_owned())), "{bad}");
        }
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(INPUT_DEPTH)), Ok(()));
        assert_eq!(
            check(&format!("\"{}\\\"[\"", "[".repeat(200))),
            Ok(()),
            "brackets in a string nest nothing"
        );
        assert_eq!(check(&nested(INPUT_DEPTH + 1)), Err(BadText::Deep(INPUT_DEPTH)));
        assert!(check(&nested(200_000)).is_err(), "and no stack runs out far beyond it");
    }
}
