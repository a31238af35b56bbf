//! A text as the human-only list reads it: folded words, in several views, and the paths among them. Nothing here is
//! a shell's grammar; each view may only add words, never take the reading of another away.

use crate::lexer;
use crate::paths::{components, fits, fold, wildcard};

/// One text, read.
pub(super) struct Text {
    /// The text itself, folded to lower case.
    pub(super) lower: String,
    /// Words of each view, in segments that no shell would join.
    pub(super) segments: Vec<Vec<String>>,
    /// The parts of the strict lexer, folded, where it accepts the text.
    pub(super) parts: Option<Vec<Vec<String>>>,
    /// What the text is.
    pub(super) place: Place,
    tokens: Vec<Vec<String>>,
}

/// Where a text stands in its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the name of the tool.
    Tool,
    /// It stands in a member whose text runs.
    Command,
    /// It stands anywhere else.
    Other,
}

impl Text {
    pub(super) fn of(text: &str, place: Place) -> Self {
        let mut segments = Vec::new();
        let mut tokens = Vec::new();
        for view in views(text) {
            for segment in segments_of(&view) {
                let words: Vec<String> =
                    words_of(segment).map(fold_word).filter(|word| !word.is_empty()).collect();
                segments.push(words);
            }
            let split =
                view.split(|c: char| c.is_whitespace() || c.is_control() || "\"'`;|&()<>=,:@{}".contains(c));
            tokens.extend(split.filter(|token| !token.is_empty()).map(path_components));
        }
        let parts = lexer::parse(text).map(|parts| {
            parts.into_iter().map(|part| part.iter().map(|word| word.to_lowercase()).collect()).collect()
        });
        Self { lower: text.to_lowercase(), segments, parts, place, tokens }
    }

    pub(super) fn of_tool(name: &str) -> Self {
        Self {
            lower: name.to_lowercase(),
            segments: Vec::new(),
            parts: None,
            place: Place::Tool,
            tokens: Vec::new(),
        }
    }

    /// The paths among its words.
    pub(super) fn paths(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.tokens.iter().cloned()
    }

    /// Whether one segment has these words (folded) in this order, the first as a program's name.
    pub(super) fn has_in_order(&self, wanted: &[String]) -> bool {
        self.segments.iter().any(|segment| {
            let mut given = segment.iter();
            wanted.iter().enumerate().all(|(at, wanted)| {
                given.any(|word| word == wanted || (at == 0 && lexer::base_name(word) == wanted))
            })
        })
    }
}

/// The readings of a text: as it stands, without quotes and backslashes (a shell joins `r""m` and `r\m`), and with
/// percent escapes read where there are any.
pub(super) fn views(text: &str) -> Vec<String> {
    let mut views = vec![text.to_owned()];
    if text.contains(['"', '\'', '\\']) {
        let joined = text.replace("\\\r\n", "").replace("\\\n", "");
        views.push(joined.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect());
    }
    if text.contains('%') {
        views.push(percent_decoded(text));
    }
    views
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text cut at `;`, `|`, `&` and line ends outside quotes. Where quotes are not simple (comments, escapes,
/// substitutions, here-documents) it is one segment, so that a clever quote cannot cut a program from its flags.
fn segments_of(text: &str) -> Vec<&str> {
    let odd = ["#", "\\", "$'", "$\"", "$(", "`", "<<"].iter().any(|mark| text.contains(mark));
    if odd {
        return vec![text];
    }
    let mut quote: Option<char> = None;
    let segments: Vec<&str> = text
        .split(|c: char| {
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                Some(_) | None => {}
            }
            quote.is_none() && matches!(c, ';' | '|' | '&' | '\n' | '\r')
        })
        .collect();
    if quote.is_some() { vec![text] } else { segments }
}

fn words_of(segment: &str) -> impl Iterator<Item = &str> {
    segment.split(|c: char| c.is_whitespace() || c.is_control() || "\"'`;|&()<>,{}[]".contains(c))
}

fn fold_word(word: &str) -> String {
    word.chars().filter(|c| !crate::paths::has_no_shape(*c)).flat_map(char::to_lowercase).collect()
}

/// The folded components of a path, cut at both kinds of slash. A worktree that Claude Code made under
/// `.claude/worktrees/` is a checkout like any other: that much of the path is not the agent's settings.
pub(super) fn path_components(path: &str) -> Vec<String> {
    let forward = path.replace('\\', "/");
    let folded = components(&forward).filter(|part| *part != ".").map(fold);
    // `..` could climb from the worktree back into the settings.
    let climbs = forward.split('/').any(|part| part == "..");
    let mut kept: Vec<String> = Vec::new();
    let mut names_worktree = false;
    for component in folded {
        if names_worktree {
            names_worktree = false;
            if !component.starts_with('.') {
                kept.truncate(kept.len().saturating_sub(2));
                continue;
            }
        }
        names_worktree =
            !climbs && component == "worktrees" && kept.last().is_some_and(|last| last == ".claude");
        kept.push(component);
    }
    kept
}

/// Whether a component fits one of the list. Where the component is itself a pattern of a shell, whether it could
/// stand for the listed name; as in a shell, a star at the head does not stand for a dot.
pub(super) fn component_fits(wanted: &str, given: &str) -> bool {
    // Almost every pair ends here: a long text has many components and the list many names.
    let heads = (wanted.as_bytes().first(), given.as_bytes().first());
    if matches!(heads, (Some(wanted), Some(given)) if wanted != given && *wanted != b'*') {
        return false;
    }
    if wildcard(wanted, given) {
        return true;
    }
    let Some(head) = given.split(['*', '?', '[']).next().filter(|head| head.len() < given.len()) else {
        return false;
    };
    let literal = given.chars().filter(|c| c.is_alphanumeric()).count();
    let wanted = wanted.trim_end_matches('*');
    literal > 0
        && !head.is_empty()
        && head != "."
        && (wanted.starts_with(head) || head.starts_with(wanted))
        && could_match(given, wanted)
}

/// Whether the shell pattern `pattern` could match `name`: `[…]` counts as any one character.
fn could_match(pattern: &str, name: &str) -> bool {
    let mut inside = false;
    let simple: Vec<char> = pattern
        .chars()
        .filter_map(|c| match (c, inside) {
            ('[', false) => {
                inside = true;
                Some('?')
            }
            (']', true) => {
                inside = false;
                None
            }
            (_, true) => None,
            (other, false) => Some(other),
        })
        .collect();
    let name: Vec<char> = name.chars().collect();
    fits(&simple, &name, |wanted| *wanted == '*', |wanted, c| *wanted == '?' || wanted == c)
}
