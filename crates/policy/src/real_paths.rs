//! The real paths behind the paths an item names, as the executor found them. Reading the file system is not here:
//! the executor hands in a function that does.

use proto::{Item, limits};

use crate::act::Act;
use crate::paths;

/// What each path of an item really is, links followed. A path that could not be followed is remembered as such, and
/// no grant allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealPaths {
    found: Vec<String>,
    all_found: bool,
}

impl RealPaths {
    /// Asks `real` for each path that `item` names, absolute and normalised; the literal folder of a pattern. `real`
    /// answers with the path without links, or `None` where it does not exist or cannot be followed.
    pub fn resolve(item: &Item, mut real: impl FnMut(&str) -> Option<String>) -> Self {
        let act = Act::of(item);
        let named = named(&act);
        let all_found = named.is_some();
        let mut resolved = Self { found: Vec::new(), all_found };
        for path in named.unwrap_or_default() {
            match real(literal_folder(&path)) {
                Some(found) => resolved.found.push(found),
                None => resolved.all_found = false,
            }
        }
        resolved
    }

    /// Nothing was looked up: paths count as they are written, and no grant with a path allows.
    #[must_use]
    pub fn unknown() -> Self {
        Self { found: Vec::new(), all_found: false }
    }

    /// The real paths that were found.
    #[must_use]
    pub fn found(&self) -> &[String] {
        &self.found
    }

    /// Whether every path that the item names is among them.
    #[must_use]
    pub(crate) fn all_found(&self) -> bool {
        self.all_found
    }
}

/// The absolute paths that an item names, or its directory where it names none. `None` where one of them leaves doubt
/// about what it means: a tilde, a backslash, a relative path without a directory, `..` beside a pattern.
pub(crate) fn named(act: &Act<'_>) -> Option<Vec<String>> {
    if !act.parsed {
        return None;
    }
    // What a search tool calls `path` is the folder that its patterns are relative to.
    let mut folders = act.leaves.iter().filter(|leaf| leaf.key == "path" && act.searches());
    let folder = folders.next().map_or(act.directory, |leaf| leaf.text.as_str());
    if folders.next().is_some() {
        return None;
    }
    let base = paths::normalise(act.directory, folder)?;
    let mut named = Vec::new();
    for leaf in act.leaves.iter().filter(|leaf| act.names_a_path(leaf)) {
        let path = leaf.text.as_str();
        let pattern = path.contains(PATTERN);
        if path.len() > limits::PATH_BYTES
            || path.contains('\\')
            || (pattern && path.split(['/', ',', '{', '}']).any(|part| part == ".."))
        {
            return None;
        }
        let from = if leaf.key == "path" { act.directory } else { &base };
        named.push(paths::normalise(from, path)?);
    }
    if named.is_empty() {
        named.push(base);
    }
    named.sort_unstable();
    named.dedup();
    Some(named)
}

const PATTERN: [char; 4] = ['*', '?', '[', '{'];

/// The part of a path before its first component with a pattern in it.
fn literal_folder(path: &str) -> &str {
    let Some((literal, _)) = path.split_once(PATTERN) else { return path };
    let folder = literal.rsplit_once('/').map_or("/", |(folder, _)| folder);
    if folder.is_empty() { "/" } else { folder }
}
