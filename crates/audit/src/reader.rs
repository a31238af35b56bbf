//! Reading records for people: the lines of a log, newest or oldest first, without judging them (`verify` does).

use std::{fs, io, path::Path};

use crate::segment;

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The disk failed or the folder is not there.
    #[error("the log cannot be read")]
    Disk(#[source] io::Error),
    /// A segment is missing.
    #[error("segment `{0}` is missing")]
    Missing(String),
}

/// Calls `each` with the text of every whole line, in the order of the log.
///
/// # Errors
/// [`ReadError`]. A line that is not UTF-8 is given with its bad bytes replaced: it is shown, and `verify` names it.
pub fn records(folder: &Path, mut each: impl FnMut(&str)) -> Result<(), ReadError> {
    let names: Vec<String> = fs::read_dir(folder)
        .map_err(ReadError::Disk)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    for segment in segment::ordered(&names).map_err(|missing| ReadError::Missing(missing.name()))? {
        let bytes = fs::read(folder.join(segment.name())).map_err(ReadError::Disk)?;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Some(line) = line.strip_suffix(b"\n") {
                each(&String::from_utf8_lossy(line));
            }
        }
    }
    Ok(())
}
