//! The sandbox of a command: what the broker asks for, and starting it. Applying it is [`outer`]'s and [`inner`]'s, in processes of
//! their own: restrictions must not touch the broker, and a threaded process cannot enter namespaces.
//!
//! broker → `brokerd sandbox` (new namespaces) → `brokerd sandbox-inner` (first process of the new PID namespace: an empty root with
//! only what is needed, Landlock, limits, seccomp) → the command. When any of them dies, everything below dies with it.

use std::{io, os::fd::AsFd, process::Stdio};

use rustix::fs::fstat;
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};

pub(crate) mod inner;
pub(crate) mod outer;
mod seccomp;

/// Name of the broker's hidden command that makes the namespaces.
pub(crate) const OUTER: &str = "sandbox";
/// Name of the one that makes the root and becomes the command.
pub(crate) const INNER: &str = "sandbox-inner";
/// Exit code of a sandbox that could not be made; the reason stands on standard error.
pub(crate) const NO_SANDBOX: u8 = 125;
/// What stands before that reason, so that no command's own words are taken for it.
pub(crate) const MARK: &str = "sealward-sandbox: ";

/// What runs, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Program and arguments; no shell reads them.
    pub(crate) argv: Vec<String>,
    /// Real path of the working directory: the one place that can be written, beside a `/tmp` of its own.
    pub(crate) cwd: String,
    /// Device and inode that were checked; another folder under that name is refused.
    pub(crate) folder: (u64, u64),
    /// Most seconds of processor time.
    pub(crate) cpu_s: u64,
}

/// Why no sandbox could be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("the command cannot be described")]
    Describe(#[source] serde_json::Error),
    #[error("{0}: the kernel or its settings do not allow it")]
    Missing(&'static str, #[source] io::Error),
    #[error("{0}")]
    Setup(String, #[source] io::Error),
    #[error("Landlock is not there or not whole: a kernel of 5.13 or later with Landlock enabled is needed")]
    Landlock,
    #[error("the folder was swapped after it was checked")]
    Swapped,
}

impl Spec {
    /// Describes `argv` in the checked folder `cwd`.
    pub(crate) fn new(argv: Vec<String>, cwd: &str, folder: impl AsFd, cpu_s: u64) -> io::Result<Self> {
        let stat = fstat(folder)?;
        Ok(Self { argv, cwd: cwd.to_owned(), folder: (stat.st_dev, stat.st_ino), cpu_s })
    }

    /// Starts it in a process group of its own, with both outputs going to `output`.
    pub(crate) fn start(&self, output: io::PipeWriter) -> io::Result<Child> {
        let spec = serde_json::to_string(self)?;
        Command::new("/proc/self/exe")
            .args([OUTER, &spec])
            .env_clear()
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
    }
}

/// Tries the whole sandbox with a command that does nothing.
///
/// # Errors
/// What is missing, in words.
pub(crate) async fn probe() -> Result<(), String> {
    let tried = async {
        let folder = std::fs::File::open("/usr")?;
        let spec = Spec::new(vec!["/bin/true".to_owned()], "/usr", &folder, 5)?;
        let (mut read, write) = io::pipe()?;
        let mut child = spec.start(write)?;
        let status = child.wait().await?;
        let mut said = String::new();
        io::Read::read_to_string(&mut read, &mut said)?;
        Ok::<_, io::Error>((status.success(), said))
    };
    match tried.await {
        Ok((true, _)) => Ok(()),
        Ok((false, said)) => Err(said.trim().trim_start_matches(MARK).to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
