//! What carries sealed actions out, or allows them, outside the broker: agents' hooks, with their table of shapes.
//!
//! Deliberately not here: the check of a proof (`proof`), what grants and rules mean (`policy`), HTTP (`client`),
//! printing and reading the command line (`sealward`). Only `sealward` may depend on this crate.
//!
//! Invariant: nothing here turns into an allow but a `proof::Authorized` or a grant's word, and no path, address or
//! setting comes from the environment, the working directory or the repository.

mod clock;
pub mod grants;
pub mod home;
pub mod hook;
mod host;
pub mod kept;
mod sync;
pub mod trust;

pub use clock::Clock;
pub use home::{Home, HomeError};
