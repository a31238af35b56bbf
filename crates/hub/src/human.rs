//! Which items only a person may allow, remembered: the list is looked through once for an item, not at each look at the inbox,
//! and for a large item on a thread that nobody else waits for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use policy::HumanOnly;
use proto::{Digest, Item, limits};

/// What the list says of an item.
pub(crate) type Held = Option<&'static HumanOnly>;

/// Verdicts by item hash. An item that somebody changed in the database has another hash, and is looked at anew.
#[derive(Debug, Default)]
pub(crate) struct Known {
    verdicts: Mutex<HashMap<Digest, Held>>,
}

impl Known {
    /// Why only a person may allow the item, if so.
    pub(crate) async fn held(&self, item: &Item) -> Held {
        let hash = proof::item_hash(item);
        let known = self.lock().get(&hash).copied();
        if let Some(held) = known {
            return held;
        }
        let held = if size(item) > limits::LOOK_BYTES {
            let item = item.clone();
            match tokio::task::spawn_blocking(move || policy::human_only(&item)).await {
                Ok(held) => held,
                // A look that broke off says nothing: the request fails with it.
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // Cancelled: the hub is ending, and nobody waits for this any more.
                    Err(_) => std::future::pending().await,
                },
            }
        } else {
            policy::human_only(item)
        };
        let mut verdicts = self.lock();
        if verdicts.len() >= limits::LOOKS_KEPT {
            verdicts.clear();
        }
        verdicts.insert(hash, held);
        held
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Held>> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how large an item is, bytes.
pub(crate) fn size(item: &Item) -> usize {
    item.fields().iter().fold(0, |sum, (_, value)| sum.saturating_add(value.len()))
}
