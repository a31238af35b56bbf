//! Grants: what an executor's own files allow, send to review, ask about or deny.
//!
//! A lenient effect (`allow`, `review`) matches only what is beyond doubt; a strict one (`ask`, `deny`) matches whatever
//! could be meant, and never hangs on a parse that succeeds. Among grants that match, deny beats ask beats review
//! beats allow. Reading the files is the caller's; [`mod@file`] knows their form.

use std::fmt;

use proto::{Item, Timestamp};

use crate::act::Act;
use crate::human_only::List;
use crate::lexer;
use crate::paths::{self, Scope, wildcard};
use crate::real_paths::{self, RealPaths};

mod command;
pub mod file;

pub use file::BadGrants;

/// What a grant does with an item it names, mildest first, so that `max` keeps the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are the design's")]
pub enum Effect {
    Allow,
    Review,
    Ask,
    Deny,
}

/// How sure a yes must be, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assurance {
    /// A click in the program that drives the loop will do.
    Client,
    /// One person's passkey.
    Passkey,
    /// So many distinct persons.
    Quorum(u32),
}

impl Assurance {
    /// Persons that must sign; a click needs one person too, and a signature is more than a click.
    #[must_use]
    pub fn persons(self) -> u32 {
        match self {
            Self::Client | Self::Passkey => 1,
            Self::Quorum(persons) => persons.max(1),
        }
    }
}

/// One grant, checked.
#[derive(Clone, Debug)]
pub struct Grant {
    name: String,
    tools: Vec<String>,
    effect: Effect,
    paths: Vec<Scope>,
    commands: Vec<command::Pattern>,
    sessions: Vec<String>,
    expires: Option<Timestamp>,
    assurance: Assurance,
}

/// What the grants say of an item: the strictest effect, the grant that says it, and how sure a yes must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding<'a> {
    /// The effect.
    pub effect: Effect,
    /// The grant's name.
    pub name: &'a str,
    /// The highest assurance that a matching grant asks for.
    pub assurance: Assurance,
}

/// A loaded set of grants, with the human-only list as its files lengthen it.
#[derive(Clone, Debug)]
pub struct Grants {
    grants: Vec<Grant>,
    list: List,
}

impl Grants {
    /// No grants at all: the broker's state without a file.
    #[must_use]
    pub fn none() -> Self {
        Self { grants: Vec::new(), list: List::shipped() }
    }

    /// What a hook starts from: read-only tools below the working directory pass, everything else has no grant and
    /// asks. Local files come beside it, and what they deny or ask about wins.
    #[must_use]
    pub fn shipped_for_hook() -> Self {
        let read_here = Grant {
            name: "read-here".to_owned(),
            tools: READ_ONLY.iter().map(|tool| (*tool).to_owned()).collect(),
            effect: Effect::Allow,
            paths: vec![Scope::here()],
            commands: Vec::new(),
            sessions: Vec::new(),
            expires: None,
            assurance: Assurance::Passkey,
        };
        Self { grants: vec![read_here], list: List::shipped() }
    }

    /// These grants and those of `files`, each a name for messages and its text.
    ///
    /// # Errors
    /// [`BadGrants`], which names file, line and key: nothing of the set loads then.
    pub fn with_files(mut self, files: &[(&str, &str)]) -> Result<Self, BadGrants> {
        for (name, text) in files {
            file::read(name, text, &mut self.grants, &mut self.list)?;
        }
        Ok(self)
    }

    /// The same grants with another human-only list.
    #[must_use]
    pub fn with_list(self, list: List) -> Self {
        Self { list, ..self }
    }

    /// The human-only list that goes with them.
    #[must_use]
    pub fn list(&self) -> &List {
        &self.list
    }

    /// The effective table, one line a grant, strictest first.
    pub fn table(&self) -> impl Iterator<Item = String> + '_ {
        let mut sorted: Vec<&Grant> = self.grants.iter().collect();
        sorted.sort_by_key(|grant| std::cmp::Reverse(grant.effect));
        sorted.into_iter().map(|grant| {
            format!("{:6} {} ({})", grant.effect.to_string(), grant.name, grant.tools.join(", "))
        })
    }

    /// Whether a grant could let `tool` run, by itself or after somebody's yes.
    #[must_use]
    pub fn lets_run(&self, tool: &str) -> bool {
        let lets = |grant: &&Grant| grant.effect != Effect::Deny;
        self.grants.iter().filter(lets).any(|grant| grant.tools.iter().any(|named| wildcard(named, tool)))
    }

    /// What the grants say of `item`, or `None` where none names it.
    #[must_use]
    pub fn find(&self, item: &Item, real: &RealPaths, now: Timestamp) -> Option<Finding<'_>> {
        let act = Act::of(item);
        let matching: Vec<&Grant> =
            self.grants.iter().filter(|grant| grant.applies(&act, real, now)).collect();
        let strictest = matching.iter().copied().max_by_key(|grant| grant.effect)?;
        let assurance = matching.iter().map(|grant| grant.assurance).max().unwrap_or(Assurance::Passkey);
        Some(Finding { effect: strictest.effect, name: &strictest.name, assurance })
    }
}

/// Claude Code's tools that only read, each by a path of its own or the working directory.
const READ_ONLY: &[&str] = &["Read", "Glob", "Grep", "LS", "NotebookRead"];

impl Grant {
    fn applies(&self, act: &Act<'_>, real: &RealPaths, now: Timestamp) -> bool {
        let alive = self.expires.is_none_or(|expires| now < expires);
        let session = self.sessions.is_empty() || self.sessions.iter().any(|session| session == act.session);
        alive && session && self.names(act, real)
    }

    fn is_lenient(&self) -> bool {
        match self.effect {
            Effect::Allow | Effect::Review => true,
            Effect::Ask | Effect::Deny => false,
        }
    }

    /// Whether its tool and its constraints name the act.
    fn names(&self, act: &Act<'_>, real: &RealPaths) -> bool {
        let tool = self.tools.iter().any(|tool| {
            if self.is_lenient() {
                wildcard(tool, act.tool)
            } else {
                wildcard(&paths::fold(tool), &paths::fold(act.tool))
            }
        });
        tool && self.names_paths(act, real) && self.names_commands(act)
    }

    fn names_paths(&self, act: &Act<'_>, real: &RealPaths) -> bool {
        if self.paths.is_empty() {
            return true;
        }
        let covered = |path: &String| self.paths.iter().any(|scope| scope.covers(act.directory, path));
        match real_paths::named(act) {
            // Where it is not clear what is meant, it could be this.
            None => !self.is_lenient(),
            Some(named) if self.is_lenient() => {
                real.all_found() && named.iter().all(covered) && real.found().iter().all(covered)
            }
            Some(named) => {
                named.iter().chain(real.found()).any(covered) || act.mentioned().any(|path| covered(&path))
            }
        }
    }

    fn names_commands(&self, act: &Act<'_>) -> bool {
        if self.commands.is_empty() {
            return true;
        }
        if self.is_lenient() {
            let mut texts = act.whole_commands().peekable();
            return act.parsed && texts.peek().is_some() && texts.all(|text| self.allows_text(text));
        }
        act.commands().any(|text| self.commands.iter().any(|pattern| pattern.could_mean(text)))
    }

    /// Every part of the command must fit a pattern of this grant.
    fn allows_text(&self, text: &str) -> bool {
        lexer::parse(text).is_some_and(|parts| {
            parts.iter().all(|part| self.commands.iter().any(|pattern| pattern.is_exactly(part)))
        })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Review => "review",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

#[cfg(test)]
mod tests;
