//! What goes into the store's operations and what comes out, by topic. Data only.

pub(crate) mod batches;
pub(crate) mod denials;
pub(crate) mod items;
pub(crate) mod log;
pub(crate) mod people;
