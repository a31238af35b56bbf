//! Paths of a call, opened once: what is checked is the descriptor that is used. Whether a path may be used is `policy`'s.
//!
//! A path is opened with `O_PATH`, which touches neither content nor device, and never through a magic link such as
//! `/proc/self/root`. The descriptor's own name says where it really is; grants are held against that. Whoever swaps a link or a
//! folder afterwards changes nothing: the descriptor stays what was checked.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlink},
    io::Errno,
};

/// `openat2` says that a folder was renamed under it; then it is asked again this often.
const TRIES: u32 = 16;

/// A path that was opened and not yet used.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where it really is, without links.
    real: String,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// It exists.
    There(OwnedFd),
    /// Its folder exists; it does not.
    Missing { folder: OwnedFd, name: String },
}

/// Why a path cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathProblem {
    #[error("the path must be absolute")]
    Relative,
    #[error("the path goes through a link that the system makes up (such as /proc/self/root)")]
    MagicLink,
    #[error("its folder does not exist")]
    NoFolder,
    #[error("it cannot be opened by this broker ({0})")]
    System(Errno),
    #[error("its real name is not UTF-8")]
    NotUtf8,
    #[error("it is a folder")]
    Folder,
    #[error("it is no folder")]
    NotFolder,
    #[error("it is a FIFO, a socket or a device, and only regular files are opened")]
    Special,
    #[error("it has several names (hard links), so that its folder does not say what it is")]
    HardLink,
    #[error("it does not exist")]
    Missing,
}

impl Held {
    /// Opens `path`, which need not exist itself, but its folder must.
    pub(crate) fn open(path: &str) -> Result<Self, PathProblem> {
        if !path.starts_with('/') {
            return Err(PathProblem::Relative);
        }
        match open_path(path) {
            Ok(fd) => Ok(Self { real: real_name(&fd)?, target: Target::There(fd) }),
            Err(Errno::NOENT) => Self::missing(path),
            Err(errno) => Err(problem(errno)),
        }
    }

    fn missing(path: &str) -> Result<Self, PathProblem> {
        let (folder, name) = path.trim_end_matches('/').rsplit_once('/').ok_or(PathProblem::NoFolder)?;
        if name.is_empty() || name == "." || name == ".." {
            return Err(PathProblem::NoFolder);
        }
        let folder =
            open_path(if folder.is_empty() { "/" } else { folder }).map_err(|errno| match errno {
                Errno::NOENT => PathProblem::NoFolder,
                other => problem(other),
            })?;
        // A dangling link is there, although what it points at is not: following it would write somewhere else.
        let link = rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        if link.is_ok() {
            return Err(PathProblem::Missing);
        }
        let real = real_name(&folder)?;
        let real = format!("{}/{name}", real.trim_end_matches('/'));
        Ok(Self { real, target: Target::Missing { folder, name: name.to_owned() } })
    }

    /// Where it really is.
    pub(crate) fn real(&self) -> &str {
        &self.real
    }

    /// Opens the held file for reading: a regular file with one name.
    pub(crate) fn read(&self) -> Result<File, PathProblem> {
        let Target::There(fd) = &self.target else { return Err(PathProblem::Missing) };
        single_regular(fd)?;
        reopen(fd, OFlags::RDONLY | OFlags::NONBLOCK).map(File::from)
    }

    /// Opens the held folder for listing.
    pub(crate) fn folder(&self) -> Result<OwnedFd, PathProblem> {
        let Target::There(fd) = &self.target else { return Err(PathProblem::Missing) };
        if file_type(&stat(fd)?) != FileType::Directory {
            return Err(PathProblem::NotFolder);
        }
        reopen(fd, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The folder and name to replace, after checking that what stands there now is a regular file with one name or nothing.
    pub(crate) fn replace(&self) -> Result<(OwnedFd, String), PathProblem> {
        match &self.target {
            Target::Missing { folder, name } => {
                Ok((reopen(folder, OFlags::RDONLY | OFlags::DIRECTORY)?, name.clone()))
            }
            Target::There(fd) => {
                single_regular(fd)?;
                let (folder, name) = self.real.rsplit_once('/').ok_or(PathProblem::NoFolder)?;
                let folder = open_path(if folder.is_empty() { "/" } else { folder }).map_err(problem)?;
                // The real name was free of links when it was checked. If one of its folders is a link now, somebody moved it.
                if real_name(&folder)?
                    != self.real.rsplit_once('/').map_or("/", |(folder, _)| non_empty(folder))
                {
                    return Err(PathProblem::Missing);
                }
                let there = rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(problem)?;
                let held = stat(fd)?;
                if (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino) {
                    return Err(PathProblem::Missing);
                }
                let name = name.to_owned();
                Ok((reopen(&folder, OFlags::RDONLY | OFlags::DIRECTORY)?, name))
            }
        }
    }

    /// Whether the held path exists.
    pub(crate) fn exists(&self) -> bool {
        matches!(self.target, Target::There(_))
    }
}

const fn non_empty(folder: &str) -> &str {
    if folder.is_empty() { "/" } else { folder }
}

fn open_path(path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let mut tries = TRIES;
    loop {
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
            Err(Errno::AGAIN | Errno::INTR) if tries > 0 => tries -= 1,
            other => return other,
        }
    }
}

/// Opens the very inode again, with rights. The descriptor's entry below /proc is a magic link of our own making.
fn reopen(fd: &OwnedFd, flags: OFlags) -> Result<OwnedFd, PathProblem> {
    use std::os::fd::AsRawFd as _;
    let name = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::open(name, flags | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).map_err(problem)
}

fn real_name(fd: &OwnedFd) -> Result<String, PathProblem> {
    use std::os::fd::AsRawFd as _;
    let link = readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new()).map_err(problem)?;
    let name = link.into_string().map_err(|_| PathProblem::NotUtf8)?;
    // A file that was removed after it was opened has no place any more.
    let removed = name.ends_with(" (deleted)") && !Path::new(&name).exists();
    if removed || !name.starts_with('/') {
        return Err(PathProblem::Missing);
    }
    Ok(name)
}

fn single_regular(fd: &impl AsFd) -> Result<(), PathProblem> {
    let stat = stat(fd)?;
    match file_type(&stat) {
        FileType::RegularFile if stat.st_nlink > 1 => Err(PathProblem::HardLink),
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(PathProblem::Folder),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(PathProblem::Special),
    }
}

fn stat(fd: &impl AsFd) -> Result<Stat, PathProblem> {
    fstat(fd).map_err(problem)
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn problem(errno: Errno) -> PathProblem {
    match errno {
        Errno::LOOP => PathProblem::MagicLink,
        Errno::NOENT => PathProblem::Missing,
        Errno::NOTDIR => PathProblem::NotFolder,
        other => PathProblem::System(other),
    }
}

impl From<PathProblem> for io::Error {
    fn from(problem: PathProblem) -> Self {
        Self::other(problem)
    }
}

#[cfg(test)]
mod tests;
