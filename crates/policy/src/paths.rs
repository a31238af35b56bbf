//! Paths as text: lexical normalisation, scopes by component and the folding that file systems do to names.
//!
//! Nothing here touches a file system: what a link points at is the executor's to find out and to hand in
//! ([`crate::RealPaths`]).

/// An absolute path with `.`, `..` and doubled slashes taken out, or `None` where the text cannot be one: a relative
/// path without an absolute base, a tilde, or a NUL. `..` above the root stays at the root, as the kernel does it.
#[must_use]
pub fn normalise(base: &str, path: &str) -> Option<String> {
    if path.contains('\0') || path.starts_with('~') {
        return None;
    }
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{base}/{path}") };
    if !joined.starts_with('/') {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for component in joined.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    Some(format!("/{}", kept.join("/")))
}

/// A set of paths: absolute, or relative to the item's directory when it begins with `./`. `*` stands for one
/// component or a part of it, `**` for any number of components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    relative: bool,
    components: Vec<String>,
}

impl Scope {
    /// Reads a scope, or says in words why it cannot be one.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let relative = text == "." || text.starts_with("./");
        if !relative && !text.starts_with('/') {
            return Err("begin it with `/`, or with `./` for the directory of the call");
        }
        let components: Vec<String> =
            text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
        if components.iter().any(|part| part == "..") {
            return Err("write it without `..`");
        }
        if components.iter().any(|part| part != "**" && part.contains("**")) {
            return Err("`**` stands alone between two slashes");
        }
        Ok(Self { relative, components })
    }

    /// The directory of the item and everything below it.
    pub(crate) fn here() -> Self {
        Self { relative: true, components: vec!["**".to_owned()] }
    }

    /// Whether `path` (normalised) lies in the scope, for an item of directory `cwd` (normalised).
    #[must_use]
    pub(crate) fn covers(&self, cwd: &str, path: &str) -> bool {
        let given: Vec<&str> = components(path).collect();
        let pattern: Vec<&str> = self.components.iter().map(String::as_str).collect();
        if !self.relative {
            return covers_components(&pattern, &given);
        }
        let base: Vec<&str> = components(cwd).collect();
        given.strip_prefix(base.as_slice()).is_some_and(|below| covers_components(&pattern, below))
    }
}

fn covers_components(pattern: &[&str], given: &[&str]) -> bool {
    fits(pattern, given, |wanted| *wanted == "**", |wanted, name| wildcard(wanted, name))
}

/// Whether `given` fits `pattern`, in which an element that `is_star` stands for any run of elements. Goes back to the
/// last star only, so it needs no stack and at most the product of the two lengths in time: paths come from agents.
pub(crate) fn fits<P, G>(
    pattern: &[P],
    given: &[G],
    is_star: impl Fn(&P) -> bool,
    one_fits: impl Fn(&P, &G) -> bool,
) -> bool {
    let (mut at, mut taken) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(element) = given.get(taken) {
        match pattern.get(at) {
            Some(wanted) if is_star(wanted) => {
                last_star = Some((at, taken));
                at += 1;
                continue;
            }
            Some(wanted) if one_fits(wanted, element) => {
                at += 1;
                taken += 1;
                continue;
            }
            Some(_) | None => {}
        }
        // The last star takes one element more.
        let Some((star, from)) = last_star else { return false };
        last_star = Some((star, from + 1));
        at = star + 1;
        taken = from + 1;
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(is_star))
}

/// The components of a path, empty ones left out.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// Whether `text` fits `pattern`, in which `*` stands for any run of characters and nothing else is special. Goes
/// back to the last star only, so that the time is at most the product of the two lengths.
#[must_use]
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(head) = pieces.next() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// A name as the most forgiving file systems compare it: upper and lower case alike, without the characters that
/// have no shape (HFS+ drops them), without trailing dots and blanks and without a stream name (Windows).
#[must_use]
pub(crate) fn fold(name: &str) -> String {
    let shown = name.chars().filter(|c| !has_no_shape(*c));
    let folded: String = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let stem = folded.split_once(':').map_or(folded.as_str(), |(stem, _)| stem);
    let trimmed = stem.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { folded } else { trimmed.to_owned() }
}

/// Default-ignorable characters: a name with one looks like the name without it.
pub(crate) fn has_no_shape(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
