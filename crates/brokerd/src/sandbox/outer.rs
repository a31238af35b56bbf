//! The process between broker and sandbox: it makes the namespaces, starts the first process in them and passes its end on.

use std::{
    fs, io,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitCode},
};

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};

use super::{INNER, NO_SANDBOX, SandboxError};

/// Runs the command of `spec` (JSON) in a sandbox; the exit code is the command's, or 128 and the signal that ended it.
pub(crate) fn run(spec: &str) -> Result<ExitCode, SandboxError> {
    let setup = |what: &str| {
        let what = what.to_owned();
        move |errno: rustix::io::Errno| SandboxError::Setup(what, errno.into())
    };
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(setup("the parent's death cannot be followed"))?;
    let (user, group) = (geteuid(), getegid());
    let mut spaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWPID;
    if !user.is_root() {
        spaces |= CloneFlags::CLONE_NEWUSER;
    }
    unshare(spaces).map_err(|errno| {
        let what = if user.is_root() {
            "namespaces (mount, network, IPC, PID)"
        } else {
            "user namespaces (see kernel.unprivileged_userns_clone and AppArmor's restriction of them)"
        };
        SandboxError::Missing(what, errno.into())
    })?;
    if !user.is_root() {
        let map = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| SandboxError::Missing("mapping a user into a namespace", error))
        };
        map("setgroups", "deny".to_owned())?;
        map("uid_map", format!("{0} {0} 1", user.as_raw()))?;
        map("gid_map", format!("{0} {0} 1", group.as_raw()))?;
    }
    let status = Command::new("/proc/self/exe")
        .args([INNER, spec])
        .env_clear()
        .status()
        .map_err(|error| SandboxError::Setup("the first process cannot be started".to_owned(), error))?;
    let code =
        status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(i32::from(NO_SANDBOX));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(NO_SANDBOX)))
}

/// The reason on standard error, behind a mark that no command can be mistaken for.
pub(crate) fn refuse(error: &SandboxError) -> ExitCode {
    use io::Write as _;
    let mut text = format!("{}{error}", super::MARK);
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    // Where even that cannot be said, the exit code says it.
    drop(writeln!(io::stderr(), "{text}"));
    ExitCode::from(NO_SANDBOX)
}
