//! The grants of one home: what is shipped, the files below `grants/`, and the human-only list as this machine has it.
//!
//! Reading only; what a grant means is `policy`'s. A file that does not load spoils the whole set: nothing is allowed
//! or left to the agent on half of what was written.

use std::fs;
use std::io;
use std::path::PathBuf;

use policy::human_only::{List, NoSuchEntry};
use policy::{BadGrants, Grants, RealPaths};
use proto::Item;

use crate::home::{Home, HomeError};

/// Why the grants of a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantsError {
    /// The folder cannot be listed.
    #[error("`{path}` cannot be listed")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is open to other users or cannot be read.
    #[error(transparent)]
    File(#[from] HomeError),
    /// A file says something that is not a grant.
    #[error(transparent)]
    Bad(#[from] BadGrants),
    /// `[human_only] without` names an entry that is not on the list.
    #[error(transparent)]
    NoEntry(#[from] NoSuchEntry),
}

/// The grants of a hook: read-only tools below the working directory, and this home's files beside it.
///
/// # Errors
/// [`GrantsError`]; nothing is taken from the set then.
pub fn of_hook(home: &Home) -> Result<Grants, GrantsError> {
    let list = List::shipped().without(home.not_human_only())?.with_home(&home.dir().to_string_lossy());
    let mut texts = Vec::new();
    for path in files(home)? {
        let text = home.read_own(&path)?;
        texts.push((path.display().to_string(), text));
    }
    let named: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Ok(Grants::shipped_for_hook().with_list(list).with_files(&named)?)
}

/// What the paths that an item names really are, links followed.
#[must_use]
pub fn real_paths(item: &Item) -> RealPaths {
    RealPaths::resolve(item, |path| fs::canonicalize(path).ok()?.into_os_string().into_string().ok())
}

/// The files, in the order of their names. A home without the folder has none.
fn files(home: &Home) -> Result<Vec<PathBuf>, GrantsError> {
    let path = home.grants();
    let failed = |source| GrantsError::Folder { path: path.clone(), source };
    let listing = match fs::read_dir(&path) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "toml") {
            found.push(file);
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proto::{AskItem, Timestamp};

    use super::*;

    const SETTINGS: &str =
        "hub = \"http://127.0.0.1:8787\"\ntoken_file = \"token\"\n[identity]\nhook = \"hook@laptop\"\n";

    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("executor.toml"), SETTINGS).unwrap();
        fs::set_permissions(dir.path().join("executor.toml"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(dir.path().join("grants")).unwrap();
        for (name, text) in files {
            let path = dir.path().join("grants").join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let home = Home::open(dir.path()).unwrap();
        (dir, home)
    }

    fn bash(command: &str) -> Item {
        Item::Ask(AskItem {
            id: String::new(),
            executor: "hook@laptop".into(),
            agent: "claude".into(),
            session: "s1".into(),
            tool: "Bash".into(),
            input: format!(r#"{{"command":"{command}"}}"#),
            cwd: "/tmp".into(),
        })
    }

    #[test]
    fn the_files_of_a_home_count_beside_what_is_shipped() {
        let (_dir, home) = home(&[
            (
                "no-push.toml",
                "[[grant]]\nname = \"no-push\"\ntool = \"Bash\"\neffect = \"deny\"\ncommand = [\"git push *\"]\n",
            ),
            ("readme.txt", "not a grant"),
        ]);
        let grants = of_hook(&home).unwrap();
        let item = bash("git push origin main");
        let finding = grants.find(&item, &real_paths(&item), Timestamp::from_millis(0)).unwrap();
        assert_eq!(finding.name, "no-push");
        assert_eq!(grants.find(&bash("ls"), &RealPaths::unknown(), Timestamp::from_millis(0)), None);
    }

    #[test]
    fn one_bad_file_spoils_the_set() {
        let (_dir, home) = home(&[("a.toml", "[[grant]]\nname = \"x\"\n")]);
        assert!(matches!(of_hook(&home), Err(GrantsError::Bad(_))));
    }

    #[test]
    fn a_file_that_others_can_write_spoils_the_set() {
        let (dir, home) = home(&[("a.toml", "")]);
        fs::set_permissions(dir.path().join("grants/a.toml"), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(of_hook(&home), Err(GrantsError::File(_))));
    }
}
