//! Other programs' settings files: read as they stand, changed in the one place that matters, shown before they are written.
//!
//! Not here: whose hooks go where (`settings::claude`), asking the person (`commands::connect`).

pub(crate) mod claude;
pub(crate) mod difference;
pub(crate) mod file;
pub(crate) mod tree;
