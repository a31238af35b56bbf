//! The first process of the sandbox: a root with only what a command needs, then no way back, then the command itself.
//!
//! Not in the root: `/run`, the home folders, `/var`, the host's `/tmp`, so that no socket with a path can be reached (Landlock does
//! not cover those before ABI 9). The network namespace is empty, and seccomp refuses new sockets besides.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{fs::symlink, process::CommandExt as _},
    },
    path::Path,
    process::Command,
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::{Gid, Uid, pivot_root, setgid, setgroups, setuid},
};
use rustix::{
    fs::{Mode, OFlags, fstat},
    process::{Resource, Rlimit, Signal, geteuid, set_parent_process_death_signal, setrlimit},
};

use super::{SandboxError, Spec, seccomp};

/// Where the new root is made: a folder that every system has. Its own content is hidden from then on.
const ROOT: &str = "/tmp";
/// Bytes of the command's own `/tmp`.
const TMP_OPTIONS: &str = "size=64m,mode=1777";
/// Folders of programs and libraries, read-only.
const SYSTEM: [&str; 5] = ["usr", "bin", "sbin", "lib", "lib64"];
/// What of `/etc` programs need to start.
const ETC: [&str; 5] = ["ld.so.cache", "alternatives", "localtime", "nsswitch.conf", "ssl/certs"];
/// Devices without state.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// The user that a command of a root broker becomes.
const NOBODY: u32 = 65534;

/// Most memory of one process, bytes.
const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Most bytes of one file.
const FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Most processes and threads of the user.
const PROCESSES: u64 = 256;
/// Most open files of one process.
const OPEN_FILES: u64 = 256;

/// Makes the sandbox around this process and becomes the command. Returns only where that failed.
pub(crate) fn run(spec: &str) -> Result<std::convert::Infallible, SandboxError> {
    let spec: Spec = serde_json::from_str(spec).map_err(SandboxError::Describe)?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| {
        SandboxError::Setup("the parent's death cannot be followed".to_owned(), errno.into())
    })?;
    let cwd = checked_folder(&spec)?;
    make_root(&spec, &cwd)?;
    drop(cwd);
    limit(spec.cpu_s)?;
    if geteuid().is_root() {
        let gone = |errno: nix::Error| SandboxError::Missing("becoming another user", errno.into());
        setgroups(&[]).map_err(gone)?;
        setgid(Gid::from_raw(NOBODY)).map_err(gone)?;
        setuid(Uid::from_raw(NOBODY)).map_err(gone)?;
        // Becoming another user forgets it.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| {
            SandboxError::Setup("the parent's death cannot be followed".to_owned(), errno.into())
        })?;
    }
    restrict(&spec.cwd)?;
    seccomp::apply()?;
    let mut words = spec.argv.iter();
    let program = words.next().map_or("", String::as_str);
    let error = Command::new(program)
        .args(words)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
            ("HOME", "/tmp"),
            ("LANG", "C.UTF-8"),
        ])
        .env("PWD", &spec.cwd)
        .exec();
    Err(SandboxError::Setup(format!("`{}` cannot be started", program.escape_debug()), error))
}

/// The working directory by descriptor: the very folder that was checked.
fn checked_folder(spec: &Spec) -> Result<OwnedFd, SandboxError> {
    let folder = rustix::fs::open(
        spec.cwd.as_str(),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| SandboxError::Setup("the folder cannot be opened".to_owned(), errno.into()))?;
    let stat = fstat(&folder)
        .map_err(|errno| SandboxError::Setup("the folder cannot be looked at".to_owned(), errno.into()))?;
    if (stat.st_dev, stat.st_ino) == spec.folder { Ok(folder) } else { Err(SandboxError::Swapped) }
}

fn make_root(spec: &Spec, cwd: &OwnedFd) -> Result<(), SandboxError> {
    let none: Option<&str> = None;
    let failed = |what: String| move |errno: nix::Error| SandboxError::Setup(what, errno.into());
    let disk = |what: String| move |error: io::Error| SandboxError::Setup(what, error);
    let no_dev = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .map_err(|errno| SandboxError::Missing("mounts of its own", errno.into()))?;
    mount(Some("tmpfs"), ROOT, Some("tmpfs"), no_dev, Some("size=1m,mode=755"))
        .map_err(|errno| SandboxError::Missing("a root of its own (tmpfs)", errno.into()))?;
    for name in SYSTEM {
        let (from, to) = (format!("/{name}"), format!("{ROOT}/{name}"));
        match fs::symlink_metadata(&from) {
            Err(_) => {}
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&from).map_err(disk(format!("{from} cannot be read")))?;
                symlink(target, &to).map_err(disk(format!("{to} cannot be made")))?;
            }
            Ok(_) => bind(&from, &to, true, true)?,
        }
    }
    for name in ETC {
        let (from, to) = (format!("/etc/{name}"), format!("{ROOT}/etc/{name}"));
        if let Ok(found) = fs::metadata(&from) {
            bind(&from, &to, found.is_dir(), true)?;
        }
    }
    for name in DEVICES {
        bind(&format!("/dev/{name}"), &format!("{ROOT}/dev/{name}"), false, false)?;
    }
    for (name, kind, options) in [("proc", "proc", none), ("tmp", "tmpfs", Some(TMP_OPTIONS))] {
        let to = format!("{ROOT}/{name}");
        fs::create_dir(&to).map_err(disk(format!("{to} cannot be made")))?;
        mount(Some(kind), to.as_str(), Some(kind), no_dev, options)
            .map_err(failed(format!("{to} cannot be mounted")))?;
    }
    // The working directory last, so that it may lie below one of the others.
    let to = format!("{ROOT}{}", spec.cwd);
    if !Path::new(&to).is_dir() {
        fs::create_dir_all(&to).map_err(disk(format!("{} cannot be shown in the sandbox", spec.cwd)))?;
    }
    let from = format!("/proc/self/fd/{}", cwd.as_raw_fd());
    mount(Some(from.as_str()), to.as_str(), none, MsFlags::MS_BIND, none)
        .map_err(failed(format!("{} cannot be bound", spec.cwd)))?;
    std::env::set_current_dir(ROOT).map_err(disk("the new root cannot be entered".to_owned()))?;
    fs::create_dir("old").map_err(disk("the old root has no place".to_owned()))?;
    pivot_root(".", "old")
        .map_err(|errno| SandboxError::Missing("a root of its own (pivot_root)", errno.into()))?;
    std::env::set_current_dir("/").map_err(disk("the new root cannot be entered".to_owned()))?;
    umount2("/old", MntFlags::MNT_DETACH).map_err(failed("the old root stays".to_owned()))?;
    fs::remove_dir("/old").map_err(disk("the old root stays".to_owned()))?;
    let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | no_dev;
    mount(none, "/", none, read_only, none).map_err(failed("the new root stays writable".to_owned()))?;
    std::env::set_current_dir(&spec.cwd).map_err(disk("the working directory cannot be entered".to_owned()))
}

fn bind(from: &str, to: &str, folder: bool, read_only: bool) -> Result<(), SandboxError> {
    let none: Option<&str> = None;
    let disk = |error: io::Error| SandboxError::Setup(format!("{to} cannot be made"), error);
    let failed = |errno: nix::Error| SandboxError::Setup(format!("{from} cannot be bound"), errno.into());
    if folder {
        fs::create_dir_all(to).map_err(disk)?;
    } else {
        if let Some(parent) = Path::new(to).parent() {
            fs::create_dir_all(parent).map_err(disk)?;
        }
        fs::File::create(to).map_err(disk)?;
    }
    mount(Some(from), to, none, MsFlags::MS_BIND | MsFlags::MS_REC, none).map_err(failed)?;
    if read_only {
        let flags = MsFlags::MS_REMOUNT
            | MsFlags::MS_BIND
            | MsFlags::MS_RDONLY
            | MsFlags::MS_NOSUID
            | MsFlags::MS_NODEV;
        mount(none, to, none, flags, none).map_err(failed)?;
    }
    Ok(())
}

fn limit(cpu_s: u64) -> Result<(), SandboxError> {
    let limits = [
        (Resource::As, MEMORY_BYTES),
        (Resource::Fsize, FILE_BYTES),
        (Resource::Nproc, PROCESSES),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Cpu, cpu_s),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|errno| SandboxError::Setup("a limit cannot be set".to_owned(), errno.into()))?;
    }
    Ok(())
}

/// Landlock beside the mounts: two independent reasons why nothing outside is written.
fn restrict(cwd: &str) -> Result<(), SandboxError> {
    let abi = ABI::V1;
    let lock = |_| SandboxError::Landlock;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(lock)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessNet::from_all(ABI::V4))
        .map_err(lock)?
        .scope(Scope::from_all(ABI::V6))
        .map_err(lock)?
        .create()
        .map_err(lock)?
        .add_rule(PathBeneath::new(
            PathFd::new("/").map_err(|_| SandboxError::Landlock)?,
            AccessFs::from_read(abi),
        ))
        .map_err(lock)?
        .add_rules(landlock::path_beneath_rules([cwd, "/tmp", "/dev"], AccessFs::from_all(abi)))
        .map_err(lock)?
        .restrict_self()
        .map_err(lock)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => Ok(()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(SandboxError::Landlock)
        }
    }
}
