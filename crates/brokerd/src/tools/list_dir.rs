//! `list_dir`: the names in a folder. Which folder may be listed is not here.

use std::{fmt::Write as _, io};

use proto::limits;
use rustix::fs::{Dir, FileType};
use serde::Deserialize;

use crate::beneath::Held;

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the folder."}},"required":["path"],"additionalProperties":false}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pub(super) path: String,
}

pub(super) fn run(held: &Held) -> io::Result<(String, bool)> {
    let mut names = Vec::new();
    for entry in Dir::read_from(held.folder()?)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let slash = if entry.file_type() == FileType::Directory { "/" } else { "" };
        // A name may hold anything but `/` and NUL: line breaks and bytes that are no text are shown as escapes.
        names.push(match name.to_str() {
            Ok(name) if !name.contains(|letter: char| letter.is_control() || letter == '\\') => {
                format!("{name}{slash}")
            }
            _ => format!("{}{slash}", name.to_bytes().escape_ascii()),
        });
    }
    names.sort_unstable();
    let mut content = String::new();
    let total = names.len();
    for (at, name) in names.into_iter().enumerate() {
        if content.len() + name.len() + 64 > limits::RESULT_BYTES {
            write!(content, "[{} further names left out]", total - at).map_err(io::Error::other)?;
            return Ok((content, true));
        }
        content.push_str(&name);
        content.push('\n');
    }
    Ok((content, false))
}
