//! The house rules, as tests over the files of the repository: headers, budgets, layers, dependencies, documents.
//!
//! What the compiler and clippy can hold is held there (`[workspace.lints]`, `clippy.toml`), not here. A rule that a
//! review would have to repeat comes here.
#![cfg(test)]

mod documents;
mod files;
mod manifests;
mod tree;
