//! Signed rules: whether one covers an item.
//!
//! The matcher is not present in this version of the program: [`covers`] says no to everything, so that a rule may be
//! signed, sent and shown, and allows nothing. Its checks of signature, quorum and life are `proof`'s.

use proto::{Item, Kind};

/// The version of the matching rules that this program knows, as a rule's `matcher` states it. A rule of any other
/// version covers nothing.
pub const MATCHER: i64 = 1;

/// What a signed rule says about the items it covers, as its payload has it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the design's table of the verb `rule` is their documentation")]
pub struct Terms<'a> {
    pub kind: Kind,
    pub tool: &'a str,
    pub pattern: &'a str,
    pub scope: &'a str,
    pub executor: &'a str,
    pub matcher: i64,
}

/// Whether a rule of these terms covers `item`: always no, see above.
#[must_use]
pub fn covers(_terms: &Terms<'_>, _item: &Item) -> bool {
    false
}
