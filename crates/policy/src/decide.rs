//! The whole pipeline: human-only list, grants, signed rules, automatic reviewer, person.
//!
//! One pure function over evidence that was already checked. It does not check proofs (`proof`), match rules
//! ([`crate::rules`]) or ask anybody; it says what the evidence adds up to and lists what each stage said. The table of
//! every combination is `tests/golden/decide.txt`.

use std::fmt;

use proto::{Item, Timestamp, audit::DenyReason};

use crate::grants::{Assurance, Effect, Finding, Grants};
use crate::human_only::Held;
use crate::real_paths::RealPaths;

/// What an executor does with an item that no grant names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutGrant {
    /// The broker: `no grant allows this call`.
    Deny,
    /// A hook: the agent had the power anyway, so a person is asked.
    Ask,
}

/// What an automatic reviewer said of exactly this item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviewer<'a> {
    /// Nobody asked it, or it has not answered yet.
    Silent,
    /// It was asked and cannot answer. Never a reason to deny.
    Unavailable,
    /// It would allow.
    Allows,
    /// It would not, and says why.
    Denies(&'a str),
    /// Its signed vouch was checked by `proof` against a person's delegation.
    Vouches,
}

/// What a person said of exactly this item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person<'a> {
    /// Nothing yet.
    Silent,
    /// Yes, by a click in the program that drives the loop. Authority only where a grant says so.
    Clicked,
    /// Yes, by a proof that was checked; so many distinct persons signed it.
    Approved {
        /// Distinct persons.
        persons: u32,
    },
    /// No, for this reason. Empty where none was given or its proof did not verify.
    Denied(&'a str),
}

/// Everything a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What is asked for.
    pub item: &'a Item,
    /// The executor's grants, its human-only list among them.
    pub grants: &'a Grants,
    /// What the paths of the item really are.
    pub paths: &'a RealPaths,
    /// When.
    pub now: Timestamp,
    /// What silence of the grants means here.
    pub without_grant: WithoutGrant,
    /// The id of a signed rule that was checked and covers the item.
    pub rule: Option<&'a str>,
    /// The automatic reviewer.
    pub reviewer: Reviewer<'a>,
    /// The person.
    pub person: Person<'a>,
}

/// On whose word an item may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the design's")]
pub enum Authority {
    Grant,
    Rule,
    Reviewer,
    Client,
    Person,
}

/// What the evidence adds up to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It may run. Where a proof is the authority, the executor still needs `proof::Authorized`.
    Allow(Authority),
    /// It may not.
    Deny(DenyReason),
    /// A person must decide, with this much assurance.
    Escalate(Assurance),
}

/// The stages, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words are the design's")]
pub enum StageName {
    HumanOnly,
    Grants,
    Rules,
    Reviewer,
    Person,
}

/// What one stage says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// It has no say here.
    Silent,
    /// It allows.
    Allow,
    /// It leaves the item to a stage below.
    Ask,
    /// It denies.
    Deny,
}

/// One line of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Which stage.
    pub name: StageName,
    /// What it says.
    pub opinion: Opinion,
    /// Why, as a clause.
    pub why: String,
}

/// A grant is the authority for exactly one run. Only [`decide`] makes one, for `allow`, for `review` and for a click
/// where the grant's assurance is `client`; it is not `Clone`, so running spends it.
#[derive(Debug)]
#[must_use]
pub struct Granted {
    grant: String,
    item: Item,
}

impl Granted {
    /// The grant that is the authority.
    #[must_use]
    pub fn grant(&self) -> &str {
        &self.grant
    }

    /// What may run.
    #[must_use]
    pub fn item(&self) -> &Item {
        &self.item
    }
}

/// A verdict with what led to it.
#[derive(Debug)]
#[must_use]
pub struct Decision {
    /// What to do.
    pub verdict: Verdict,
    /// What each stage said, in order; the same list for people, hub and log.
    pub stages: Vec<Stage>,
    /// Present exactly where a grant is the authority.
    pub granted: Option<Granted>,
}

/// Decides. Total and pure: the same evidence, the same decision.
pub fn decide(evidence: &Evidence<'_>) -> Decision {
    let held = evidence.grants.list().find(evidence.item, evidence.paths.found());
    let finding = evidence.grants.find(evidence.item, evidence.paths, evidence.now);
    let verdict = verdict(evidence, held, finding);
    let by_grant = match &verdict {
        Verdict::Allow(Authority::Grant | Authority::Client) => true,
        // A vouch is a proof of its own; without one the reviewer's word counts by the grant.
        Verdict::Allow(Authority::Reviewer) => evidence.reviewer == Reviewer::Allows,
        Verdict::Allow(Authority::Rule | Authority::Person) | Verdict::Deny(_) | Verdict::Escalate(_) => {
            false
        }
    };
    let granted = finding
        .filter(|_| by_grant)
        .map(|finding| Granted { grant: finding.name.to_owned(), item: evidence.item.clone() });
    Decision { verdict, stages: stages(evidence, held, finding), granted }
}

fn verdict(evidence: &Evidence<'_>, held: Option<Held<'_>>, finding: Option<Finding<'_>>) -> Verdict {
    let effect = finding.map(|finding| finding.effect);
    match (finding, evidence.without_grant) {
        (Some(Finding { effect: Effect::Deny, name, .. }), _) => {
            return Verdict::Deny(DenyReason::Grant { name: name.to_owned() });
        }
        (None, WithoutGrant::Deny) => return Verdict::Deny(DenyReason::NoGrant),
        (Some(_), _) | (None, WithoutGrant::Ask) => {}
    }
    if let Person::Denied(reason) = evidence.person {
        return Verdict::Deny(DenyReason::Person { reason: reason.to_owned() });
    }
    let assurance = finding.map_or(Assurance::Passkey, |finding| finding.assurance);
    let needed = if held.is_some() { assurance.max(Assurance::Passkey) } else { assurance };
    let approved = matches!(evidence.person, Person::Approved { persons } if persons >= needed.persons());
    if held.is_some() {
        return if approved { Verdict::Allow(Authority::Person) } else { Verdict::Escalate(needed) };
    }
    if effect == Some(Effect::Allow) {
        return Verdict::Allow(Authority::Grant);
    }
    if evidence.rule.is_some() {
        return Verdict::Allow(Authority::Rule);
    }
    match evidence.reviewer {
        Reviewer::Vouches => return Verdict::Allow(Authority::Reviewer),
        Reviewer::Allows if effect == Some(Effect::Review) => return Verdict::Allow(Authority::Reviewer),
        Reviewer::Allows | Reviewer::Denies(_) | Reviewer::Silent | Reviewer::Unavailable => {}
    }
    if approved {
        return Verdict::Allow(Authority::Person);
    }
    match evidence.reviewer {
        Reviewer::Denies(reason) if effect == Some(Effect::Review) => {
            return Verdict::Deny(DenyReason::Reviewer { reason: reason.to_owned() });
        }
        Reviewer::Denies(_)
        | Reviewer::Allows
        | Reviewer::Vouches
        | Reviewer::Silent
        | Reviewer::Unavailable => {}
    }
    if evidence.person == Person::Clicked && needed == Assurance::Client {
        return Verdict::Allow(Authority::Client);
    }
    Verdict::Escalate(needed)
}

fn stages(evidence: &Evidence<'_>, held: Option<Held<'_>>, finding: Option<Finding<'_>>) -> Vec<Stage> {
    let stage = |name, opinion, why: String| Stage { name, opinion, why };
    let human_only = match held {
        Some(held) => stage(StageName::HumanOnly, Opinion::Ask, format!("{}: {}", held.name, held.sentence)),
        None => stage(StageName::HumanOnly, Opinion::Silent, "not on the list".to_owned()),
    };
    let grants = match (finding, evidence.without_grant) {
        (Some(finding), _) => {
            let opinion = match finding.effect {
                Effect::Allow => Opinion::Allow,
                Effect::Review | Effect::Ask => Opinion::Ask,
                Effect::Deny => Opinion::Deny,
            };
            stage(StageName::Grants, opinion, format!("grant `{}` says {}", finding.name, finding.effect))
        }
        (None, WithoutGrant::Deny) => {
            stage(StageName::Grants, Opinion::Deny, "no grant allows this call".to_owned())
        }
        (None, WithoutGrant::Ask) => {
            stage(StageName::Grants, Opinion::Ask, "no grant names this call".to_owned())
        }
    };
    let rules = match evidence.rule {
        Some(id) => stage(StageName::Rules, Opinion::Allow, format!("rule `{id}` covers it")),
        None => stage(StageName::Rules, Opinion::Silent, "no rule covers it".to_owned()),
    };
    let reviewer = match evidence.reviewer {
        Reviewer::Silent => stage(StageName::Reviewer, Opinion::Silent, "not asked".to_owned()),
        Reviewer::Unavailable => stage(StageName::Reviewer, Opinion::Ask, "cannot be reached".to_owned()),
        Reviewer::Allows => stage(StageName::Reviewer, Opinion::Allow, "sees no danger".to_owned()),
        Reviewer::Denies(why) => stage(StageName::Reviewer, Opinion::Deny, why.to_owned()),
        Reviewer::Vouches => {
            stage(StageName::Reviewer, Opinion::Allow, "vouches under a delegation".to_owned())
        }
    };
    let person = match evidence.person {
        Person::Silent => stage(StageName::Person, Opinion::Silent, "has not answered".to_owned()),
        Person::Clicked => {
            stage(StageName::Person, Opinion::Allow, "clicked in the agent's program".to_owned())
        }
        Person::Approved { persons: 1 } => stage(StageName::Person, Opinion::Allow, "signed it".to_owned()),
        Person::Approved { persons } => {
            stage(StageName::Person, Opinion::Allow, format!("{persons} signed it"))
        }
        Person::Denied("") => stage(StageName::Person, Opinion::Deny, "said no".to_owned()),
        Person::Denied(reason) => stage(StageName::Person, Opinion::Deny, format!("said no: {reason}")),
    };
    vec![human_only, grants, rules, reviewer, person]
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HumanOnly => "human-only",
            Self::Grants => "grants",
            Self::Rules => "rules",
            Self::Reviewer => "reviewer",
            Self::Person => "person",
        })
    }
}

impl fmt::Display for Opinion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "silent",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Stage {
    /// One line: `grants: ask (grant `shell` says ask)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.name, self.opinion, self.why)
    }
}
