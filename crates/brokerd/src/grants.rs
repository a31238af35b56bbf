//! Reading the folder of grants, and the digest of what was read. What a grant means is `policy`'s.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use policy::{BadGrants, Grants};
use proto::{Digest, sha256};

/// The loaded set.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) grants: Grants,
    /// Over names and texts of the files, in order; stands in every decision's record.
    pub(crate) digest: Digest,
    pub(crate) files: Vec<String>,
}

/// Why the set did not load. At start the broker then does not start; on SIGHUP the old set stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("the grants in `{path}` cannot be read")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Bad(#[from] BadGrants),
}

impl Loaded {
    /// Reads every `*.toml` of `folder` in the order of their names; no folder, no grants.
    pub(crate) fn read(folder: Option<&Path>) -> Result<Self, LoadError> {
        let mut files: Vec<(String, String)> = Vec::new();
        if let Some(folder) = folder {
            for path in toml_files(folder)? {
                let text = fs::read_to_string(&path)
                    .map_err(|source| LoadError::Read { path: path.clone(), source })?;
                files.push((path.display().to_string(), text));
            }
        }
        let pairs: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let grants = Grants::none().with_files(&pairs)?;
        let mut hashed = Vec::new();
        for (name, text) in &pairs {
            for part in [name, text] {
                hashed.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
                hashed.extend_from_slice(part.as_bytes());
            }
        }
        let names = files.iter().map(|(name, _)| name.clone()).collect();
        Ok(Self { grants, digest: sha256(&hashed), files: names })
    }
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let unread = |source| LoadError::Read { path: folder.to_owned(), source };
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(unread)?.collect();
    let mut paths: Vec<PathBuf> = entries
        .map_err(unread)?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    Ok(paths)
}
