//! Tests of the human-only list.
