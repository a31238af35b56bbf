//! Ctrl-C, a service manager's stop and a closed terminal as values on a queue, for a parent that passes them on.
//!
//! A runtime of one thread is only the vehicle: it is the way to signal handlers without unsafe code of our own.

use std::io;
use std::thread;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Calls `take` for each signal from now until the process ends. When this returns, the handlers are in place.
///
/// # Errors
/// The system gave no handler or no runtime.
pub(crate) fn watch(take: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => take(Signal::INT),
                    _ = terminate.recv() => take(Signal::TERM),
                    // The terminal is gone, so nobody can be asked: the same as a stop.
                    _ = hang_up.recv() => take(Signal::TERM),
                }
            }
        });
    });
    Ok(())
}
