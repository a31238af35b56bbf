//! The one command people type.

fn main() {}
