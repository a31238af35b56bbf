//! The one table of agents: how each names its events and members, and how each wants its answers.
//!
//! A new agent is a new row here, its answer forms in [`super::answer`] and a folder of golden files. Nothing else
//! in this crate knows the name of an agent.

use super::answer::{self, Answer};

/// How one agent's hooks look.
#[derive(Debug)]
pub struct Shape {
    /// The word after `sealward hook`.
    pub agent: &'static str,
    /// The agent's name for people.
    pub title: &'static str,
    /// Its events, by the name it gives them, and what each is to us. Any other event gets no decision.
    pub events: &'static [(&'static str, Role)],
    /// The members of the event's object.
    pub members: Members,
    /// Members of the tool's input in which the agent says why it wants the call; the first that is there counts.
    pub why: &'static [&'static str],
    /// Writes an answer in the agent's form: one JSON object, or nothing where the form for it is silence.
    pub form: fn(Role, &Answer<'_>) -> Option<String>,
}

/// What an event is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Before a call, and binding: silence lets the call go on.
    Gate,
    /// The agent is about to ask its own user: silence leaves the question to its dialog.
    Request,
    /// A call has run: asks still open for it were answered elsewhere.
    Done,
}

/// Where an event keeps what we read; all but the last two must be there.
#[derive(Debug)]
pub struct Members {
    /// The event's name.
    pub event: &'static str,
    /// The session, as the agent numbers it.
    pub session: &'static str,
    /// The folder in which the agent stands.
    pub cwd: &'static str,
    /// The tool's name.
    pub tool: &'static str,
    /// The tool's input, an object.
    pub input: &'static str,
    /// The number of this one call, where the agent gives one.
    pub call: &'static str,
    /// The sub-agent that calls, where there is one.
    pub thread: &'static str,
}

/// Every agent we know, one row each.
pub static SHAPES: &[Shape] = &[Shape {
    agent: "claude",
    title: "Claude Code",
    events: &[
        ("PreToolUse", Role::Gate),
        ("PermissionRequest", Role::Request),
        ("PostToolUse", Role::Done),
        ("PostToolUseFailure", Role::Done),
    ],
    members: Members {
        event: "hook_event_name",
        session: "session_id",
        cwd: "cwd",
        tool: "tool_name",
        input: "tool_input",
        call: "tool_use_id",
        thread: "agent_id",
    },
    why: &["description"],
    form: answer::claude,
}];

impl Shape {
    /// The row of an agent.
    #[must_use]
    pub fn of(agent: &str) -> Option<&'static Self> {
        SHAPES.iter().find(|shape| shape.agent == agent)
    }
}
