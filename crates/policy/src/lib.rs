//! Pure decisions: grants, signed rules, the strict command lexer, path scopes, the human-only list, and [`decide()`],
//! the whole pipeline in one file.
//!
//! Deliberately not here: files, sockets, clocks, signatures. A caller hands in text, checked evidence and `now`;
//! checking a proof is `proof`'s, finding out what a link points at is the executor's ([`RealPaths`]).
//! `proof`, `review`, `hub`, `executor` and `brokerd` may depend on this crate; it depends on `proto` alone.
//!
//! Invariant: silence, doubt and errors never allow. A [`Granted`] exists only where [`decide()`] found that a grant is
//! the authority, and nothing below a person decides what [`human_only()`] names.

mod act;
mod decide;
pub mod delegation;
pub mod grants;
pub mod human_only;
mod lexer;
pub mod paths;
mod real_paths;
pub mod rules;

pub use decide::{
    Authority, Decision, Evidence, Granted, Opinion, Person, Reviewer, Stage, StageName, Verdict,
    WithoutGrant, decide,
};
pub use grants::{Assurance, BadGrants, Effect, Grants};
pub use human_only::{Held, HumanOnly, human_only};
pub use real_paths::RealPaths;
