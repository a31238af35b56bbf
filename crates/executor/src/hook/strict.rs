//! Is this text one JSON value that every reader takes the same way?
//!
//! `serde_json` keeps the last of two members with one name, other readers the first: a person could be shown one
//! and the agent run the other. Such texts are refused here before anything is read from them.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Checks that `text` is one JSON value without duplicate member names at any depth.
///
/// # Errors
/// The parser's own words, with line and column.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    AnyValue.deserialize(&mut parser)?;
    parser.end()
}

#[derive(Clone, Copy)]
struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value_seed(self)?;
            if !names.insert(name) {
                return Err(A::Error::custom("two members have the same name"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str) {
        assert!(check(text).is_err(), "{text}");
    }

    #[test]
    fn one_value_with_distinct_names_passes() {
        for text in ["{}", r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#, " 1.5 ", r#""\ud83d\ude00""#, "null"] {
            assert!(check(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn two_members_of_one_name_are_refused_at_any_depth_and_in_any_spelling() {
        refused(r#"{"a":1,"a":1}"#);
        refused(r#"{"x":[{"a":1,"b":{"c":1,"c":2}}]}"#);
        refused(r#"{"command":"ls","\u0063ommand":"rm"}"#);
    }

    #[test]
    fn what_is_not_one_value_is_refused() {
        for text in ["", "{} {}", "{", r#"{"a":1,}"#, "nan", r#""\ud800""#, &"[".repeat(200)] {
            refused(text);
        }
    }
}
