//! Why a proof was refused: stable codes and one fixed sentence each. The checks that lead here are `proof`'s.

use serde::{Deserialize, Serialize};

/// Why a proof was refused. The code is API, and so are the sentences that the design quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[error("{}", self.sentence())]
#[expect(missing_docs, reason = "the sentence of each variant is its documentation")]
pub enum Refusal {
    AlreadyUsed,
    BackupMismatch,
    BadPayload,
    BadSignature,
    ClockBack,
    CrossOrigin,
    Expired,
    HumanOnly,
    LapsedKey,
    Malformed,
    NoKeyPinned,
    NoMatch,
    NoSignature,
    NotListed,
    NotPinned,
    NotYet,
    Quorum,
    Revoked,
    StoreDamaged,
    StoreYoung,
    TooLarge,
    UserAbsent,
    UserUnverified,
    WrongChallenge,
    WrongOrigin,
    WrongRp,
    WrongType,
    WrongVerb,
}

impl Refusal {
    /// Every refusal, in the order of the words.
    pub const ALL: [Self; 28] = [
        Self::AlreadyUsed,
        Self::BackupMismatch,
        Self::BadPayload,
        Self::BadSignature,
        Self::ClockBack,
        Self::CrossOrigin,
        Self::Expired,
        Self::HumanOnly,
        Self::LapsedKey,
        Self::Malformed,
        Self::NoKeyPinned,
        Self::NoMatch,
        Self::NoSignature,
        Self::NotListed,
        Self::NotPinned,
        Self::NotYet,
        Self::Quorum,
        Self::Revoked,
        Self::StoreDamaged,
        Self::StoreYoung,
        Self::TooLarge,
        Self::UserAbsent,
        Self::UserUnverified,
        Self::WrongChallenge,
        Self::WrongOrigin,
        Self::WrongRp,
        Self::WrongType,
        Self::WrongVerb,
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// The fixed sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        self.row().1
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::AlreadyUsed => ("already_used", "already used"),
            Self::BackupMismatch => ("backup_mismatch", "the key's backup state is not as it was pinned"),
            Self::BadPayload => ("bad_payload", "the payload is not what its verb demands"),
            Self::BadSignature => ("bad_signature", "the signature does not verify"),
            Self::ClockBack => ("clock_back", "the clock was moved back"),
            Self::CrossOrigin => ("cross_origin", "signed inside another site's frame"),
            Self::Expired => ("expired", "the proof has expired"),
            Self::HumanOnly => ("human_only", "only a person may allow this"),
            Self::LapsedKey => ("lapsed_key", "the key has lapsed"),
            Self::Malformed => ("malformed", "the proof is malformed"),
            Self::NoKeyPinned => ("no_key_pinned", "no key is pinned"),
            Self::NoMatch => ("no_match", "does not match"),
            Self::NoSignature => ("no_signature", "no signature"),
            Self::NotListed => ("not_listed", "does not list this item"),
            Self::NotPinned => ("not_pinned", "not pinned"),
            Self::NotYet => ("not_yet", "not valid yet"),
            Self::Quorum => ("quorum", "too few persons signed"),
            Self::Revoked => ("revoked", "revoked"),
            Self::StoreDamaged => ("store_damaged", "the replay store is missing or damaged"),
            Self::StoreYoung => ("store_young", "issued before the replay store was made"),
            Self::TooLarge => ("too_large", "the proof is too large"),
            Self::UserAbsent => ("user_absent", "no person was present"),
            Self::UserUnverified => ("user_unverified", "the person was not verified"),
            Self::WrongChallenge => ("wrong_challenge", "signed over another payload"),
            Self::WrongOrigin => ("wrong_origin", "signed at another address"),
            Self::WrongRp => ("wrong_rp", "signed for another site"),
            Self::WrongType => ("wrong_type", "another kind of signature"),
            Self::WrongVerb => ("wrong_verb", "the payload's verb does not fit this use"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_what_serde_writes_and_sentences_are_distinct() {
        let mut sentences: Vec<_> = Refusal::ALL.iter().map(|refusal| refusal.sentence()).collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), Refusal::ALL.len());
        for refusal in Refusal::ALL {
            assert_eq!(serde_json::to_string(&refusal).unwrap(), format!("\"{}\"", refusal.code()));
        }
    }
}
