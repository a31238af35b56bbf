//! The human-only list: what nobody and nothing below a person may allow.
//!
//! It reads the raw text of an item and never depends on a parse that succeeds; where a text leaves doubt it holds.
//! Its price is that harmless texts which only *mention* such a thing wait for a person too; it denies nothing, so
//! nothing is lost but four seconds. It sees no file system: what a link points at comes in by [`crate::RealPaths`].
//!
//! Invariant: neither a grant's `allow`, a signed rule, a reviewer nor a click in the agent's own program decides an
//! item that this list names.

use std::collections::BTreeSet;

use proto::Item;

use crate::act::Act;
use crate::paths;

mod commands;
mod text;

use text::{Place, Text};

/// One entry of the list.
#[derive(Debug)]
pub struct HumanOnly {
    name: &'static str,
    sentence: &'static str,
    paths: &'static [&'static str],
    commands: fn(&Text) -> bool,
}

impl HumanOnly {
    /// The entry's short name, as `executor.toml` writes it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Why only a person may allow it: a clause that follows "only a person may allow this: ".
    #[must_use]
    pub fn sentence(&self) -> &'static str {
        self.sentence
    }
}

/// The shipped list. A path is written by component: it holds where its components follow each other anywhere in a
/// path, at the end only where it closes with `$`; `*` stands for a part of one component. Compared as
/// `paths::fold` leaves them.
#[rustfmt::skip]
pub static SHIPPED: &[HumanOnly] = &[
    HumanOnly {
        name: "recursive-delete",
        sentence: "it may delete folders with all they hold",
        paths: &[],
        commands: commands::deletes_folders,
    },
    HumanOnly {
        name: "credentials",
        sentence: "it touches credentials, keys or secrets",
        paths: &[
            ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/gcloud",
            ".config/gh", ".config/hub$", ".config/op", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass",
            ".my.cnf", ".git-credentials", ".config/git/credentials", ".vault-token", ".cargo/credentials*",
            ".password-store", "keyrings", "keychains", "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*",
            "authorized_keys*", "*.pem$", "*.key$", "*.p12$", "*.pfx$", "*.jks$", "*.keystore$", "*.kdbx$",
            "*.ppk$", ".env", ".env.*", ".envrc", "credentials$", "credentials.*$", "secrets.*$",
            ".secrets", "run/secrets", "service-account*.json$", ".htpasswd", "etc/shadow*", "etc/gshadow*",
            ".terraform.d/credentials*", "wallet.dat", ".mozilla", "google-chrome", "chromium/default",
            "proc/*/environ", ".bash_history", ".zsh_history",
        ],
        commands: commands::prints_the_environment,
    },
    HumanOnly {
        name: "sealward",
        sentence: "it touches Sealward's own pins, claims, stores, tokens or settings",
        paths: &[
            ".local/share/sealward", "var/lib/sealward", "etc/sealward", "run/sealward", "approvers.json",
            "executor.toml$", "hub.sqlite*$", "hub/enrol.json$", "broker.sock$",
        ],
        commands: commands::changes_sealward,
    },
    HumanOnly {
        name: "agent-settings",
        sentence: "it touches the settings or hooks of an agent or an editor",
        paths: &[
            ".claude", ".claude.json*", ".config/claude", "claude-code/managed*", "managed-settings.json$",
            ".codex", ".cursor", ".gemini", ".vscode", ".mcp.json", "mcp.json$", "hooks.json$", ".copilot",
            ".github/hooks", ".github/copilot*", "github-copilot", ".opencode", "opencode.json*$",
            ".config/opencode", ".continue", ".windsurf", ".aider*", ".idea", ".zed", ".devcontainer",
            ".agents", "etc/claude-code", "etc/codex", "etc/gemini-cli",
        ],
        commands: commands::never,
    },
    HumanOnly {
        name: "git-internals",
        sentence: "it touches what git runs by itself: its folder, its settings or its hooks",
        paths: &[
            ".git", ".gitconfig", ".config/git", ".gitmodules", ".husky", ".githooks", "lefthook.y*ml$",
            ".pre-commit-config.yaml",
        ],
        commands: commands::sets_git_up,
    },
    HumanOnly {
        name: "start-files",
        sentence: "it touches files that a shell or a tool runs by itself when it starts",
        paths: &[
            ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
            ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
            ".inputrc", ".config/fish", ".xprofile", ".xinitrc", ".xsessionrc", ".pam_environment",
            ".direnvrc", ".config/direnv", ".tmux.conf", ".vimrc", ".config/nvim", ".emacs", ".emacs.d",
            ".config/autostart", ".config/systemd", ".config/environment.d", "launchagents",
            "launchdaemons", ".cargo/config*", ".yarnrc*", ".condarc", "*profile.ps1$",
        ],
        commands: commands::never,
    },
    HumanOnly {
        name: "system-files",
        sentence: "it touches what the machine itself starts, trusts or lies on",
        paths: &[
            "etc/sudoers*", "etc/passwd", "etc/group", "etc/cron*", "var/spool/cron", "etc/systemd",
            "lib/systemd", "etc/profile*", "etc/bash.bashrc", "etc/ld.so*", "etc/pam.d", "etc/ssh",
            "etc/environment", "etc/rc.local", "etc/init.d", "dev/sd*", "dev/nvme*", "dev/vd*", "dev/hd*",
            "dev/mmcblk*", "dev/disk*", "dev/mapper", "dev/mem", "dev/kmem", "docker.sock",
        ],
        commands: commands::changes_the_machine,
    },
    HumanOnly {
        name: "protected-push",
        sentence: "it may push to a protected branch, overwrite one or delete one",
        paths: &[],
        commands: commands::pushes_to_a_protected_branch,
    },
    HumanOnly {
        name: "another-user",
        sentence: "it takes the rights of another user",
        paths: &[],
        commands: commands::changes_the_user,
    },
    HumanOnly {
        name: "piped-code",
        sentence: "it may run code that is not written in it, such as a download",
        paths: &[],
        commands: commands::runs_what_it_is_sent,
    },
    HumanOnly {
        name: "hidden-program",
        sentence: "the name of what it runs is made up only when it runs",
        paths: &[],
        commands: commands::hides_its_program,
    },
];

/// The first entry of the shipped list that names `item`, or `None`.
#[must_use]
pub fn human_only(item: &Item) -> Option<&'static HumanOnly> {
    let act = Act::of(item);
    let seen = Seen::of(&act, &[]);
    SHIPPED.iter().find(|entry| seen.is_named_by(entry))
}

/// A named addition to the list, from a local file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    pub(crate) name: String,
    pub(crate) sentence: String,
    pub(crate) paths: Vec<String>,
    pub(crate) commands: Vec<Vec<String>>,
}

/// The list as one executor keeps it: the shipped one, lengthened by any local file, shortened only by its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    without: Vec<&'static str>,
    additions: Vec<Addition>,
}

/// The entry that holds an item, shipped or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// The entry's name.
    pub name: &'a str,
    /// Its clause, as [`HumanOnly::sentence`].
    pub sentence: &'a str,
}

/// An executor's own file names an entry that is not on the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the human-only list has no entry `{0}`; its entries are {names}", names = names())]
pub struct NoSuchEntry(pub String);

fn names() -> String {
    SHIPPED.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

impl List {
    /// The shipped list, whole.
    #[must_use]
    pub fn shipped() -> Self {
        Self { without: Vec::new(), additions: Vec::new() }
    }

    /// Takes entries out. Only the executor's own file (`executor.toml`) may ask for this.
    ///
    /// # Errors
    /// [`NoSuchEntry`] for a name that the shipped list does not have.
    pub fn without(mut self, names: &[String]) -> Result<Self, NoSuchEntry> {
        for name in names {
            let entry = SHIPPED.iter().find(|entry| entry.name == name);
            self.without.push(entry.ok_or_else(|| NoSuchEntry(name.clone()))?.name);
        }
        Ok(self)
    }

    /// Lengthens the list by a folder that belongs to Sealward on this machine, such as a home at an unusual place.
    #[must_use]
    pub fn with_home(mut self, home: &str) -> Self {
        let path: Vec<String> = paths::components(home).map(paths::fold).collect();
        self.additions.push(Addition {
            name: "sealward".to_owned(),
            sentence: "it touches Sealward's own pins, claims, stores, tokens or settings".to_owned(),
            paths: vec![path.join("/")],
            commands: Vec::new(),
        });
        self
    }

    pub(crate) fn add(&mut self, addition: Addition) {
        self.additions.push(addition);
    }

    /// The first entry that names `item`, or one of the `real` paths behind the paths it names.
    #[must_use]
    pub fn find(&self, item: &Item, real: &[String]) -> Option<Held<'_>> {
        let act = Act::of(item);
        let seen = Seen::of(&act, real);
        let shipped = SHIPPED.iter().filter(|entry| !self.without.contains(&entry.name));
        let shipped = shipped
            .filter(|entry| seen.is_named_by(entry))
            .map(|entry| Held { name: entry.name, sentence: entry.sentence });
        let added = self
            .additions
            .iter()
            .filter(|addition| seen.is_named_by_addition(addition))
            .map(|addition| Held { name: &addition.name, sentence: &addition.sentence });
        shipped.chain(added).next()
    }
}

/// What the list looks at: an item's paths by component and its texts by word.
struct Seen {
    paths: Vec<Vec<String>>,
    /// Every component of the paths, once.
    components: BTreeSet<String>,
    texts: Vec<Text>,
}

impl Seen {
    fn of(act: &Act<'_>, real: &[String]) -> Self {
        let mut paths: Vec<Vec<String>> = Vec::new();
        let mut texts = Vec::new();
        for whole in real.iter().map(String::as_str).chain([act.directory]) {
            paths.push(text::path_components(whole));
        }
        for leaf in act.scanned() {
            paths.extend(text::views(&leaf.text).iter().map(|view| text::path_components(view)));
            if !act.names_a_path(leaf) {
                let place = if act.is_command(leaf) { Place::Command } else { Place::Other };
                let text = Text::of(&leaf.text, place);
                paths.extend(text.paths());
                texts.push(text);
            }
        }
        if !act.tool.is_empty() {
            texts.push(Text::of_tool(act.tool));
        }
        paths.sort_unstable();
        paths.dedup();
        let components = paths.iter().flatten().cloned().collect();
        Self { paths, components, texts }
    }

    fn is_named_by(&self, entry: &HumanOnly) -> bool {
        entry.paths.iter().any(|pattern| self.names_path(pattern)) || self.texts.iter().any(entry.commands)
    }

    fn is_named_by_addition(&self, addition: &Addition) -> bool {
        addition.paths.iter().any(|pattern| self.names_path(pattern))
            || addition.commands.iter().any(|words| self.texts.iter().any(|text| text.has_in_order(words)))
    }

    fn names_path(&self, pattern: &str) -> bool {
        let (pattern, at_end) = pattern.strip_suffix('$').map_or((pattern, false), |head| (head, true));
        let wanted: Vec<&str> = pattern.split('/').collect();
        let possible = wanted
            .first()
            .is_some_and(|head| self.components.iter().any(|given| text::component_fits(head, given)));
        if !possible {
            return false;
        }
        self.paths.iter().any(|path| {
            let count = path.len();
            path.windows(wanted.len()).enumerate().any(|(at, window)| {
                (!at_end || at + wanted.len() == count)
                    && wanted.iter().zip(window).all(|(wanted, given)| text::component_fits(wanted, given))
            })
        })
    }
}

#[cfg(test)]
mod tests;
