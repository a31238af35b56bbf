//! Channels of a denial, as data: who reads it, how urgently, and whether it stays pinned. Nobody branches on a channel's name.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Who reads a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Every agent.
    All,
    /// The agent that asked.
    Asker,
}

/// When a denial is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// With the next digest.
    Digest,
    /// With the answer.
    Answer,
    /// At once.
    Now,
    /// Stop and read before the next action.
    Stop,
}

/// The channel on which a person says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// All agents, now.
    Broadcast,
    /// The asking agent, interrupt now.
    Call,
    /// All agents, next digest.
    Newsletter,
    /// All agents, urgent: stop and read before the next action.
    PanPan,
    /// The asking agent, with its answer: the default.
    Post,
    /// All agents, pinned until it expires or is revoked.
    Security,
}

/// The text names no channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no channel: post, call, newsletter, broadcast, pan-pan or security")]
pub struct UnknownChannel(pub String);

struct Row {
    name: &'static str,
    audience: Audience,
    urgency: Urgency,
    pinned: bool,
}

impl Channel {
    /// Every channel, mildest first.
    pub const ALL: [Self; 6] =
        [Self::Post, Self::Call, Self::Newsletter, Self::Broadcast, Self::PanPan, Self::Security];

    const fn row(self) -> Row {
        let (name, audience, urgency, pinned) = match self {
            Self::Post => ("post", Audience::Asker, Urgency::Answer, false),
            Self::Call => ("call", Audience::Asker, Urgency::Now, false),
            Self::Newsletter => ("newsletter", Audience::All, Urgency::Digest, false),
            Self::Broadcast => ("broadcast", Audience::All, Urgency::Now, false),
            Self::PanPan => ("pan-pan", Audience::All, Urgency::Stop, false),
            Self::Security => ("security", Audience::All, Urgency::Stop, true),
        };
        Row { name, audience, urgency, pinned }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Who reads it.
    #[must_use]
    pub const fn audience(self) -> Audience {
        self.row().audience
    }

    /// When it is read.
    #[must_use]
    pub const fn urgency(self) -> Urgency {
        self.row().urgency
    }

    /// Whether it stays shown until it expires or is revoked.
    #[must_use]
    pub const fn pinned(self) -> bool {
        self.row().pinned
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Channel {
    type Err = UnknownChannel;

    fn from_str(text: &str) -> Result<Self, UnknownChannel> {
        Self::ALL
            .into_iter()
            .find(|channel| channel.as_str() == text)
            .ok_or_else(|| UnknownChannel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_written_as_it_is_read() {
        for channel in Channel::ALL {
            assert_eq!(channel.as_str().parse(), Ok(channel));
            assert_eq!(serde_json::to_string(&channel).unwrap(), format!("\"{channel}\""));
        }
        assert_eq!("shout".parse::<Channel>(), Err(UnknownChannel("shout".to_owned())));
    }
}
