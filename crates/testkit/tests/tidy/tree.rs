//! The repository's files and their text.

use std::path::{Path, PathBuf};

/// One text file.
pub(crate) struct TextFile {
    /// Its path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of one file that must be there.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text file that is the project's own: not what builds, installs or the version control leave behind.
pub(crate) fn files() -> Vec<TextFile> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    assert!(found.len() > 50, "the walk lost its way: {}", found.len());
    found
}

/// The files whose name ends with `suffix`.
pub(crate) fn files_ending(suffix: &str) -> Vec<TextFile> {
    let mut files = files();
    files.retain(|file| file.path.ends_with(suffix));
    files
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<TextFile>) {
    const LEFT_BEHIND: &[&str] = &["target", "node_modules", ".git", "corpus", "artifacts", "__pycache__"];
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if LEFT_BEHIND.contains(&name.as_str()) || name.ends_with(".log") || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            found.push(TextFile { path, text });
        }
    }
}
