//! The folder everything of one machine user lives in, and the names inside it. What is in them is the
//! business of the modules below.
//!
//! `~` comes from the user database, never from `$HOME`: an agent may set its own environment, and a hook that
//! followed it would read the agent's pins.

pub(crate) mod files;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod pins;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::output::Failure;

/// The folder (`--home DIR`, or the default below the user's own).
#[derive(Clone, Debug)]
pub(crate) struct Home {
    dir: PathBuf,
}

/// The user's folder cannot be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoHome {
    /// Neither /etc/passwd nor the name service knows the user.
    #[error("user {uid} has no absolute home folder in the user database; give --home DIR")]
    NotListed { uid: u32 },
    /// A relative `--home` needs a working directory to stand on.
    #[error("the working directory cannot be read; give --home as an absolute path")]
    NoDirectory {
        /// What the system said.
        source: std::io::Error,
    },
}

impl Home {
    /// The given folder made absolute, or `~/.local/share/sealward`.
    ///
    /// # Errors
    /// The user is not in the user database and no folder was given.
    pub(crate) fn choose(given: Option<PathBuf>) -> Result<Self, Failure> {
        let dir = match given {
            Some(dir) => {
                std::path::absolute(dir).map_err(|source| Failure::cannot(NoHome::NoDirectory { source }))?
            }
            None => user_folder().map_err(Failure::cannot)?.join(".local/share/sealward"),
        };
        Ok(Self { dir })
    }

    /// The folder itself.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every folder that `up` makes. The replay store is not among them: it is born with the first pin, and a
    /// checker must be able to tell an empty one from a lost one.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let hub = self.hub();
        let proposals = self.proposals();
        vec![
            self.dir.clone(),
            self.dir.join("grants"),
            self.dir.join("kept"),
            self.dir.join("broker"),
            self.dir.join("broker/grants"),
            hub,
            proposals,
        ]
    }

    /// The executors' configuration.
    pub(crate) fn executor_config(&self) -> PathBuf {
        self.dir.join("executor.toml")
    }

    /// The keys whose approvals the executors of this machine take.
    pub(crate) fn pins(&self) -> PathBuf {
        self.dir.join("approvers.json")
    }

    /// Where the executors remember what was used.
    pub(crate) fn replay(&self) -> PathBuf {
        self.dir.join("replay")
    }

    /// The broker's log.
    pub(crate) fn audit(&self) -> PathBuf {
        self.dir.join("audit")
    }

    /// The broker's configuration.
    pub(crate) fn broker_config(&self) -> PathBuf {
        self.dir.join("broker/brokerd.toml")
    }

    /// The broker's token.
    pub(crate) fn broker_token(&self) -> PathBuf {
        self.dir.join("broker/token")
    }

    /// The hook's token.
    pub(crate) fn token(&self) -> PathBuf {
        self.dir.join("token")
    }

    /// The hub's own folder.
    pub(crate) fn hub(&self) -> PathBuf {
        self.dir.join("hub")
    }

    /// The hub's configuration.
    pub(crate) fn hub_config(&self) -> PathBuf {
        self.hub().join("hub.toml")
    }

    /// The hub's name, made once.
    pub(crate) fn hub_name(&self) -> PathBuf {
        self.hub().join("name")
    }

    /// The keys whose signatures the hub takes.
    pub(crate) fn hub_pins(&self) -> PathBuf {
        self.hub().join("approvers.json")
    }

    /// The open enrolment.
    pub(crate) fn enrolment(&self) -> PathBuf {
        self.hub().join("enrol.json")
    }

    /// Keys that devices proposed.
    pub(crate) fn proposals(&self) -> PathBuf {
        self.hub().join("proposals")
    }
}

/// The home folder of the user this process runs as.
///
/// # Errors
/// [`NoHome`] where neither the user database nor a directory service has one.
pub(crate) fn user_folder() -> Result<PathBuf, NoHome> {
    let uid = rustix::process::getuid().as_raw();
    let listed = fs::read_to_string("/etc/passwd").unwrap_or_default();
    folder_of(uid, &listed)
        // Directory services (LDAP, macOS) keep users elsewhere. Absolute names: no search path is followed.
        .or_else(|| folder_of(uid, &ask("/usr/bin/getent", &["passwd", &uid.to_string()])))
        .or_else(|| folder_of(uid, &ask("/usr/bin/id", &["-P", &uid.to_string()])))
        .ok_or(NoHome::NotListed { uid })
}

/// What a system program prints, or nothing where it is missing or fails.
fn ask(program: &str, args: &[&str]) -> String {
    Command::new(program)
        .args(args)
        .output()
        .ok()
        .filter(|ended| ended.status.success())
        .and_then(|ended| String::from_utf8(ended.stdout).ok())
        .unwrap_or_default()
}

/// The home folder of `uid` in text of passwd's form: third field the number, last but one the folder
/// (Linux has seven fields, macOS ten).
fn folder_of(uid: u32, passwd: &str) -> Option<PathBuf> {
    let uid = uid.to_string();
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let folder = fields.iter().nth_back(1)?;
        (fields.len() >= 7 && fields.get(2) == Some(&uid.as_str()) && folder.starts_with('/'))
            .then(|| PathBuf::from(folder))
    })
}

#[cfg(test)]
mod tests {
    use super::folder_of;
    use std::path::PathBuf;

    #[test]
    fn the_folder_is_the_last_but_one_field_of_the_users_own_line() {
        let linux = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\n";
        assert_eq!(folder_of(1000, linux), Some(PathBuf::from("/home/ada")));
        assert_eq!(folder_of(0, linux), Some(PathBuf::from("/root")));
        assert_eq!(folder_of(1, linux), None);
        let mac = "ada:********:501:20::0:0:Ada L:/Users/ada:/bin/zsh\n";
        assert_eq!(folder_of(501, mac), Some(PathBuf::from("/Users/ada")));
    }

    #[test]
    fn a_relative_or_short_entry_is_no_folder() {
        assert_eq!(folder_of(5, "a:x:5:5:a:home:/bin/sh"), None);
        assert_eq!(folder_of(5, "a:x:5:/home:/bin/sh"), None);
    }
}
