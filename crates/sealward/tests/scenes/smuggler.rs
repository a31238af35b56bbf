//! A hub that hands the hook whatever proof the test wants, past the honest hub's own checks.

use serde_json::{Value, json};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use testkit::{Deed, Proxy, World};

/// Longer than a scene takes to make its proof.
const PATIENCE: Duration = Duration::from_secs(50);

/// The proof to hand over, once there is one. Polls of asks wait for it; all else is the honest hub's.
#[derive(Debug, Default)]
pub(crate) struct Smuggler {
    proof: Mutex<Option<Value>>,
    changed: Condvar,
}

impl Smuggler {
    /// A proxy before the world's hub that answers every poll with this smuggler's proof.
    pub(crate) fn proxy(self: &Arc<Self>, world: &World) -> Proxy {
        let smuggler = Arc::clone(self);
        Proxy::new(world.address(), move |asked| {
            if asked.method != "GET" || !asked.path.starts_with("/api/asks/") {
                return Deed::Pass;
            }
            let proof = smuggler.proof.lock().unwrap();
            let waited =
                smuggler.changed.wait_timeout_while(proof, PATIENCE, |proof| proof.is_none()).unwrap();
            let answer = |proof: &Value| Deed::Say(200, json!({ "status": "allowed", "proof": proof }));
            waited.0.as_ref().map_or(Deed::Pass, answer)
        })
    }

    /// From now on polls are answered with this proof, or wait again.
    pub(crate) fn hand_over(&self, proof: Option<Value>) {
        *self.proof.lock().unwrap() = proof;
        self.changed.notify_all();
    }
}
