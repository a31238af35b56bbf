//! What is asked for, field by field in the order in which it is hashed. The hash itself is `proof`'s.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The kind of an item; each has exactly one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A tool call of an agent that waits for a decision.
    Ask,
    /// The same inside the broker.
    Call,
    /// A commit.
    Review,
    /// A question with options.
    Decision,
    /// An operator command for a runner.
    Command,
}

/// The text names no kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind: ask, call, review, decision or command")]
pub struct UnknownKind(pub String);

/// A tool call of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table in the design is their documentation")]
pub struct AskItem {
    pub id: String,
    pub executor: String,
    pub agent: String,
    pub session: String,
    pub tool: String,
    /// The tool input's JSON text exactly as it stood on the wire.
    pub input: String,
    /// Real path of the working directory.
    pub cwd: String,
}

/// A tool call inside the broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table in the design is their documentation")]
pub struct CallItem {
    pub id: String,
    pub executor: String,
    pub session: String,
    pub tool: String,
    /// The arguments' exact text.
    pub arguments: String,
}

/// A commit that waits for a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table in the design is their documentation")]
pub struct ReviewItem {
    pub id: String,
    pub executor: String,
    /// Absolute git common dir.
    pub repository: String,
    pub worktree: String,
    pub branch: String,
    pub tree: String,
    /// Commit id, or empty for the empty tree.
    pub base: String,
    /// Hex SHA-256 of the exact diff bytes, or empty.
    pub diff: String,
    /// `pass` or `fail`.
    pub gate: String,
}

/// A question with the option that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table in the design is their documentation")]
pub struct DecisionItem {
    pub id: String,
    pub executor: String,
    pub question: String,
    pub choice: String,
}

/// Text that a person wants run on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table in the design is their documentation")]
pub struct CommandItem {
    pub id: String,
    pub executor: String,
    pub task: String,
    pub command: String,
    pub directory: String,
}

/// What is asked for, as hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is documented at its struct")]
pub enum Item {
    Ask(AskItem),
    Call(CallItem),
    Review(ReviewItem),
    Decision(DecisionItem),
    Command(CommandItem),
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Ask, Self::Call, Self::Review, Self::Decision, Self::Command];

    /// The word on the wire and in the hash.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Call => "call",
            Self::Review => "review",
            Self::Decision => "decision",
            Self::Command => "command",
        }
    }

    /// What its ids begin with.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Ask => "ask-",
            Self::Call => "call-",
            Self::Review => "rev-",
            Self::Decision => "dec-",
            Self::Command => "cmd-",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

impl Item {
    /// Reads the JSON object of an item of `kind`.
    ///
    /// # Errors
    /// The parser's, for a missing, unknown or duplicate member or one that is no string.
    pub fn from_json(kind: Kind, json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Ask => Self::Ask(serde_json::from_slice(json)?),
            Kind::Call => Self::Call(serde_json::from_slice(json)?),
            Kind::Review => Self::Review(serde_json::from_slice(json)?),
            Kind::Decision => Self::Decision(serde_json::from_slice(json)?),
            Kind::Command => Self::Command(serde_json::from_slice(json)?),
        })
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Ask(_) => Kind::Ask,
            Self::Call(_) => Kind::Call,
            Self::Review(_) => Kind::Review,
            Self::Decision(_) => Kind::Decision,
            Self::Command(_) => Kind::Command,
        }
    }

    /// Its id, as it stands.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Ask(item) => &item.id,
            Self::Call(item) => &item.id,
            Self::Review(item) => &item.id,
            Self::Decision(item) => &item.id,
            Self::Command(item) => &item.id,
        }
    }

    /// The identity of the executor it is addressed to.
    #[must_use]
    pub fn executor(&self) -> &str {
        match self {
            Self::Ask(item) => &item.executor,
            Self::Call(item) => &item.executor,
            Self::Review(item) => &item.executor,
            Self::Decision(item) => &item.executor,
            Self::Command(item) => &item.executor,
        }
    }

    /// Name and value of each field, in the order in which they are hashed.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Ask(AskItem { id, executor, agent, session, tool, input, cwd }) => vec![
                ("id", id),
                ("executor", executor),
                ("agent", agent),
                ("session", session),
                ("tool", tool),
                ("input", input),
                ("cwd", cwd),
            ],
            Self::Call(CallItem { id, executor, session, tool, arguments }) => vec![
                ("id", id),
                ("executor", executor),
                ("session", session),
                ("tool", tool),
                ("arguments", arguments),
            ],
            Self::Review(item) => {
                let ReviewItem { id, executor, repository, worktree, branch, tree, base, diff, gate } = item;
                vec![
                    ("id", id),
                    ("executor", executor),
                    ("repository", repository),
                    ("worktree", worktree),
                    ("branch", branch),
                    ("tree", tree),
                    ("base", base),
                    ("diff", diff),
                    ("gate", gate),
                ]
            }
            Self::Decision(DecisionItem { id, executor, question, choice }) => {
                vec![("id", id), ("executor", executor), ("question", question), ("choice", choice)]
            }
            Self::Command(CommandItem { id, executor, task, command, directory }) => vec![
                ("id", id),
                ("executor", executor),
                ("task", task),
                ("command", command),
                ("directory", directory),
            ],
        }
    }
}
