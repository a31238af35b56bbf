//! One module for each command of the table in `cli`. What several of them share is in `home` and `desk`.

pub(crate) mod health;
pub(crate) mod hook;
pub(crate) mod hub;
pub(crate) mod proof;
