//! One module for each command of the table in `cli`. What several of them share is in `home` and `desk`.

pub(crate) mod agents;
pub(crate) mod approvers;
pub(crate) mod audit;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod enrol;
pub(crate) mod health;
pub(crate) mod hook;
pub(crate) mod hub;
pub(crate) mod pause;
pub(crate) mod proof;
pub(crate) mod try_road;
pub(crate) mod up;
