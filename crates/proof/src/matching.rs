//! The seam to `policy`: what a signed rule or delegation says, handed over in `policy`'s words.
//!
//! Matching itself, and its versions, are `policy`'s.

use policy::delegation::{self, Risk};
use policy::rules;
use proto::{Item, Kind};

use crate::payload::{Delegate, Rule};

/// Whether the rule covers the item.
pub(crate) fn rule_covers(rule: &Rule, item: &Item) -> bool {
    let Rule { id: _, kind, tool, pattern, scope, executor, matcher, uses: _ } = rule;
    rules::covers(&rules::Terms { kind: *kind, tool, pattern, scope, executor, matcher: *matcher }, item)
}

/// Whether the delegation lets a vouch at that risk cover the item.
pub(crate) fn delegation_covers(delegate: &Delegate, item: &Item, risk: Risk) -> bool {
    let Delegate { id: _, reviewer: _, kinds, scope, max_risk, executor } = delegate;
    let kinds: Vec<Kind> = kinds.iter().copied().collect();
    let terms = delegation::Terms { kinds: &kinds, scope, max_risk: *max_risk, executor };
    delegation::covers(&terms, item, risk)
}
