//! The hub's machine API as a library: asks with their long poll, messages, trust, pause and health, over blocking HTTP.
//!
//! Deliberately not here: checking a proof (`proof`), deciding what an answer means (`executor`), retries.
//! Executors and the automatic reviewer may depend on this crate; it depends on `proto` alone.
//!
//! Invariant: every call ends within the time it is given and reads a bounded answer, and a token leaves this
//! machine only encrypted. Everything returned is the hub's word: availability is all the hub is trusted for.

mod address;
mod error;
mod wire;

use std::path::Path;
use std::time::Duration;

use proto::api::{AskState, Asked, Close, Events, MachineMe, Messages, NewAsk, Trust};
use proto::limits::{ANSWER_BYTES, WAIT_S_MAX};
use proto::{ItemId, Status};

pub use address::{Address, BadAddress};
pub use error::{CallError, DETAIL_BYTES, Refused, shown};
pub use wire::{SetUpError, Token};

use wire::Wire;

/// A machine's connection to its hub. Cloning shares the connection.
#[derive(Clone, Debug)]
pub struct Hub {
    wire: Wire,
}

impl Hub {
    /// Sets up a client; nothing is sent yet. `ca_file` (PEM) replaces the system's certificates for https.
    ///
    /// # Errors
    /// [`SetUpError`] where https is wanted and no trusted certificate can be read.
    pub fn new(address: Address, token: Option<Token>, ca_file: Option<&Path>) -> Result<Self, SetUpError> {
        Ok(Self { wire: Wire::new(address, token, ca_file)? })
    }

    /// Who the token says we are, and the hub's clock: `GET /api/me`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn me(&self, limit: Duration) -> Result<MachineMe, CallError> {
        self.wire.get("/api/me", limit, ANSWER_BYTES)
    }

    /// Asks: `POST /api/asks`. The same ask again is answered with where it stands.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn ask(&self, ask: &NewAsk, limit: Duration) -> Result<Asked, CallError> {
        self.wire.post("/api/asks", ask, limit, ANSWER_BYTES)
    }

    /// Where an ask stands, as soon as it no longer waits or after `wait_s` seconds (cut to [`WAIT_S_MAX`], the
    /// hub's own limit): `GET /api/asks/{id}`. `limit` bounds the whole call, the wait included.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn ask_state(&self, id: &ItemId, wait_s: u64, limit: Duration) -> Result<AskState, CallError> {
        let seconds = wait_s.min(WAIT_S_MAX);
        self.wire.get(&format!("/api/asks/{id}?wait={seconds}"), limit, ANSWER_BYTES)
    }

    /// Withdraws an ask or says that it was answered elsewhere: `POST /api/asks/{id}/close`.
    ///
    /// # Errors
    /// [`CallError`]; the hub refuses statuses other than cancelled and superseded.
    pub fn close(&self, id: &ItemId, status: Status, limit: Duration) -> Result<Asked, CallError> {
        self.wire.post(&format!("/api/asks/{id}/close"), &Close { status }, limit, ANSWER_BYTES)
    }

    /// Messages of people after number `since`: `GET /api/messages`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn messages(&self, since: u64, limit: Duration) -> Result<Messages, CallError> {
        self.wire.get(&format!("/api/messages?since={since}&wait=0"), limit, ANSWER_BYTES)
    }

    /// Pins and revocations after number `since`: `GET /api/trust`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn trust(&self, since: u64, limit: Duration) -> Result<Trust, CallError> {
        self.wire.get(&format!("/api/trust?since={since}&wait=0"), limit, ANSWER_BYTES)
    }

    /// Items that were settled one way or another after number `since`, which moves on, after at most `wait_s` seconds (55
    /// at most), all within `limit`: `GET /api/events`.
    ///
    /// # Errors
    /// [`CallError`]; `since` then stays.
    pub fn settled_ids(
        &self,
        since: &mut u64,
        wait_s: u64,
        limit: Duration,
    ) -> Result<Vec<ItemId>, CallError> {
        let seconds = wait_s.min(WAIT_S_MAX);
        let route = format!("/api/events?kinds={SETTLED}&since={since}&wait={seconds}");
        let Events { events } = self.wire.get(&route, limit, EVENTS_BYTES)?;
        let mut ids = Vec::new();
        for line in &events {
            let line: SettledLine = serde_json::from_str(line.get())
                .map_err(|_| self.wire.bad_answer("an event of it cannot be read".to_owned()))?;
            *since = line.seq.max(*since);
            ids.extend(
                line.event.id.into_iter().chain(line.event.ids).filter_map(|id| ItemId::parse(&id).ok()),
            );
        }
        Ok(ids)
    }

    /// Stops every release: `POST /api/pause`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn pause(&self, limit: Duration) -> Result<(), CallError> {
        let Paused {} = self.wire.post("/api/pause", &Nothing {}, limit, ANSWER_BYTES)?;
        Ok(())
    }

    /// Whether the hub is well: `GET /healthz`, without a credential.
    ///
    /// # Errors
    /// [`CallError`]; a hub that is not well refuses with 503.
    pub fn health(&self, limit: Duration) -> Result<(), CallError> {
        let Health { status } = self.wire.get("/healthz", limit, ANSWER_BYTES)?;
        if status == "ok" { Ok(()) } else { Err(self.wire.bad_answer("its health is not `ok`".to_owned())) }
    }
}

/// Kinds of events after which an item no longer waits.
const SETTLED: &str = "allowed,denied,expired,cancelled,superseded";
/// Bytes of a page of such events: 500 rows of at most 16 KiB (256 ids of 40 bytes, and a reason of 2,000).
const EVENTS_BYTES: usize = 500 * 16 * 1024;

#[derive(serde::Deserialize)]
struct SettledLine {
    seq: u64,
    event: SettledEvent,
}

#[derive(serde::Deserialize)]
struct SettledEvent {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    ids: Vec<String>,
}

#[derive(serde::Serialize)]
struct Nothing {}

#[derive(serde::Deserialize)]
struct Paused {}

#[derive(serde::Deserialize)]
struct Health {
    status: String,
}
