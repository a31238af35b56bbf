//! The story around an event, without a hub.
