//! What every handler shares: configuration, clock, store, pins, counters, and the signal that something changed.

use std::sync::Arc;

use proof::Approvers;
use proto::{Item, Timestamp};
use store::{SqliteStore, Store, StoreError, VerifyDepth};
use tokio::sync::{Mutex, watch};

use crate::clock::Clock;
use crate::config::Config;
use crate::human::{Held, Known};
use crate::login::Nonces;
use crate::problem::{Code, Problem};
use crate::rates::{Open, Rate};

/// The shared state of one hub; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    clock: Clock,
    store: Arc<dyn Store>,
    /// Counts changes; whoever waits looks again when it moves.
    changes: watch::Sender<u64>,
    stopping: watch::Receiver<bool>,
    counters: Counters,
    nonces: Nonces,
    known: Known,
    enrolment: Mutex<()>,
}

/// Rates and open polls.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// New asks, per token.
    pub(crate) asks: Rate,
    /// Login and enrolment tries, of everybody together.
    pub(crate) door: Rate,
    /// Open long polls and streams, per token or session.
    pub(crate) polls: Open,
}

impl App {
    /// Opens the database and checks its log once, whole.
    pub(crate) async fn open(
        config: Config,
        clock: Clock,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, StoreError> {
        let store = SqliteStore::open(&config.database()).await?;
        let report = store.verify_log(VerifyDepth::Whole).await?;
        if let Some(failure) = &report.failure {
            tracing::error!(failure, "the log does not verify; the page says so");
        }
        Ok(Self(Arc::new(Inner {
            config,
            clock,
            store: Arc::new(store),
            changes: watch::Sender::new(0),
            stopping,
            counters: Counters::default(),
            nonces: Nonces::new(),
            known: Known::default(),
            enrolment: Mutex::new(()),
        })))
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(crate) fn nonces(&self) -> &Nonces {
        &self.0.nonces
    }

    /// Why only a person may allow the item, if so.
    pub(crate) async fn held(&self, item: &Item) -> Held {
        self.0.known.held(item).await
    }

    /// Held while `enrol.json` is read and written.
    pub(crate) fn enrolment(&self) -> &Mutex<()> {
        &self.0.enrolment
    }

    /// The hub's own pins, read anew. A missing file is no error: it pins nobody.
    pub(crate) fn pins(&self) -> Result<Approvers, Problem> {
        Approvers::read(&self.0.config.pins()).map_err(|error| {
            tracing::error!(%error, "the hub's pin file cannot be used; nothing is accepted");
            Problem::new(Code::Unavailable, "the hub's pin file cannot be used; `sealward doctor` says why")
        })
    }

    /// Wakes everybody who waits for a change. Called after each operation that wrote.
    pub(crate) fn changed(&self) {
        self.0.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Sees every later call of [`App::changed`].
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Turns true when the hub stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.clone()
    }

    /// Folds the journal into the file.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.store().close().await {
            tracing::error!(%error, "the database did not close cleanly; nothing acknowledged is lost");
        }
    }
}
