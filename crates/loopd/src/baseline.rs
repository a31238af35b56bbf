//! What stands before every conversation: system prompt and tool schemas, frozen as bytes, so that a server's prefix cache hits
//! and nobody can change a session's tools under it. The conversation itself is `session`'s.

use proto::{Digest, sha256};
use serde::Serialize;
use serde_json::Value;

use crate::{config::Config, tools::Registry};

/// The frozen beginning of every request of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    system: String,
    /// JSON text of the array of tools.
    tools: String,
}

/// Why a baseline could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the tools cannot be written as JSON")]
pub struct BaselineError(#[source] serde_json::Error);

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl Baseline {
    /// Freezes the configuration's system prompt and the registry's tools.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn assemble(config: &Config, registry: &Registry) -> Result<Self, BaselineError> {
        let tools: Vec<_> = registry
            .tools()
            .iter()
            .map(|tool| Tool {
                kind: "function",
                function: Function {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.parameters,
                },
            })
            .collect();
        let tools = serde_json::to_string(&tools).map_err(BaselineError)?;
        Ok(Self { system: config.system.clone(), tools })
    }

    /// The same from a session's file.
    pub(crate) const fn from_parts(system: String, tools: String) -> Self {
        Self { system, tools }
    }

    /// The system prompt.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// JSON text of the array of tools.
    #[must_use]
    pub fn tools(&self) -> &str {
        &self.tools
    }

    /// Digest of both.
    #[must_use]
    pub fn digest(&self) -> Digest {
        sha256(format!("{}\0{}", self.system, self.tools).as_bytes())
    }
}
