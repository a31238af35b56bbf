//! Running real programs: to their end with a patience, or in the background until dropped.

use crate::wait::within;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A program to start. Its environment is empty but for `PATH`, so that no test leans on the developer's own.
#[derive(Debug)]
pub struct Program {
    command: Command,
    stdin: Vec<u8>,
    patience: Duration,
}

/// What a program did.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// How long it took.
    pub took: Duration,
}

/// A program in the background; killed by its process id when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    patience: Duration,
    stdout: Pipe,
    stderr: Pipe,
}

#[derive(Debug)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Program {
    /// The program at `path`.
    #[must_use]
    pub fn new(path: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(path);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Self { command, stdin: Vec::new(), patience: Duration::from_secs(60) }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// In this working directory.
    #[must_use]
    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With these bytes on its standard input, which then ends.
    #[must_use]
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = bytes.as_ref().to_vec();
        self
    }

    /// How long to wait for its end; 60 s where nothing is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs it to its end. Panics when it does not end in time.
    #[track_caller]
    #[must_use]
    pub fn run(self) -> Run {
        self.start().wait()
    }

    /// Starts it in the background.
    #[track_caller]
    #[must_use]
    pub fn start(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.command));
        let mut stdin = child.stdin.take().expect("a pipe");
        let bytes = self.stdin;
        // A program may well end without reading its input: that is its own matter.
        drop(std::thread::spawn(move || drop(stdin.write_all(&bytes))));
        let stdout = Pipe::read(child.stdout.take().expect("a pipe"));
        let stderr = Pipe::read(child.stderr.take().expect("a pipe"));
        Running { child, started, patience: self.patience, stdout, stderr }
    }
}

impl Pipe {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                into.lock().expect("no reader panics").extend_from_slice(&buffer[..count]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().expect("no reader panics").clone()
    }

    fn whole(&mut self) -> Vec<u8> {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no reader panics");
        }
        self.so_far()
    }
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output and standard error so far.
    #[must_use]
    pub fn said(&self) -> String {
        let both = [self.stdout.so_far(), self.stderr.so_far()].concat();
        String::from_utf8_lossy(&both).into_owned()
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours")
    }

    /// Waits for its end. Panics when its patience runs out, telling what it said.
    #[track_caller]
    #[must_use]
    pub fn wait(mut self) -> Run {
        let mut ended = None;
        let patience = self.patience.saturating_sub(self.started.elapsed());
        let what = format!("the program {} ends", self.pid());
        within(patience, &what, || {
            ended = self.ended();
            ended.is_some()
        });
        let took = self.started.elapsed();
        let code = ended.and_then(|status| status.code());
        Run { stdout: self.stdout.whole(), stderr: self.stderr.whole(), code, took }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a child that has not been waited for");
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    pub fn kill(&mut self) {
        // An ended child cannot be killed; both ways it is gone afterwards.
        drop(self.child.kill());
        self.child.wait().expect("a child of ours");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Run {
    /// Standard output as text, lossily.
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text, lossily.
    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Panics unless it ended with this code; gives itself on.
    #[track_caller]
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out(), self.err());
        self
    }
}

/// The path of a program in `PATH`, or of the fallback.
#[must_use]
pub(crate) fn in_path(name: &str, fallback: &str) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.map_or_else(|| fallback.into(), std::path::PathBuf::into_os_string)
}
