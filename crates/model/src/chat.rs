//! Chat Completions as llama-server speaks them. What stands in a request's messages, and what is done with an answer, is the
//! caller's.

mod client;
mod stream;

pub use client::{Caps, ChatConfig, Client, GenerationSettings, Props};
pub use stream::{Completion, Delta, Finish, ToolCall, Usage};
