//! What a model may call, as the model reads it. What a call does, and whether it may, is the broker's.

use proto::broker::ToolInfo;

/// The tools of a session, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: Vec<ToolInfo>,
}

/// The built-in set: name, description, schema. The broker offers the same ones; here they stand for a session without a broker's
/// list.
const BUILT_IN: &[(&str, &str, &str)] = &[(
    "read_file",
    "Read a text file.",
    r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the file."}},"required":["path"],"additionalProperties":false}"#,
)];

impl Registry {
    /// The tools that the broker offers, in its order.
    #[must_use]
    pub const fn from_broker(tools: Vec<ToolInfo>) -> Self {
        Self { tools }
    }

    /// The built-in set.
    #[must_use]
    pub fn built_in() -> Self {
        let tool = |(name, description, schema): &(&str, &str, &str)| {
            Some(ToolInfo {
                name: (*name).to_owned(),
                description: (*description).to_owned(),
                parameters: serde_json::from_str(schema).ok()?,
            })
        };
        Self { tools: BUILT_IN.iter().filter_map(tool).collect() }
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &[ToolInfo] {
        &self.tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_tool_has_a_schema_that_parses() {
        assert_eq!(Registry::built_in().tools().len(), BUILT_IN.len());
    }
}
