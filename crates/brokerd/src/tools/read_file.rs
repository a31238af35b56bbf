//! `read_file`: a file's text, or its head and tail where it is over the limit. Which file may be read is not here.

use std::{
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
};

use proto::limits;
use serde::Deserialize;

use crate::beneath::Held;

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the file."}},"required":["path"],"additionalProperties":false}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pub(super) path: String,
}

pub(super) fn run(held: &Held) -> io::Result<(String, bool)> {
    let mut file = held.read()?;
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if size <= limits::RESULT_BYTES {
        let mut bytes = Vec::with_capacity(size);
        // The file may grow while it is read; then it is cut at the limit, and that is said.
        let limit = u64::try_from(limits::RESULT_BYTES).unwrap_or(u64::MAX);
        (&mut file).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() <= limits::RESULT_BYTES {
            return Ok((text(bytes), false));
        }
    }
    let half = limits::RESULT_BYTES / 2;
    let mut head = vec![0; half];
    let mut tail = vec![0; half];
    file.read_exact_at(&mut head, 0)?;
    file.read_exact_at(&mut tail, u64::try_from(size.saturating_sub(half)).unwrap_or(u64::MAX))?;
    let left_out = size.saturating_sub(2 * half);
    Ok((format!("{}\n[{left_out} bytes left out here]\n{}", text(head), text(tail)), true))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
}
