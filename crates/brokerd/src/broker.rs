//! The broker's state: configuration, loaded grants, journal, desk. How a call goes through them is `pipeline`'s.

use std::sync::{Arc, PoisonError, RwLock};

use audit::{AppendError, Journal, Receipt};
use proto::{AuditEvent, ItemId, Kind};
use tokio::sync::{Notify, oneshot};

use crate::{
    clock,
    config::Config,
    desk::Desk,
    grants::{LoadError, Loaded},
};

/// Identity of a broker without a hub: it stands in item hashes that nobody signs.
const ALONE: &str = "broker";

/// What one running broker is made of.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) config: Config,
    loaded: RwLock<Arc<Loaded>>,
    journal: Journal,
    pub(crate) desk: Option<Desk>,
    /// Names this start in every record.
    pub(crate) boot: String,
    /// Heard once the journal takes nothing more.
    pub(crate) broken: Notify,
}

/// The system has no randomness to give.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers")]
pub(crate) struct NoChance(#[source] rustix::io::Errno);

impl Broker {
    pub(crate) fn new(
        config: Config,
        loaded: Loaded,
        journal: Journal,
        desk: Option<Desk>,
    ) -> Result<Self, NoChance> {
        let boot = random()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let loaded = RwLock::new(Arc::new(loaded));
        Ok(Self { config, loaded, journal, desk, boot, broken: Notify::new() })
    }

    /// Who this broker is in an item.
    pub(crate) fn identity(&self) -> &str {
        self.config.hub.as_ref().map_or(ALONE, |hub| &hub.identity)
    }

    pub(crate) fn new_id(&self) -> Result<ItemId, NoChance> {
        Ok(ItemId::from_random(Kind::Call, random()?))
    }

    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the grants again. Where one is bad, the set that was loaded stays.
    pub(crate) fn reload(&self) -> Result<(), LoadError> {
        let loaded = Loaded::read(self.config.grants.as_deref())?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        Ok(())
    }

    /// Records an event and waits until it is durable.
    pub(crate) async fn record(&self, event: AuditEvent) -> Result<Receipt, AppendError> {
        let (tell, told) = oneshot::channel();
        self.journal.append_then(clock::now(), &event, move |outcome| {
            // Whoever waited may be gone; the record stands all the same.
            drop(tell.send(outcome));
        });
        let outcome = told.await.unwrap_or(Err(AppendError::Closed));
        if let Err(AppendError::Failed(_) | AppendError::Full { .. }) = &outcome {
            self.broken.notify_one();
        }
        outcome
    }

    pub(crate) fn failure(&self) -> Option<AppendError> {
        self.journal.failure()
    }
}

fn random() -> Result<[u8; 16], NoChance> {
    let mut bytes = [0; 16];
    let filled =
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(NoChance)?;
    if filled == bytes.len() { Ok(bytes) } else { Err(NoChance(rustix::io::Errno::AGAIN)) }
}
