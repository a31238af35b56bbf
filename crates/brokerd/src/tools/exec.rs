//! `exec`: a program with its arguments, no shell, in the sandbox; the middle of a long output is left out and that is said. Which
//! command may run is not here.

use std::{io, time::Duration};

use proto::{broker::CallEvent, limits};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use tokio::{io::AsyncReadExt as _, net::unix::pipe, time};

use super::Ran;
use crate::{beneath::Held, connection::Link, sandbox};

pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"Program and arguments; no shell reads them."},"cwd":{"type":"string","description":"Absolute path of the folder it runs in, which it may change."},"timeout_s":{"type":"integer","minimum":1,"maximum":600}},"required":["argv","cwd"],"additionalProperties":false}"#;

/// Where nothing is said.
const TIMEOUT_S: u64 = 60;
/// Longest run.
const TIMEOUT_S_MAX: u64 = 600;
/// Bytes of output after which a command is ended: 256 times what is kept of it.
const OUTPUT_BYTES: usize = 256 * limits::RESULT_BYTES;
/// Words in an argv.
const WORDS: usize = 1024;
/// How long the pipe may stay open after everything was killed.
const DRAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    argv: Vec<String>,
    pub(super) cwd: String,
    #[serde(default)]
    timeout_s: Option<u64>,
}

impl Arguments {
    /// What the schema says beyond shapes.
    pub(super) fn check(self) -> Result<Self, serde_json::Error> {
        use serde::de::Error as _;
        let bad = serde_json::Error::custom;
        if self.argv.first().is_none_or(String::is_empty) || self.argv.len() > WORDS {
            return Err(bad(format!("`argv` has 1 to {WORDS} words, and the first is a program")));
        }
        if self.argv.iter().any(|word| word.contains('\0')) {
            return Err(bad("a word of `argv` holds a NUL".to_owned()));
        }
        if self.timeout_s.is_some_and(|seconds| !(1..=TIMEOUT_S_MAX).contains(&seconds)) {
            return Err(bad(format!("`timeout_s` is 1 to {TIMEOUT_S_MAX}")));
        }
        Ok(self)
    }
}

/// Why a command was ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Cancelled,
    Output,
    TimedOut,
}

pub(super) async fn run(arguments: Arguments, held: &Held, link: &Link) -> io::Result<Ran> {
    let seconds = arguments.timeout_s.unwrap_or(TIMEOUT_S);
    let spec = sandbox::Spec::new(arguments.argv, held.real(), held.folder()?, seconds)?;
    let (read, write) = io::pipe()?;
    let mut child = spec.start(write)?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut output = pipe::Receiver::from_owned_fd(read.into())?;
    let mut kept = Kept::default();
    let cut = tokio::select! {
        biased;
        () = link.cancelled() => Some(Cut::Cancelled),
        () = time::sleep(Duration::from_secs(seconds)) => Some(Cut::TimedOut),
        outcome = kept.read(&mut output, link) => (!outcome?).then_some(Cut::Output),
    };
    if cut.is_some()
        && let Some(group) = group
    {
        // It may have ended in this very moment.
        match kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let status =
        time::timeout(DRAIN, child.wait()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let said = kept.text();
    let (content, truncated) = match cut {
        None => (said, kept.left_out > 0),
        Some(Cut::Cancelled) => (format!("{said}\n[ended: the call was withdrawn]"), true),
        Some(Cut::Output) => (format!("{said}\n[ended: over {OUTPUT_BYTES} bytes of output]"), true),
        Some(Cut::TimedOut) => (format!("{said}\n[ended: {seconds} s were over]"), true),
    };
    if status.code() == Some(i32::from(sandbox::NO_SANDBOX)) && content.starts_with(sandbox::MARK) {
        return Ok(Ran::Failed { text: content });
    }
    let exit = status.code();
    let end = exit.map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
    Ok(Ran::Done { content: format!("{content}\n[{end}]"), truncated, exit })
}

/// Head and tail of an output.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: usize,
    total: usize,
}

impl Kept {
    /// Reads to the end; `false` where it was too much.
    async fn read(&mut self, output: &mut pipe::Receiver, link: &Link) -> io::Result<bool> {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let count = output.read(&mut piece).await?;
            let bytes = piece.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(true);
            }
            if self.left_out == 0 {
                link.event(CallEvent::Output { text: String::from_utf8_lossy(bytes).into_owned() });
            }
            self.take(bytes);
            if self.total > OUTPUT_BYTES {
                return Ok(false);
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let half = limits::RESULT_BYTES / 2 - 1024;
        self.total = self.total.saturating_add(bytes.len());
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        let over = self.tail.len().saturating_sub(half);
        self.tail.drain(..over);
        self.left_out = self.left_out.saturating_add(over);
    }

    fn text(&self) -> String {
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        match self.left_out {
            0 => format!("{head}{tail}"),
            left_out => format!("{head}\n[{left_out} bytes left out here]\n{tail}"),
        }
    }
}
