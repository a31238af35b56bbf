//! Tests of `replay`.
