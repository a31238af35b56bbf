//! Clients of model servers. Now Chat Completions over a Unix socket or HTTP, always streaming, because only a stream can be
//! cancelled.
//!
//! Deliberately not here: what is said to a model and what is done with its answer (`loopd`, `review`), and any decision about
//! an action. A model's answer is data from a stranger.
//!
//! Invariant: a [`chat::Completion`] exists only for a stream that named its end; an answer that stopped half-way is an error.

mod cancel;
pub mod chat;
mod connect;
mod error;
pub mod sse;

pub use cancel::Cancel;
pub use connect::{BadEndpoint, Endpoint};
pub use error::ModelError;
