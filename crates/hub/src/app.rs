//! What every handler shares: configuration, clock, store, counters, and the signal that something changed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::clock::Clock;
use crate::config::Config;

/// The shared state of one hub; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    clock: Clock,
    stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn open(config: Config, clock: Clock, stopping: watch::Receiver<bool>) -> Self {
        Self(Arc::new(Inner { config, clock, stopping }))
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }
}
