//! What `proof` must hold, from outside: the design's vectors, every refusal, and attacks on all of it.
#![cfg(test)]

mod payloads;
mod refusals;
mod scene;
mod vectors;
