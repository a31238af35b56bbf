//! Strict JSON objects: every member named once, none unknown, none missing, integers that every language can hold.
//!
//! Payloads, proofs, signatures and pin files are all read through here. `serde`'s derive is not used for them, because it
//! also takes an array where a struct is meant, and because a member that may be absent would also be taken as `null`.
//! Not here: what any member means.

use std::borrow::Cow;
use std::fmt;

use proto::limits;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What is wrong with a text that should have been a strict object. For people; the codes come from the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadJson {
    #[error("not a JSON object with each member once: {0}")]
    NotAnObject(String),
    #[error("member `{0}` is missing")]
    Missing(&'static str),
    #[error("member `{0}` is unknown")]
    Unknown(String),
    #[error("member `{0}` has the wrong type or an impossible value")]
    Value(&'static str),
}

/// The members of one object, each taken out once; [`Object::finish`] refuses what is left.
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads one object and nothing after it. `bytes` must be UTF-8.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, BadJson> {
        let text = std::str::from_utf8(bytes).map_err(|e| BadJson::NotAnObject(e.to_string()))?;
        serde_json::from_str(text).map_err(|e| BadJson::NotAnObject(e.to_string()))
    }

    /// Whether a member of that name is (still) there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(n, _)| n == name)
    }

    /// A member that may be absent, as it stood.
    pub(crate) fn take_optional(&mut self, name: &'static str) -> Option<&'a RawValue> {
        let at = self.members.iter().position(|(n, _)| n == name)?;
        Some(self.members.swap_remove(at).1)
    }

    /// A member that must be there, as it stood.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<&'a RawValue, BadJson> {
        self.take_optional(name).ok_or(BadJson::Missing(name))
    }

    /// A string member.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<String, BadJson> {
        text(self.take(name)?, name)
    }

    /// An integer member within ±(2^53 - 1), written as an integer.
    pub(crate) fn integer(&mut self, name: &'static str) -> Result<i64, BadJson> {
        integer(self.take(name)?, name)
    }

    /// A member that is an array of strings.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, BadJson> {
        array(self.take(name)?, name)?.into_iter().map(|raw| text(raw, name)).collect()
    }

    /// A member that is an object itself.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Self, BadJson> {
        Object::parse(self.take(name)?.get().as_bytes())
    }

    /// The names of the members still there, for objects used as maps.
    pub(crate) fn into_members(self) -> Vec<(Cow<'a, str>, &'a RawValue)> {
        self.members
    }

    /// Refuses what no one took.
    pub(crate) fn finish(self) -> Result<(), BadJson> {
        match self.members.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(BadJson::Unknown(name.into_owned())),
        }
    }
}

/// A string value.
pub(crate) fn text(raw: &RawValue, name: &'static str) -> Result<String, BadJson> {
    serde_json::from_str(raw.get()).map_err(|_| BadJson::Value(name))
}

/// An integer value. `1.0` and `1e3` are no integers here.
pub(crate) fn integer(raw: &RawValue, name: &'static str) -> Result<i64, BadJson> {
    let number: i64 = raw.get().parse().map_err(|_| BadJson::Value(name))?;
    if (-limits::INTEGER_MAX..=limits::INTEGER_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(BadJson::Value(name))
    }
}

/// `true` or `false`.
pub(crate) fn boolean(raw: &RawValue, name: &'static str) -> Result<bool, BadJson> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(BadJson::Value(name)),
    }
}

/// The elements of an array, as they stood.
pub(crate) fn array<'a>(raw: &'a RawValue, name: &'static str) -> Result<Vec<&'a RawValue>, BadJson> {
    serde_json::from_str(raw.get()).map_err(|_| BadJson::Value(name))
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::with_capacity(8);
        while let Some(Name(name)) = map.next_key()? {
            if members.iter().any(|(n, _)| *n == name) {
                return Err(A::Error::custom(format!("member `{name}` twice")));
            }
            members.push((name, map.next_value()?));
            if members.len() > MEMBERS_MAX {
                return Err(A::Error::custom("too many members"));
            }
        }
        Ok(Object { members })
    }
}

/// No object of ours has more than 11 members; the bound keeps the search for duplicates from growing with the square.
const MEMBERS_MAX: usize = 64;

/// A member's name, borrowed where it has no escapes (`Cow<str>` alone would always copy).
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(v.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}
