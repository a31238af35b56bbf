//! The terminal a person sits at: where questions are asked whose answer must not come from a pipe or a program's arguments.
//!
//! A terminal is stdin when stdin is one, otherwise the controlling terminal. Whoever owns the user's terminals can
//! type there; that limit is named in `docs/threats.md`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::sync::mpsc::Sender;
use std::thread;

/// An answer is a word or a fingerprint; a longer line is not one.
const LINE_MAX: u64 = 1024;

/// An open terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    reads: File,
    writes: File,
}

/// No person can be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TerminalError {
    /// Neither stdin nor the process has a terminal.
    #[error("there is no terminal to ask at; run this where a person can type the answer")]
    None {
        /// What the system said.
        source: io::Error,
    },
    /// The terminal went away.
    #[error("the terminal cannot be read or written")]
    Lost {
        /// What the system said.
        source: io::Error,
    },
}

impl Terminal {
    /// Opens the terminal.
    ///
    /// # Errors
    /// [`TerminalError::None`] in a pipe, a unit or a container without one.
    pub(crate) fn open() -> Result<Self, TerminalError> {
        let stdin = io::stdin();
        let name = if stdin.is_terminal() { "/dev/stdin" } else { "/dev/tty" };
        let open = || -> io::Result<Self> {
            let reads = OpenOptions::new().read(true).write(true).open(name)?;
            let writes = reads.try_clone()?;
            Ok(Self { reads, writes })
        };
        open().map_err(|source| TerminalError::None { source })
    }

    /// Shows text as it stands, without a line break of its own.
    ///
    /// # Errors
    /// [`TerminalError::Lost`].
    pub(crate) fn show(&mut self, text: &str) -> Result<(), TerminalError> {
        self.writes
            .write_all(text.as_bytes())
            .and_then(|()| self.writes.flush())
            .map_err(|source| TerminalError::Lost { source })
    }

    /// Waits for one line; nothing where the input ended.
    ///
    /// # Errors
    /// [`TerminalError::Lost`].
    pub(crate) fn line(&self) -> Result<Option<String>, TerminalError> {
        let reads = self.reads.try_clone().map_err(|source| TerminalError::Lost { source })?;
        Ok(next_line(&mut BufReader::new(reads)))
    }

    /// Reads lines on a thread of its own for as long as the process lives, and hands each over.
    ///
    /// # Errors
    /// [`TerminalError::Lost`].
    pub(crate) fn lines<E>(
        &self,
        events: Sender<E>,
        wrap: fn(Option<String>) -> E,
    ) -> Result<(), TerminalError>
    where
        E: Send + 'static,
    {
        let reads = self.reads.try_clone().map_err(|source| TerminalError::Lost { source })?;
        thread::spawn(move || {
            let mut reads = BufReader::new(reads);
            loop {
                let line = next_line(&mut reads);
                let ended = line.is_none();
                if events.send(wrap(line)).is_err() || ended {
                    return;
                }
            }
        });
        Ok(())
    }
}

/// The next line without its end, or nothing at the end of input. Over-long and non-UTF-8 lines read as an empty answer.
fn next_line(reads: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = reads.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if bytes.last() != Some(&b'\n') && u64::try_from(read) == Ok(LINE_MAX) {
        reads.skip_until(b'\n').ok()?;
        return Some(String::new());
    }
    Some(String::from_utf8(bytes).map(|line| line.trim().to_owned()).unwrap_or_default())
}
