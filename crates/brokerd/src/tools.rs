//! The tools: names, schemas, what a call would touch, and doing it. Whether it may be done is not here: [`Prepared::run`] takes the
//! authority and the receipt of the record, and there is no other way in.

use audit::Receipt;
use proto::{Digest, broker::ToolInfo, limits};

use crate::{
    beneath::{Held, PathProblem},
    connection::Link,
};

mod edit_file;
mod exec;
mod list_dir;
mod read_file;
mod write_file;

/// What a tool does for a call that may run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It went well.
    Done { content: String, truncated: bool, exit: Option<i32> },
    /// It went wrong.
    Failed { text: String },
}

/// On whose word a call runs. Neither can be made outside `policy` and `proof`, and neither can be copied.
#[derive(Debug)]
pub(crate) enum Power {
    /// A grant's.
    Granted(policy::Granted),
    /// A proof's.
    Authorized(proof::Authorized),
}

/// A call whose arguments were read and whose paths are held. It has no effect yet.
#[derive(Debug)]
pub(crate) enum Prepared {
    EditFile(edit_file::Arguments, Result<Held, PathProblem>),
    Exec(exec::Arguments, Result<Held, PathProblem>),
    ListDir(Result<Held, PathProblem>),
    ReadFile(Result<Held, PathProblem>),
    WriteFile(write_file::Arguments, Result<Held, PathProblem>),
}

/// Why a call is none of any tool's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoCall {
    /// There is no such tool.
    UnknownTool,
    /// Its arguments break the tool's schema.
    BadArguments(String),
}

struct Row {
    name: &'static str,
    description: &'static str,
    schema: &'static str,
    prepare: fn(&str) -> Result<Prepared, serde_json::Error>,
}

const TOOLS: &[Row] = &[
    Row {
        name: "read_file",
        description: "Read a text file.",
        schema: read_file::SCHEMA,
        prepare: |arguments| {
            let arguments: read_file::Arguments = serde_json::from_str(arguments)?;
            let held = Held::open(&arguments.path);
            Ok(Prepared::ReadFile(held))
        },
    },
    Row {
        name: "list_dir",
        description: "List the files of a folder, one a line, folders with a slash.",
        schema: list_dir::SCHEMA,
        prepare: |arguments| {
            let arguments: list_dir::Arguments = serde_json::from_str(arguments)?;
            Ok(Prepared::ListDir(Held::open(&arguments.path)))
        },
    },
    Row {
        name: "write_file",
        description: "Write a text file, replacing the whole of what stood there.",
        schema: write_file::SCHEMA,
        prepare: |arguments| {
            let arguments: write_file::Arguments = serde_json::from_str(arguments)?;
            let held = Held::open(&arguments.path);
            Ok(Prepared::WriteFile(arguments, held))
        },
    },
    Row {
        name: "edit_file",
        description: "Replace a text that occurs exactly once in a file.",
        schema: edit_file::SCHEMA,
        prepare: |arguments| {
            let arguments: edit_file::Arguments = serde_json::from_str(arguments)?;
            let held = Held::open(&arguments.path);
            Ok(Prepared::EditFile(arguments, held))
        },
    },
    Row {
        name: "exec",
        description: "Run a program in a sandbox without network; it may change its folder only.",
        schema: exec::SCHEMA,
        prepare: |arguments| {
            let arguments = serde_json::from_str::<exec::Arguments>(arguments)?.check()?;
            let held = Held::open(&arguments.cwd);
            Ok(Prepared::Exec(arguments, held))
        },
    },
];

/// The tools as a model reads them.
pub(crate) fn list() -> Vec<ToolInfo> {
    TOOLS
        .iter()
        .filter_map(|row| {
            Some(ToolInfo {
                name: row.name.to_owned(),
                description: row.description.to_owned(),
                parameters: serde_json::from_str(row.schema).ok()?,
            })
        })
        .collect()
}

/// Reads a call's arguments and holds its paths. Nothing is read or changed.
pub(crate) fn prepare(tool: &str, arguments: &str) -> Result<Prepared, NoCall> {
    let row = TOOLS.iter().find(|row| row.name == tool).ok_or(NoCall::UnknownTool)?;
    if arguments.len() > limits::ARGUMENTS_BYTES {
        let detail = format!("over the limit of {} bytes", limits::ARGUMENTS_BYTES);
        return Err(NoCall::BadArguments(detail));
    }
    (row.prepare)(arguments).map_err(|error| NoCall::BadArguments(error.to_string()))
}

impl Prepared {
    fn held(&self) -> &Result<Held, PathProblem> {
        match self {
            Self::EditFile(_, held)
            | Self::Exec(_, held)
            | Self::ListDir(held)
            | Self::ReadFile(held)
            | Self::WriteFile(_, held) => held,
        }
    }

    /// Where the call's one path really is.
    pub(crate) fn real(&self) -> Option<String> {
        self.held().as_ref().ok().map(|held| held.real().to_owned())
    }

    /// Why its path cannot be used, where that is so.
    pub(crate) fn problem(&self) -> Option<PathProblem> {
        self.held().as_ref().err().copied()
    }

    /// Does it: with an authority for exactly this item, and after its record is durable.
    pub(crate) async fn run(self, item: Digest, power: Power, receipt: Receipt, link: &Link) -> Ran {
        let fits = match &power {
            Power::Granted(granted) => proof::item_hash(granted.item()) == item,
            Power::Authorized(authorized) => authorized.item() == item,
        };
        if !fits {
            return Ran::Failed { text: "the authority is for another call".to_owned() };
        }
        // Both are spent here.
        drop((power, receipt));
        let outcome = match self {
            Self::EditFile(arguments, Ok(held)) => edit_file::run(&arguments, &held).map(Ran::from),
            Self::Exec(arguments, Ok(held)) => exec::run(arguments, &held, link).await,
            Self::ListDir(Ok(held)) => list_dir::run(&held).map(Ran::from),
            Self::ReadFile(Ok(held)) => read_file::run(&held).map(Ran::from),
            Self::WriteFile(arguments, Ok(held)) => write_file::run(&arguments, &held).map(Ran::from),
            Self::EditFile(_, Err(problem))
            | Self::Exec(_, Err(problem))
            | Self::ListDir(Err(problem))
            | Self::ReadFile(Err(problem))
            | Self::WriteFile(_, Err(problem)) => Err(problem.into()),
        };
        outcome.unwrap_or_else(|error| Ran::Failed { text: format!("It went wrong: {error}.") })
    }
}

impl From<(String, bool)> for Ran {
    fn from((content, truncated): (String, bool)) -> Self {
        Self::Done { content, truncated, exit: None }
    }
}

/// Replaces `name` in `folder` with `bytes`, at once or not at all.
fn replace(folder: &std::os::fd::OwnedFd, name: &str, bytes: &[u8], new: bool) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
    use std::io::Write as _;

    let mut random = [0_u8; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let beside = format!(".sealward-{:016x}", u64::from_be_bytes(random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = if new {
        Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH
    } else {
        Mode::from_raw_mode(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o777)
    };
    let outcome = openat(folder, &beside, flags, mode).map_err(std::io::Error::from).and_then(|file| {
        let mut file = std::fs::File::from(file);
        file.write_all(bytes)?;
        file.sync_all()?;
        let how = if new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        renameat_with(folder, &beside, folder, name, how)?;
        Ok(())
    });
    if outcome.is_err() {
        // The half-made file has a name of its own; where it cannot be removed either, that error says more.
        match unlinkat(folder, &beside, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    outcome
}

#[cfg(test)]
mod tests;
