//! What `proof` must hold, from outside: the design's vectors, every refusal, and attacks on all of it.
#![cfg(test)]

mod differential;
mod flips;
mod fuzz;
mod hub;
mod payloads;
mod pin_files;
mod processes;
mod refusals;
mod scene;
mod vectors;
mod words;
