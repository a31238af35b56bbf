//! What can come of a call at the hook, and the words for it: one sentence each, and four different ones for
//! denied, expired, unavailable and cancelled.
//!
//! Invariant: the words for the agent hold nothing that the hub or the agent wrote, but for a denial whose
//! signature was checked. The hub's and the system's words go to stderr, for people.

use std::error::Error;

use client::CallError;
use proof::{Authority, Authorized, Signer};
use proto::audit::DenyReason;
use proto::{Channel, Refusal};

use super::answer::Ruling;
use super::shape::Role;

/// What came of a call.
#[derive(Debug)]
pub(super) enum Ending {
    /// A grant of this machine lets it go on to the agent's own rules.
    GrantAllows,
    /// A grant of this machine denies it.
    GrantDenies(DenyReason),
    /// Sealed, checked and claimed: the only way to an allow.
    Allowed(Authorized),
    /// A checked denial.
    Denied(Denied),
    /// The hub says denied, and its proof of that does not hold.
    DeniedUnproven(Refusal),
    /// Nobody answered within the ask's lifetime.
    Expired,
    /// The ask was withdrawn.
    Cancelled,
    /// Answered at the agent's own terminal.
    Superseded,
    /// Nobody has answered yet, and the agent waits no longer.
    Unanswered,
    /// The hub released an approval that this machine does not accept.
    Unproven(Refusal),
    /// No decision could be had from the hub.
    Unavailable(Unavailable),
    /// Something on this machine has to be put right first; in words fit for the agent.
    Unready(String),
}

/// A denial as its signer wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) channel: Channel,
    pub(super) by: String,
    pub(super) reason: String,
}

/// Why the hub gave no decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unavailable {
    Unreachable,
    TooSlow,
    Nonsense,
    /// Its status and its code.
    Refused(u16, String),
}

impl From<&CallError> for Unavailable {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Unreachable { .. } => Self::Unreachable,
            CallError::TooSlow { .. } => Self::TooSlow,
            CallError::BadAnswer { .. } => Self::Nonsense,
            CallError::Refused(refused) => Self::Refused(refused.status, refused.code.clone()),
        }
    }
}

impl Ending {
    /// What the hook says at this kind of event. At a gate only a seal lets a call through, and only a grant leaves
    /// it to the agent; at a request everything but a decision leaves it to the agent's dialog.
    pub(super) const fn ruling(&self, role: Role) -> Ruling {
        match (self, role) {
            (_, Role::Done) | (Self::GrantAllows, Role::Gate | Role::Request) => Ruling::Silent,
            (Self::Allowed(_), Role::Gate | Role::Request) => Ruling::Allow,
            (
                Self::GrantDenies(_) | Self::Denied(_) | Self::DeniedUnproven(_),
                Role::Gate | Role::Request,
            ) => Ruling::Block,
            (
                Self::Expired
                | Self::Cancelled
                | Self::Superseded
                | Self::Unanswered
                | Self::Unproven(_)
                | Self::Unavailable(_)
                | Self::Unready(_),
                Role::Gate,
            ) => Ruling::Block,
            (
                Self::Expired
                | Self::Cancelled
                | Self::Superseded
                | Self::Unanswered
                | Self::Unproven(_)
                | Self::Unavailable(_)
                | Self::Unready(_),
                Role::Request,
            ) => Ruling::Silent,
        }
    }

    /// The words for the agent.
    pub(super) fn reason(&self) -> String {
        let text = match self {
            Self::GrantAllows => "Left to the agent's own rules by a grant of this machine.".to_owned(),
            Self::GrantDenies(reason) => reason.to_string(),
            Self::Allowed(authorized) => approved(authorized),
            Self::Denied(denied) => denied.words(),
            Self::DeniedUnproven(refusal) => format!(
                "Denied; the denial is not quoted, because its proof was refused: {} ({}).",
                refusal.sentence(),
                refusal.code()
            ),
            Self::Expired => {
                "Expired: nobody answered this ask in its time. That is no denial. Making the same \
                call again asks anew."
                    .to_owned()
            }
            Self::Cancelled => {
                "Cancelled: the ask was withdrawn before anybody answered. Making the same call \
                again asks anew."
                    .to_owned()
            }
            Self::Superseded => "Superseded: this ask was answered at the agent's own terminal.".to_owned(),
            Self::Unanswered => {
                "asked, not yet answered; the same call will pick up the answer. Nothing was \
                decided: do other work, then make exactly the same call again."
                    .to_owned()
            }
            Self::Unproven(refusal) => format!(
                "Blocked: the approval was refused on this machine: {} ({}).",
                refusal.sentence(),
                refusal.code()
            ),
            Self::Unavailable(why) => format!(
                "Unavailable: {} Nobody decided anything; a person can run `sealward doctor`.",
                why.words()
            ),
            Self::Unready(what) => format!("Blocked: {what}"),
        };
        format!("Sealward: {text}")
    }
}

fn approved(authorized: &Authorized) -> String {
    let by = labels(authorized.signers());
    match authorized.authority() {
        Authority::Approve => format!("Approved by {by}."),
        Authority::Rule { id } => format!("Allowed by the rule `{id}` of {by}."),
        Authority::Vouch { delegation } => {
            format!("Allowed by the automatic reviewer, to whom {by} delegated this (`{delegation}`).")
        }
    }
}

/// The keys that signed, by the names they are pinned under on this machine.
fn labels(signers: &[Signer]) -> String {
    signers.iter().map(|signer| signer.label.as_str()).collect::<Vec<_>>().join(" and ")
}

impl From<proof::Denial> for Denied {
    fn from(checked: proof::Denial) -> Self {
        Self { channel: checked.channel, by: labels(&checked.signers), reason: checked.reason }
    }
}

impl Denied {
    fn words(&self) -> String {
        let Self { channel, by, reason } = self;
        if reason.is_empty() {
            format!("Denied by {by} ({channel}), without a reason.")
        } else {
            format!("Denied by {by} ({channel}): {reason}")
        }
    }

    /// The words for agents to which the denial is a message.
    pub(super) fn as_message(&self) -> String {
        let Self { channel, by, reason } = self;
        format!("Sealward: message to all agents from {by} ({channel}): {reason}")
    }
}

impl Unavailable {
    fn words(&self) -> String {
        match self {
            Self::Unreachable => "the hub cannot be reached.".to_owned(),
            Self::TooSlow => "the hub did not answer in time.".to_owned(),
            Self::Nonsense => "what answers at the hub's address is not a hub of this version.".to_owned(),
            Self::Refused(401, _) => "the hub does not know this machine's token.".to_owned(),
            Self::Refused(403, _) => "this machine's token may not ask for this executor.".to_owned(),
            Self::Refused(413, _) => "the call is too large to be asked for.".to_owned(),
            Self::Refused(422, _) => "the hub cannot show this input to a person.".to_owned(),
            Self::Refused(429, _) => "too many asks wait already; let some be answered first.".to_owned(),
            Self::Refused(status, code) => format!("the hub refused the ask ({status} {code})."),
        }
    }
}

/// An error and its causes on one line, control characters escaped: for stderr.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    client::shown(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endings() -> Vec<Ending> {
        let denied = Denied { channel: Channel::Post, by: "phone".into(), reason: "no".into() };
        vec![
            Ending::GrantAllows,
            Ending::GrantDenies(DenyReason::NoGrant),
            Ending::Denied(denied),
            Ending::DeniedUnproven(Refusal::BadSignature),
            Ending::Expired,
            Ending::Cancelled,
            Ending::Superseded,
            Ending::Unanswered,
            Ending::Unproven(Refusal::NotListed),
            Ending::Unavailable(Unavailable::Unreachable),
            Ending::Unready("x".into()),
        ]
    }

    /// An `Authorized` cannot be made up, so the one ending that allows is not among these.
    #[test]
    fn no_other_ending_allows_and_only_a_grant_leaves_a_gate_to_the_agent() {
        for ending in endings() {
            let gate = ending.ruling(Role::Gate);
            let granted = matches!(ending, Ending::GrantAllows);
            assert_eq!(gate, if granted { Ruling::Silent } else { Ruling::Block }, "{ending:?}");
            assert_ne!(ending.ruling(Role::Request), Ruling::Allow, "{ending:?}");
            assert_eq!(ending.ruling(Role::Done), Ruling::Silent);
        }
    }

    #[test]
    fn every_ending_has_words_of_its_own() {
        let mut words: Vec<String> = endings().iter().map(Ending::reason).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), endings().len());
    }

    #[test]
    fn a_late_answer_is_promised_in_the_agreed_words() {
        assert!(
            Ending::Unanswered
                .reason()
                .contains("asked, not yet answered; the same call will pick up the answer")
        );
    }
}
