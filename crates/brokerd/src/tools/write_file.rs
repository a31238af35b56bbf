//! `write_file`: a whole file, at once or not at all. Which file may be written is not here.

use std::io;

use serde::Deserialize;

use super::replace;
use crate::beneath::Held;

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the file."},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pub(super) path: String,
    content: String,
}

pub(super) fn run(arguments: &Arguments, held: &Held) -> io::Result<(String, bool)> {
    let (folder, name) = held.replace()?;
    replace(&folder, &name, arguments.content.as_bytes(), !held.exists())?;
    Ok((format!("{} bytes written.", arguments.content.len()), false))
}
