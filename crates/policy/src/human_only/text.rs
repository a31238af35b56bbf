//! A text as the human-only list reads it: folded words, in several views, and the paths among them. Nothing here is
//! a shell's grammar; each view may only add words, never take the reading of another away.

use crate::lexer;
use crate::paths::{components, fold, wildcard};

/// One text, read.
pub(super) struct Text {
    /// The text itself, folded to lower case.
    pub(super) lower: String,
    /// Words of each view, in segments that no shell would join.
    pub(super) segments: Vec<Vec<String>>,
    /// The parts of the strict lexer, folded, where it accepts the text.
    pub(super) parts: Option<Vec<Vec<String>>>,
    /// The name of the tool, when this text is one.
    pub(super) tool: bool,
    tokens: Vec<Vec<String>>,
}

impl Text {
    pub(super) fn of(text: &str) -> Self {
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
        Self { lower: text.to_lowercase(), segments, parts, tool: false, tokens }
    }

    pub(super) fn of_tool(name: &str) -> Self {
        Self { lower: name.to_lowercase(), segments: Vec::new(), parts: None, tool: true, tokens: Vec::new() }
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
    let mut folded: Vec<String> = components(&forward).filter(|part| *part != ".").map(fold).collect();
    while let Some(at) =
        folded.windows(2).position(|pair| matches!(pair, [a, b] if a == ".claude" && b == "worktrees"))
    {
        let end = folded.len().min(at + 3);
        // `..` could climb back into the settings.
        if folded.iter().any(|part| part == "..") || folded.len() < at + 3 {
            break;
        }
        drop(folded.drain(at..end));
    }
    folded
}

/// Whether a component fits one of the list. Where the component is itself a pattern of a shell, whether it could
/// stand for the listed name; as in a shell, a star at the head does not stand for a dot.
pub(super) fn component_fits(wanted: &str, given: &str) -> bool {
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
    let mut simple = String::new();
    let mut inside = false;
    for c in pattern.chars() {
        match c {
            '[' if !inside => {
                inside = true;
                simple.push('?');
            }
            ']' if inside => inside = false,
            other if !inside => simple.push(other),
            _ => {}
        }
    }
    let pattern: Vec<char> = simple.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // One row of the table at a time: reach[i] says whether the pattern so far matches the first i characters.
    let mut reach = vec![false; name.len() + 1];
    if let Some(first) = reach.first_mut() {
        *first = true;
    }
    for wanted in pattern {
        let mut next = vec![false; name.len() + 1];
        let mut any = false;
        for (at, reached) in reach.iter().enumerate() {
            any = any || *reached;
            let here = if wanted == '*' {
                any
            } else {
                let before = at.checked_sub(1);
                let fits =
                    before.and_then(|before| name.get(before)).is_some_and(|c| wanted == '?' || *c == wanted);
                fits && before.and_then(|before| reach.get(before)).is_some_and(|reached| *reached)
            };
            if let Some(slot) = next.get_mut(at) {
                *slot = here;
            }
        }
        reach = next;
    }
    reach.last().is_some_and(|reached| *reached)
}
