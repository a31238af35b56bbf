//! Tests of the store through its trait: what every backend must do, and what SQLite must do besides.
#![cfg(test)]

mod children;
mod conformance;
mod file;
mod steps;
mod tamper;
mod world;
