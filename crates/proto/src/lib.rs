//! Wire types, ids, limits, refusal and denial codes, audit records and the hash chain: pure data.
//!
//! Deliberately not here: files, sockets, clocks, async, policy and signature checks (`policy`, `proof`).
//! Everybody may depend on this crate; it depends on no other of ours.
//!
//! Invariant: a value of a type in this crate says what was *written*, never that it was *checked*.

pub mod api;
pub mod audit;
pub mod b64;
pub mod broker;
pub mod chain;
mod channel;
mod digest;
mod event;
mod id;
mod item;
pub mod json_text;
pub mod limits;
mod refusal;
mod status;
mod time;
mod turn;

pub use audit::{AuditEvent, AuditRecord, DecisionRecord, DenyReason};
pub use channel::{Audience, Channel, UnknownChannel, Urgency};
pub use digest::{BadDigest, Digest, sha256};
pub use event::HubEvent;
pub use id::{BadId, ItemId, SessionId};
pub use item::{AskItem, CallItem, CommandItem, DecisionItem, Item, Kind, ReviewItem, UnknownKind};
pub use refusal::Refusal;
pub use status::{BadStatus, Status};
pub use time::Timestamp;
pub use turn::TurnEvent;
