//! The broker's journal: hash-chained records in segments, group commit, torn tails, and the receipt that a record is durable.
//!
//! Deliberately not here: what a record says (`proto::audit`), how lines are chained (`proto::chain`), and who decides (`policy`).
//! The broker writes through this crate; `sealward audit` reads through it. It knows no clock and no async runtime: a caller is
//! told by a callback, on the journal's own thread.
//!
//! Invariant: a [`Receipt`] exists only for a record that is on disk (or, with [`Durability::None`], handed to the kernel).
//! Threats answered: an action without its record, a log that is cut, bent or reordered (`docs/threats.md`).

mod disk;
mod journal;
mod open;
mod reader;
mod segment;
mod verify;

pub use disk::{Disk, FolderDisk};
pub use journal::{AppendError, Durability, Journal, Options, Receipt};
pub use open::{OpenError, Opened};
pub use reader::{ReadError, records};
pub use verify::{LogReport, VerifyError, verify};
