//! Delegations: whether one lets an automatic reviewer's vouch cover an item.
//!
//! The matcher is not present in this version of the program: [`covers`] says no to everything, so that a delegation
//! may be signed, sent and shown, and allows nothing. Its checks of signature, quorum and life are `proof`'s.

use proto::{Item, Kind};

/// How dangerous a reviewer finds an item, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words are the design's")]
pub enum Risk {
    Low,
    Medium,
}

impl Risk {
    /// Reads the word of a payload.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            _ => None,
        }
    }
}

/// What a signed delegation says about the items it covers, as its payload has it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the design's table of the verb `delegate` is their documentation")]
pub struct Terms<'a> {
    pub kinds: &'a [Kind],
    pub scope: &'a str,
    pub max_risk: Risk,
    pub executor: &'a str,
}

/// Whether a delegation of these terms covers `item` at `risk`: always no, see above.
#[must_use]
pub fn covers(_terms: &Terms<'_>, _item: &Item, _risk: Risk) -> bool {
    false
}
