//! A real terminal for programs that ask a person: a pseudo terminal whose other end is the test.

use crate::program::in_path;
use crate::wait::within;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A program on a terminal of its own; killed by its process id when dropped.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts `program` with its controlling terminal, standard input, output and error on a new pseudo terminal.
    #[track_caller]
    #[must_use]
    pub fn start<S: AsRef<std::ffi::OsStr>>(
        program: impl AsRef<std::ffi::OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo terminal");
        grantpt(&master).expect("its other end");
        unlockpt(&master).expect("its other end");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let open = || {
            let path = std::ffi::OsStr::from_bytes(name.as_bytes());
            File::options().read(true).write(true).open(path).expect("its other end")
        };
        // Taking a controlling terminal needs a call between fork and exec; `setsid --ctty` (util-linux) makes it for us.
        let mut command = Command::new(in_path("setsid", "/usr/bin/setsid"));
        command.arg("--ctty").arg(program).args(args);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "dumb");
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        let child = command.spawn().expect("setsid and the program");
        drop(command);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let keyboard = File::from(master.try_clone().expect("a second handle"));
        read_screen(master, Arc::clone(&screen));
        Self { child, keyboard, screen }
    }

    /// Everything it has written so far.
    #[must_use]
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("no reader panics")).into_owned()
    }

    /// Waits until its screen holds this text; gives the whole screen.
    #[track_caller]
    #[must_use]
    pub fn shows(&self, text: &str) -> String {
        let what = format!("the terminal shows `{text}`");
        let shown = std::panic::AssertUnwindSafe(|| {
            within(Duration::from_secs(20), &what, || self.screen().contains(text))
        });
        if let Err(cause) = std::panic::catch_unwind(shown) {
            panic!(
                "{}; its screen:\n{}",
                cause.downcast_ref::<String>().map_or("", String::as_str),
                self.screen()
            );
        }
        self.screen()
    }

    /// Types a line.
    pub fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the terminal");
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end as Ctrl-C or a service manager would, and waits for that.
    #[track_caller]
    pub fn stop(&mut self) -> std::process::ExitStatus {
        self.terminate();
        self.ends()
    }

    /// Waits until it ends by itself.
    #[track_caller]
    pub fn ends(&mut self) -> std::process::ExitStatus {
        let mut ended = None;
        within(Duration::from_secs(20), "the program on the terminal ends", || {
            ended = self.child.try_wait().expect("a child of ours");
            ended.is_some()
        });
        ended.expect("it ended")
    }

    /// Sends `TERM`; one that has ended already needs none.
    fn terminate(&self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .ok();
    }
}

fn read_screen(master: OwnedFd, into: Arc<Mutex<Vec<u8>>>) {
    let mut master = File::from(master);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // The read fails once the last program on the terminal has gone.
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            into.lock().expect("no reader panics").extend_from_slice(&buffer[..count]);
        }
    });
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // `TERM` first, so that a parent can end its own children; then certainty.
        self.terminate();
        let gone = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            within(Duration::from_secs(5), "the program on the terminal ends", || {
                matches!(self.child.try_wait(), Ok(Some(_)))
            });
        }));
        if gone.is_err() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
