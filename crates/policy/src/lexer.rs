//! The strict command lexer: the commands whose meaning is beyond doubt, and nothing else.
//!
//! It does not know what a shell *can* do; it knows the few forms in which nothing is left to a shell. A text it
//! refuses may be harmless, so refusing only ever means that nobody below a person may allow it. What a *deny* looks
//! at must not hang on this parse: see [`crate::grants`].

use proto::limits;

/// One simple command of a line: its words, unquoted. Never empty.
pub(crate) type Part = Vec<String>;

/// Programs and shell words that run what their operands say, so that the first word tells nothing about what runs.
const WRAPPERS: &[&str] = &[
    "ash",
    "bash",
    "builtin",
    "busybox",
    "caffeinate",
    "chroot",
    "chrt",
    "cmd",
    "command",
    "csh",
    "dash",
    "do",
    "doas",
    "done",
    "elif",
    "else",
    "env",
    "esac",
    "eval",
    "exec",
    "fi",
    "fish",
    "flock",
    "for",
    "function",
    "if",
    "ionice",
    "ksh",
    "let",
    "nice",
    "nohup",
    "noglob",
    "nsenter",
    "parallel",
    "pkexec",
    "powershell",
    "pwsh",
    "read",
    "runuser",
    "script",
    "select",
    "setpriv",
    "setsid",
    "sg",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tcsh",
    "then",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unshare",
    "until",
    "watch",
    "while",
    "xargs",
    "zsh",
    ".",
    "!",
    "[[",
    "{",
    "}",
    "case",
    "coproc",
    "declare",
    "export",
    "local",
    "readonly",
    "typeset",
    "alias",
    "unalias",
    "set",
    "shopt",
    "hash",
    "enable",
    "unset",
];

/// The parts of `text`, joined by `&&`, `||`, `;` or `|`, or `None` where anything is in doubt: a character outside
/// printable ASCII, expansion, globs, braces, assignments, redirection other than to `/dev/null` and `2>&1`,
/// control flow, wrappers, or too much of it.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<Vec<Part>> {
    if text.len() > limits::COMMAND_BYTES || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let mut parts = Vec::new();
    let mut part: Part = Vec::new();
    let mut rest = text.trim_start_matches(' ');
    while !rest.is_empty() {
        if let Some(after) = harmless_redirect(rest) {
            rest = after;
        } else if let Some(after) = operator(rest) {
            parts.push(checked(std::mem::take(&mut part))?);
            rest = after;
            if rest.trim_start_matches(' ').is_empty() {
                return None;
            }
        } else {
            let (word, after) = word(rest, part.is_empty())?;
            part.push(word);
            rest = after;
        }
        rest = rest.trim_start_matches(' ');
    }
    parts.push(checked(part)?);
    (parts.len() <= limits::COMMAND_PARTS).then_some(parts)
}

fn checked(part: Part) -> Option<Part> {
    let program = part.first()?;
    let wraps = WRAPPERS.contains(&base_name(program));
    (!program.is_empty() && !wraps).then_some(part)
}

/// The last component of a program's path, as a shell finds it.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn operator(text: &str) -> Option<&str> {
    if let Some(after) = text.strip_prefix("&&").or_else(|| text.strip_prefix("||")) {
        return Some(after);
    }
    let after = text.strip_prefix(';').or_else(|| text.strip_prefix('|'))?;
    // `;;`, `|&` and `;&` are other operators.
    (!after.starts_with([';', '|', '&'])).then_some(after)
}

/// `2>&1`, `>/dev/null`, `2>/dev/null`, `1>/dev/null`, with or without a blank before the file.
fn harmless_redirect(text: &str) -> Option<&str> {
    let after = match text.strip_prefix("2>&1") {
        Some(after) => after,
        None => {
            let target = text.strip_prefix(['1', '2']).unwrap_or(text).strip_prefix('>')?;
            target.trim_start_matches(' ').strip_prefix("/dev/null")?
        }
    };
    (after.is_empty() || after.starts_with([' ', ';', '|', '&'])).then_some(after)
}

/// The word at the head of `text`, unquoted, and what follows it. `leads`: it would be the program.
fn word(text: &str, leads: bool) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut before_quotes: Option<String> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(1..)?;
        match c {
            ' ' | ';' | '|' | '&' => break,
            '\'' | '"' => {
                before_quotes.get_or_insert_with(|| word.clone());
                let (inside, after) = after.split_once(c)?;
                if c == '"' && inside.contains(['$', '`', '\\', '!']) {
                    return None;
                }
                word.push_str(inside);
                rest = after;
            }
            '$' | '`' | '\\' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | ']' | '!' | '#'
            | '^' => {
                return None;
            }
            // A tilde opens a home folder, and in zsh `=` a program, at the head of a word; `~` also after `=` and `:`.
            '~' if word.is_empty() || word.ends_with(['=', ':']) => return None,
            '=' | '%' if word.is_empty() => return None,
            plain => {
                word.push(plain);
                rest = after;
            }
        }
    }
    if word.is_empty() && before_quotes.is_none() {
        return None;
    }
    let assigns = leads && is_assignment(before_quotes.as_deref().unwrap_or(&word));
    (!assigns).then_some((word, rest))
}

/// Whether a shell would take a leading word with this unquoted head as `NAME=…`.
fn is_assignment(head: &str) -> bool {
    let Some((name, _)) = head.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
