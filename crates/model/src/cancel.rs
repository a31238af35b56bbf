//! A flag that one thread sets and any number of waits hear. What is cancelled is the waiter's business.

use std::sync::Arc;

use tokio::sync::watch;

/// Set once, heard by all clones.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Sets it.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once it is set.
    pub async fn cancelled(&self) {
        let mut flag = self.0.subscribe();
        // The sender lives in `self`, so waiting cannot fail before the flag is set.
        drop(flag.wait_for(|set| *set).await);
    }
}
