//! The seam to `policy`: what a signed rule or delegation says, handed over in `policy`'s words.
//!
//! Matching itself, and its versions, are `policy`'s. A trait, so that the tests of the checks after it do not depend on what
//! `policy` happens to match.

use policy::delegation::{self, Risk};
use policy::rules;
use proto::{Item, Kind};

use crate::payload::{Delegate, Rule};

/// Says what rules and delegations cover.
pub(crate) trait Matcher {
    /// Whether the rule covers the item.
    fn rule_covers(&self, rule: &Rule, item: &Item) -> bool;
    /// Whether the delegation lets a vouch at that risk cover the item.
    fn delegation_covers(&self, delegate: &Delegate, item: &Item, risk: Risk) -> bool;
}

/// The one matcher outside of tests.
pub(crate) struct Policy;

impl Matcher for Policy {
    fn rule_covers(&self, rule: &Rule, item: &Item) -> bool {
        let Rule { id: _, kind, tool, pattern, scope, executor, matcher, uses: _ } = rule;
        rules::covers(&rules::Terms { kind: *kind, tool, pattern, scope, executor, matcher: *matcher }, item)
    }

    fn delegation_covers(&self, delegate: &Delegate, item: &Item, risk: Risk) -> bool {
        let Delegate { id: _, reviewer: _, kinds, scope, max_risk, executor } = delegate;
        let kinds: Vec<Kind> = kinds.iter().copied().collect();
        let terms = delegation::Terms { kinds: &kinds, scope, max_risk: *max_risk, executor };
        delegation::covers(&terms, item, risk)
    }
}
