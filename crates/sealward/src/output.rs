//! The one place that prints: results on stdout, words for a person on stderr, an error chain once at the end.
//!
//! Exit codes are an interface: 0 done, 1 refused, denied or a finding, 2 wrong use, 3 could not (disk, network, hub).

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Exit {
    /// Done as asked.
    Done,
    /// A denial, a refusal, or a finding: the command worked and the answer is no.
    Refused,
    /// Wrong use of the command line.
    Usage,
    /// A code that another contract fixes: a child's, or an agent's hook protocol.
    Other(u8),
}

/// Why a command did not end well: the code and the error whose chain is printed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Exit 1: what was asked was refused, and the error says why.
    pub(crate) fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 1, error: error.into() }
    }

    /// Exit 2: the command line or a file it names is wrong.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 2, error: error.into() }
    }

    /// The same failure with another exit code, for callers whose code is another program's contract.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Exit 3: disk, network or hub would not.
    pub(crate) fn cannot(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 3, error: error.into() }
    }
}

/// stdout and stderr. A failed write is kept and reported by [`Output::finish`], so that commands need not care.
#[derive(Debug)]
pub(crate) struct Output {
    broken: Option<io::Error>,
}

impl Output {
    /// The process's own stdout and stderr.
    pub(crate) fn standard() -> Self {
        Self { broken: None }
    }

    /// One line of result on stdout.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        let wrote = self.raw(format!("{text}\n").as_bytes());
        self.keep(wrote);
    }

    /// One JSON value on one line of stdout.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        let wrote = serde_json::to_vec(value).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            self.raw(&bytes)
        });
        self.keep(wrote);
    }

    /// Exactly these bytes on stdout, for callers to whom a lost answer matters at once.
    ///
    /// # Errors
    /// The write or the flush failed.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// One line for a person on stderr. It cannot fail: there is nowhere left to say so.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// An error that does not end the command: its chain, on stderr.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) {
        self.note(format_args!("sealward: {}", Chain(error)));
    }

    /// Help, version or a wrong command line, as clap words it.
    pub(crate) fn usage(&mut self, wrong: &clap::Error) -> Exit {
        let wrote = wrong.print();
        if wrong.use_stderr() {
            Exit::Usage
        } else {
            self.keep(wrote);
            Exit::Done
        }
    }

    /// Prints the error chain, once, and turns the ending into an exit code.
    pub(crate) fn finish(mut self, ended: Result<Exit, Failure>) -> ExitCode {
        let ended = match (ended, self.broken.take()) {
            (Ok(Exit::Done), Some(source)) => Err(Failure::cannot(Unwritten { source })),
            (ended, _) => ended,
        };
        match ended {
            Ok(Exit::Done) => ExitCode::SUCCESS,
            Ok(Exit::Refused) => ExitCode::from(1),
            Ok(Exit::Usage) => ExitCode::from(2),
            Ok(Exit::Other(code)) => ExitCode::from(code),
            Err(failure) => {
                self.note(format_args!("sealward: {}", Chain(failure.error.as_ref())));
                ExitCode::from(failure.code)
            }
        }
    }

    fn keep(&mut self, wrote: io::Result<()>) {
        if let Err(error) = wrote {
            self.broken.get_or_insert(error);
        }
    }
}

/// Standard output is closed or full, so the result did not reach its reader.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
struct Unwritten {
    source: io::Error,
}

/// Prints `outer: middle: inner` by walking `source()`.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
