//! Claude Code's settings: where its hooks stand, which of them are ours, and how ours are written.
//!
//! The form is that of <https://docs.anthropic.com/en/docs/claude-code/hooks>. The command is one line for `sh -c`, which
//! every version of Claude Code takes; newer ones could take an argument list, but older ones would ignore it.

use std::path::{Path, PathBuf};

use super::tree::Tree;

/// Which hooks to write.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// The line that the agent runs.
    pub(crate) command: String,
    /// Seconds the agent waits for it.
    pub(crate) timeout: u64,
    /// Also stand beside the agent's own dialog.
    pub(crate) dialog: bool,
}

/// One hook that stands in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    /// On which event.
    pub(crate) event: String,
    /// On which tools.
    pub(crate) matcher: String,
    /// What is run; empty where it is no command.
    pub(crate) command: String,
    /// Seconds, where it says so.
    pub(crate) timeout: Option<u64>,
    /// Whether it is ours.
    pub(crate) ours: bool,
}

/// Why a file is not of Claude Code's form.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not {1}")]
pub(crate) struct BadForm(String, &'static str);

/// The line that runs our hook.
pub(crate) fn command(program: &Path, home: &Path, wait_s: u64) -> Option<String> {
    let (program, home) = (quoted(program.to_str()?), quoted(home.to_str()?));
    Some(format!("{program} --home {home} hook claude --wait {wait_s}"))
}

/// The seconds that one of our lines gives itself.
pub(crate) fn wait_of(command: &str) -> Option<u64> {
    command.rsplit_once(" --wait ")?.1.trim().parse().ok()
}

/// The program and the home in one of our lines.
pub(crate) fn parts(command: &str) -> Option<(PathBuf, PathBuf)> {
    let (program, rest) = command.split_once(" --home ")?;
    let (home, _) = rest.rsplit_once(" hook claude --wait ")?;
    Some((unquoted(program).into(), unquoted(home).into()))
}

/// The settings with our hooks in them: at the end of each event's list, in place of older ones of ours.
///
/// # Errors
/// [`BadForm`] where `hooks` or an event's list is something else.
pub(crate) fn connected(settings: &Tree, wish: &Wish) -> Result<Tree, BadForm> {
    let mut settings = disconnected(settings)?;
    let mut events = vec!["PreToolUse", "PostToolUse"];
    if wish.dialog {
        events.push("PermissionRequest");
    }
    let hooks = member(&mut settings, "settings", "hooks", Tree::Object(Vec::new()))?;
    for event in events {
        let groups = member(hooks, "hooks", event, Tree::Array(Vec::new()))?;
        let Tree::Array(groups) = groups else { return Err(BadForm(event.to_owned(), "an array")) };
        groups.push(group(wish));
    }
    Ok(settings)
}

/// The settings without any hook of ours, and without the empty lists that removing them leaves. Opened only where
/// hooks stand.
///
/// # Errors
/// [`BadForm`] where `hooks` or an event's list is something else.
pub(crate) fn disconnected(settings: &Tree) -> Result<Tree, BadForm> {
    let members = object(settings, "settings")?;
    let mut kept = Vec::new();
    for (name, value) in members {
        if name != "hooks" {
            kept.push((name, value));
            continue;
        }
        let events = object(&value, "hooks")?;
        let none_before = events.is_empty();
        let mut left = Vec::new();
        for (event, groups) in events {
            let Ok(Tree::Array(groups)) = groups.opened() else { return Err(BadForm(event, "an array")) };
            let others: Vec<Tree> = groups.iter().filter_map(without_ours).collect();
            // An empty list that was there before stays; one that we leave behind goes.
            if groups.is_empty() || !others.is_empty() {
                left.push((event, Tree::Array(others)));
            }
        }
        if none_before || !left.is_empty() {
            kept.push((name, Tree::Object(left)));
        }
    }
    Ok(Tree::Object(kept))
}

/// The settings as connecting and disconnecting leave them: without empty lists, which tell the agent nothing.
///
/// # Errors
/// As [`connected`].
pub(crate) fn there_and_back(settings: &Tree) -> Result<Tree, BadForm> {
    let wish =
        Wish { command: "/sealward --home / hook claude --wait 1".to_owned(), timeout: 1, dialog: true };
    disconnected(&connected(settings, &wish)?)
}

fn object(tree: &Tree, called: &str) -> Result<Vec<(String, Tree)>, BadForm> {
    match tree.opened() {
        Ok(Tree::Object(members)) => Ok(members),
        Ok(Tree::Array(_) | Tree::Leaf(_)) | Err(_) => Err(BadForm(called.to_owned(), "an object")),
    }
}

/// Every hook of the file, in its order.
pub(crate) fn hooks(settings: &Tree) -> Vec<Hook> {
    let Ok(settings) = settings.deep() else { return Vec::new() };
    let Some(Tree::Object(events)) = settings.get("hooks") else { return Vec::new() };
    let mut found = Vec::new();
    for (event, groups) in events {
        for group in groups.elements() {
            let matcher = group.get("matcher").and_then(Tree::as_text).unwrap_or_default();
            for hook in group.get("hooks").map(Tree::elements).unwrap_or_default() {
                found.push(Hook {
                    event: event.clone(),
                    matcher: matcher.clone(),
                    command: line(hook),
                    timeout: hook.get("timeout").and_then(Tree::as_number),
                    ours: is_ours(hook),
                });
            }
        }
    }
    found
}

fn group(wish: &Wish) -> Tree {
    let hook = Tree::object([
        ("type", Tree::text("command")),
        ("command", Tree::text(&wish.command)),
        ("timeout", Tree::Leaf(wish.timeout.to_string())),
    ]);
    Tree::object([("matcher", Tree::text("*")), ("hooks", Tree::Array(vec![hook]))])
}

/// A group of hooks without ours; `None` where nothing is left of it. A group that holds none of ours stays as it is
/// spelt.
fn without_ours(group: &Tree) -> Option<Tree> {
    let Ok(Tree::Object(mut members)) = group.deep() else { return Some(group.clone()) };
    let mut any_ours = false;
    for (_, value) in members.iter_mut().filter(|(name, _)| name == "hooks") {
        let Tree::Array(hooks) = value else { continue };
        let before = hooks.len();
        hooks.retain(|hook| !is_ours(hook));
        any_ours = hooks.len() < before;
        if any_ours && hooks.is_empty() {
            return None;
        }
    }
    Some(if any_ours { Tree::Object(members) } else { group.clone() })
}

/// The whole line of a command hook, its arguments included.
fn line(hook: &Tree) -> String {
    let mut line = hook.get("command").and_then(Tree::as_text).unwrap_or_default();
    for argument in hook.get("args").map(Tree::elements).unwrap_or_default() {
        line.push(' ');
        line.push_str(&argument.as_text().unwrap_or_default());
    }
    line
}

/// A line is ours when it runs a program called `sealward` as Claude's hook.
fn is_ours(hook: &Tree) -> bool {
    let line = line(hook);
    let Some((program, rest)) = line.split_once(" --home ") else { return false };
    let program = program.trim_matches('\'');
    Path::new(program).file_name().is_some_and(|name| name == "sealward")
        && rest.contains(" hook claude --wait ")
}

/// A member of an object, made where it is missing.
fn member<'a>(tree: &'a mut Tree, called: &str, name: &str, fresh: Tree) -> Result<&'a mut Tree, BadForm> {
    let Tree::Object(members) = tree else { return Err(BadForm(called.to_owned(), "an object")) };
    let at = members.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        members.push((name.to_owned(), fresh));
        members.len() - 1
    });
    members.get_mut(at).map(|(_, value)| value).ok_or_else(|| BadForm(name.to_owned(), "there"))
}

/// A word for `sh`: as it is where every letter is plain, else in single quotes.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The word that [`quoted`] made this of.
fn unquoted(word: &str) -> String {
    match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner.replace(r"'\''", "'"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(dialog: bool) -> Wish {
        let command =
            command(Path::new("/opt/seal ward/sealward"), Path::new("/home/ada/it's"), 600).unwrap();
        Wish { command, timeout: 600, dialog }
    }

    fn tree(text: &str) -> Tree {
        Tree::parse(text).unwrap()
    }

    fn deep(tree: &Tree) -> Tree {
        tree.deep().unwrap()
    }

    const OTHERS: &str = r#"{"model":"opus","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"/x/lint"}]}],"Stop":[]},"z":1}"#;

    #[test]
    fn a_path_with_odd_letters_is_one_word_for_the_shell() {
        assert_eq!(
            wish(false).command,
            r"'/opt/seal ward/sealward' --home '/home/ada/it'\''s' hook claude --wait 600"
        );
        assert_eq!(wait_of(&wish(false).command), Some(600));
        let parts = parts(&wish(false).command);
        assert_eq!(parts, Some(("/opt/seal ward/sealward".into(), "/home/ada/it's".into())));
    }

    #[test]
    fn connecting_adds_a_gate_and_an_end_and_leaves_the_rest_alone() {
        let connected = connected(&tree(OTHERS), &wish(false)).unwrap();
        let found = hooks(&connected);
        let seen: Vec<(&str, &str, bool)> =
            found.iter().map(|hook| (hook.event.as_str(), hook.matcher.as_str(), hook.ours)).collect();
        assert_eq!(
            seen,
            [("PreToolUse", "Bash", false), ("PreToolUse", "*", true), ("PostToolUse", "*", true)]
        );
        assert!(found.iter().filter(|hook| hook.ours).all(|hook| hook.timeout == Some(600)));
        let Tree::Object(members) = &connected else { panic!() };
        assert_eq!(
            members.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["model", "hooks", "z"]
        );
    }

    #[test]
    fn connecting_twice_is_connecting_once_with_the_newer_wish() {
        let once = connected(&tree(OTHERS), &wish(true)).unwrap();
        let twice = connected(&once, &Wish { timeout: 60, ..wish(false) }).unwrap();
        assert_eq!(twice, connected(&tree(OTHERS), &Wish { timeout: 60, ..wish(false) }).unwrap());
    }

    #[test]
    fn disconnecting_undoes_exactly_what_connecting_did() {
        for before in [OTHERS, "{}", r#"{"hooks":{}}"#, r#"{"hooks":{"PreToolUse":[]}}"#] {
            let connected = connected(&tree(before), &wish(true)).unwrap();
            assert_ne!(deep(&connected), deep(&tree(before)));
            if before == r#"{"hooks":{"PreToolUse":[]}}"# || before == r#"{"hooks":{}}"# {
                // An empty list tells the agent nothing; the copy kept beside the file brings it back.
                assert!(hooks(&disconnected(&connected).unwrap()).is_empty());
            } else {
                assert_eq!(deep(&disconnected(&connected).unwrap()), deep(&tree(before)), "{before}");
            }
        }
    }

    #[test]
    fn settings_of_another_form_are_left_alone() {
        for odd in ["[]", r#"{"hooks":[]}"#, r#"{"hooks":{"PreToolUse":{}}}"#] {
            assert!(connected(&tree(odd), &wish(false)).is_err(), "{odd}");
        }
    }

    #[test]
    fn another_program_with_our_words_in_it_is_not_ours() {
        let other = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/x/wrap sealward hook claude"}]}]}}"#;
        assert!(!hooks(&tree(other))[0].ours);
        assert_eq!(deep(&disconnected(&tree(other)).unwrap()), deep(&tree(other)));
    }
}
