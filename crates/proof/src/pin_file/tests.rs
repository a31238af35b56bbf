//! Tests of `pin_file`.
