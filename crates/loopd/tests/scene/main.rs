//! The loop and the broker as two processes on a temporary home, with a model server beside them. The broker is a program here: its
//! path comes from `SEALWARD_BROKERD`, or it is looked for beside this test.
#![cfg(test)]

mod home;
mod real_model;
mod scripted;
