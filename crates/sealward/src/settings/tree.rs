//! JSON that comes out as it went in: members keep their order, numbers and strings their spelling.
//!
//! `serde_json::Value` sorts members, and its `preserve_order` switch would change every other user of it in this
//! program. So a settings file is read into this tree, which knows nothing of what it means. It is opened level by
//! level, and what is not opened comes out byte for byte; around the rest white space is made anew, with the file's
//! own indentation.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// Members in their order; names as they mean, not as they were spelt.
    Object(Vec<(String, Self)>),
    /// Elements.
    Array(Vec<Self>),
    /// Any value that was not opened, as it was spelt.
    Leaf(String),
}

impl Tree {
    /// Reads one value and nothing after it, closed but checked to its depth.
    ///
    /// # Errors
    /// The parser's words with line and column; also for two members of one name at any depth.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        let closed = Self::Leaf(raw.get().to_owned());
        closed.deep()?;
        Ok(closed)
    }

    /// The same value with its outermost level opened.
    ///
    /// # Errors
    /// The parser's words.
    pub(crate) fn opened(&self) -> Result<Self, serde_json::Error> {
        let Self::Leaf(raw) = self else { return Ok(self.clone()) };
        let leaf = |value: &RawValue| Self::Leaf(value.get().to_owned());
        match raw.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(raw)?;
                Ok(Self::Object(members.into_iter().map(|(name, value)| (name, leaf(&value))).collect()))
            }
            Some(b'[') => {
                let elements: Vec<Box<RawValue>> = serde_json::from_str(raw)?;
                Ok(Self::Array(elements.iter().map(|value| leaf(value)).collect()))
            }
            Some(_) | None => Ok(self.clone()),
        }
    }

    /// The same value with every level opened: what it means, without its white space.
    ///
    /// # Errors
    /// The parser's words.
    pub(crate) fn deep(&self) -> Result<Self, serde_json::Error> {
        Ok(match self.opened()? {
            Self::Object(members) => Self::Object(
                members
                    .into_iter()
                    .map(|(name, value)| Ok((name, value.deep()?)))
                    .collect::<Result<_, serde_json::Error>>()?,
            ),
            Self::Array(elements) => Self::Array(elements.iter().map(Self::deep).collect::<Result<_, _>>()?),
            leaf @ Self::Leaf(_) => leaf,
        })
    }

    /// A string.
    pub(crate) fn text(text: &str) -> Self {
        Self::Leaf(serde_json::Value::from(text).to_string())
    }

    /// An object of these members.
    pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A member.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            Self::Array(_) | Self::Leaf(_) => None,
        }
    }

    /// The elements of an array; none for anything else.
    pub(crate) fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            Self::Object(_) | Self::Leaf(_) => &[],
        }
    }

    /// What a string says.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Leaf(raw) => serde_json::from_str(raw).ok(),
            Self::Object(_) | Self::Array(_) => None,
        }
    }

    /// What a whole number says.
    pub(crate) fn as_number(&self) -> Option<u64> {
        match self {
            Self::Leaf(raw) => raw.parse().ok(),
            Self::Object(_) | Self::Array(_) => None,
        }
    }

    /// The text, in the manner of `JSON.stringify(value, null, indent)` with a line end.
    pub(crate) fn written(&self, indent: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, indent, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, indent: &str, depth: usize) {
        let (open, close, parts) = match self {
            Self::Leaf(raw) => return out.push_str(raw),
            Self::Array(elements) => ('[', ']', elements.iter().map(|element| (None, element)).collect()),
            Self::Object(members) => {
                ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect::<Vec<_>>())
            }
        };
        out.push(open);
        let any = !parts.is_empty();
        for (at, (name, value)) in parts.into_iter().enumerate() {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            out.push_str(&indent.repeat(depth + 1));
            if let Some(name) = name {
                out.push_str(&serde_json::Value::from(name.as_str()).to_string());
                out.push_str(": ");
            }
            value.write(out, indent, depth + 1);
        }
        if any {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
        out.push(close);
    }
}

/// The indentation of a text: that of its first indented line, else two spaces.
pub(crate) fn indentation(text: &str) -> String {
    let indent = text.lines().find_map(|line| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..blank).filter(|blank| !blank.is_empty())
    });
    indent.unwrap_or("  ").to_owned()
}

struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        while let Some((name, value)) = map.next_entry()? {
            if members.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format!("`{name}` stands there twice")));
            }
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_comes_out_byte_for_byte() {
        let text = "{\n  \"z\": 1.50,\n  \"a\": [\n    \"\\u00e9\",\n    {},\n    []\n  ],\n  \"b\": {\n    \"n\": 12345678901234567890123,\n    \"t\": true\n  }\n}\n";
        assert_eq!(Tree::parse(text).unwrap().deep().unwrap().written(&indentation(text)), text);
        let tabs = text.replace("  ", "\t");
        assert_eq!(Tree::parse(&tabs).unwrap().deep().unwrap().written(&indentation(&tabs)), tabs);
    }

    #[test]
    fn what_is_not_opened_keeps_its_white_space() {
        let text = "{\n  \"a\": [1,2,  3],\n  \"b\": {\"c\":\n1}\n}\n";
        assert_eq!(Tree::parse(text).unwrap().opened().unwrap().written("  "), text);
    }

    #[test]
    fn what_is_not_one_value_is_no_tree() {
        for text in ["", "{", "{}{}", "{\"a\":1,\"a\":2}", "{\"b\":[{\"a\":1,\"a\":2}]}", "// comment\n{}"] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
    }
}
