//! `edit_file`: one text for another, where it occurs exactly once. Which file may be edited is not here.

use std::io::{self, Read as _};

use proto::limits;
use serde::Deserialize;

use super::replace;
use crate::beneath::Held;

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the file."},"old":{"type":"string","description":"Occurs exactly once in the file."},"new":{"type":"string"}},"required":["path","old","new"],"additionalProperties":false}"#;

/// Bytes of a file that is edited: it is read and written whole.
const FILE_BYTES: u64 = 16 * 1024 * 1024;

const _: () = assert!(limits::ARGUMENTS_BYTES < 16 * 1024 * 1024, "a file that was written can be edited");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pub(super) path: String,
    old: String,
    new: String,
}

pub(super) fn run(arguments: &Arguments, held: &Held) -> io::Result<(String, bool)> {
    let mut text = String::new();
    let read = held.read()?.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > FILE_BYTES {
        return Err(io::Error::other(format!("the file is over {FILE_BYTES} bytes")));
    }
    if arguments.old.is_empty() {
        return Err(io::Error::other("`old` is empty; use write_file for a new file"));
    }
    let mut places = text.match_indices(&arguments.old);
    match (places.next(), places.next()) {
        (Some((at, old)), None) => {
            let (before, after) = (text.get(..at), text.get(at + old.len()..));
            let edited = [before.unwrap_or_default(), &arguments.new, after.unwrap_or_default()].concat();
            let (folder, name) = held.replace()?;
            replace(&folder, &name, edited.as_bytes(), false)?;
            Ok(("1 place changed.".to_owned(), false))
        }
        (None, _) => Err(io::Error::other("the text does not occur in the file")),
        (Some(_), Some(_)) => Err(io::Error::other("the text occurs more than once")),
    }
}
