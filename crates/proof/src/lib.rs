//! The trusted core: what is signed, and how it is checked before anything runs.
//!
//! Invariant: an [`Authorized`] exists only for an item whose hash (or a rule or delegation covering it) enough pinned
//! persons signed, and only after its one use is on disk. Nothing else lets an executor act.
//!
//! Deliberately not here: network, async, clocks (`now` is a parameter), what may be matched by rules (`policy`), who shows
//! items to people (`hub`), who acts (`executor`, the broker). `review`, `hub`, `executor`, `sealward` and the broker may depend on
//! this crate; it depends on `proto` and `policy`.
//!
//! Threats answered: forged, replayed, lapsed, moved and relabelled approvals, approvals of A used for B, a hub or an agent
//! that lies (`docs/threats.md`). The words and the order of the checks are those of the design's page on proofs.

mod challenge;
mod denial;
mod envelope;
mod executor;
pub mod hub;
mod json;
mod keys;
mod login;
mod matching;
mod payload;
pub mod pin_file;
mod pins;
mod replay;
mod signers;
mod sshsig;
pub mod trust;
mod webauthn;

pub use challenge::{LOGIN_TYPE, PROOF_TYPE, challenge, item_hash, login_challenge, pae};
pub use denial::{Denial, Message, check_denial, check_message};
pub use envelope::assemble;
pub use executor::{Authority, Authorized, ExecutorCheck, Sealed};
pub use keys::{Alg, BadKey, PublicKey};
pub use login::{Login, check_login};
pub use payload::{
    Approve, BadPayload, Body, Common, Delegate, Deny, Payload, Pin, Revoke, Rule, Verb, Vouch, What,
};
pub use pins::{Approvers, BadEntry, BadPins, Person, PinnedKey, check_entry, fingerprint};
pub use policy::delegation::Risk;
pub use replay::{Marks, ReplayStore, StoreError};
pub use signers::{Signer, persons};
pub use sshsig::{NAMESPACE as SSH_NAMESPACE, key_id as ssh_key_id};
