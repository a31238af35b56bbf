//! The inbox daemon: HTTP API and page. Agents propose, people seal, executors fetch.
//!
//! Deliberately not here: rules' and grants' decisions (`policy`), signature checks (`proof`), SQL (`store`), any model, any
//! pin file of an executor. The hub's word is never authority: executors check what it hands them.
//!
//! Invariant: no proof leaves the hub before its batch settled, and none enters it unchecked. Every route is a line of one
//! table ([`ROUTES`]); there is no other way to be routed. May be used by: `sealward`.
//! Threats answered: DNS rebinding, cookies of another localhost port, mixed audiences, stale or half-stale batches,
//! floods, a settled approval lost by a crash.

mod address;
mod app;
mod asks;
mod batches;
mod body;
mod chance;
mod clock;
mod config;
mod due;
mod enrol;
mod entries;
mod events;
mod files;
mod gate;
mod health;
mod history;
mod human;
mod listen;
mod login;
mod messages;
mod openapi;
mod page;
mod people;
mod prepare;
mod problem;
mod rates;
mod routes;
mod seal;
mod serve;
mod snapshot;
mod tls;
mod wait;

pub use address::{BadOrigin, Origin};
pub use clock::{Clock, Time};
pub use config::{Caps, Config, ConfigError, TlsFiles};
pub use listen::ListenError;
pub use routes::{Audience, ROUTES, Route, Verb};
pub use serve::{Hub, StartError, serve};
pub use tls::TlsError;
