//! Identifiers with the alphabet that makes them safe as file names and header values. Making random ones is not here.

use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

use crate::{Kind, limits};

/// An item's id: its kind's prefix and 32 lower-case hex digits of system randomness, `ask-0123…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ItemId(String);

/// A session's id: 1 to 64 bytes of `[A-Za-z0-9_-]`. It names files, so the alphabet is the security property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

/// Why a text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// A letter outside the alphabet.
    #[error("an id may not hold byte {byte:#04x} at {at}")]
    Byte {
        /// Offset in bytes.
        at: usize,
        /// The byte that stood there.
        byte: u8,
    },
    /// Too short or too long.
    #[error("an id of {0} bytes: that length is not allowed")]
    Length(usize),
    /// No kind's prefix.
    #[error("an id begins with `ask-`, `call-`, `rev-`, `dec-` or `cmd-`")]
    Prefix,
}

impl ItemId {
    /// Reads an id of any kind.
    ///
    /// # Errors
    /// [`BadId`] with the first reason.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let digits =
            Kind::ALL.into_iter().find_map(|kind| text.strip_prefix(kind.prefix())).ok_or(BadId::Prefix)?;
        if digits.len() != 32 {
            return Err(BadId::Length(text.len()));
        }
        let prefix = text.len() - digits.len();
        for (at, byte) in digits.bytes().enumerate() {
            if !matches!(byte, b'0'..=b'9' | b'a'..=b'f') {
                return Err(BadId::Byte { at: prefix + at, byte });
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The id of a `kind` made from 16 random bytes.
    #[must_use]
    pub fn from_random(kind: Kind, random: [u8; 16]) -> Self {
        let mut text = String::from(kind.prefix());
        for byte in random {
            text.push_str(&format!("{byte:02x}"));
        }
        Self(text)
    }

    /// The kind its prefix names.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| self.0.starts_with(kind.prefix()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SessionId {
    /// Reads a session id.
    ///
    /// # Errors
    /// [`BadId`] with the first reason.
    pub fn new(text: &str) -> Result<Self, BadId> {
        if text.is_empty() || text.len() > limits::SESSION_ID_BYTES {
            return Err(BadId::Length(text.len()));
        }
        for (at, byte) in text.bytes().enumerate() {
            if !(byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
                return Err(BadId::Byte { at, byte });
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_prefix_and_32_hex_digits() {
        let id = ItemId::from_random(Kind::Ask, [0xab; 16]);
        assert_eq!(ItemId::parse(id.as_str()), Ok(id.clone()));
        assert_eq!(id.kind(), Some(Kind::Ask));
        assert_eq!(ItemId::parse("job-00"), Err(BadId::Prefix));
        assert_eq!(ItemId::parse("ask-00"), Err(BadId::Length(6)));
        assert_eq!(
            ItemId::parse("ask-ABababababababababababababababab"),
            Err(BadId::Byte { at: 4, byte: b'A' })
        );
    }

    #[test]
    fn a_session_id_cannot_leave_its_folder() {
        assert!(SessionId::new("s_1-A").is_ok());
        assert_eq!(SessionId::new("../x"), Err(BadId::Byte { at: 0, byte: b'.' }));
        assert_eq!(SessionId::new(""), Err(BadId::Length(0)));
        assert_eq!(SessionId::new(&"a".repeat(65)), Err(BadId::Length(65)));
    }
}
