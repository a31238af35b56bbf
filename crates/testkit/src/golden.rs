//! Golden files: the expected text stands in the repository, where a reviewer reads it.

use std::path::{Path, PathBuf};

/// A folder of golden files. `BLESS=1` rewrites a file in place of comparing.
#[derive(Debug, Clone)]
pub struct Golden {
    folder: PathBuf,
}

impl Golden {
    /// Golden files in `folder`; give `concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Compares `actual` with the file, or writes it under `BLESS=1`. Panics with the first line that differs.
    #[track_caller]
    pub fn check(&self, name: &str, actual: &str) {
        let path = self.folder.join(name);
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
                .expect("the folder of golden files");
            std::fs::write(&path, actual).expect("a golden file");
            return;
        }
        let expected = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}; BLESS=1 writes it", path.display()));
        if expected == actual {
            return;
        }
        let differs = expected.lines().zip(actual.lines()).position(|(left, right)| left != right);
        let at = differs.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
        panic!(
            "{} differs at line {}\nexpected: {:?}\nactual:   {:?}\n\nwhole actual text:\n{actual}\n(BLESS=1 rewrites it)",
            path.display(),
            at + 1,
            expected.lines().nth(at),
            actual.lines().nth(at),
        );
    }
}
