//! What this machine calls itself. Who the user is and where the home lies is decided by the command line.

/// The name of this machine, as people will see it beside an ask; empty where the system has none.
#[must_use]
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
