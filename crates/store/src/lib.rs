//! Placeholder root; replaced by the crate itself.
