//! Command patterns of a grant, word by word.

use crate::lexer::{self, base_name};
use crate::paths::wildcard;

/// Words of a pattern. A last lone `*` stands for any number of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    words: Vec<String>,
    open: bool,
}

/// Programs that run code or write files by their plain operands, each with why. They match only literally.
const RUNS_OPERANDS: &[(&str, &str)] = &[
    ("awk", "its program text runs commands and writes files"),
    ("gawk", "as awk"),
    ("mawk", "as awk"),
    ("nawk", "as awk"),
    ("sed", "its `e` and `w` run and write"),
    ("gsed", "as sed"),
    ("ed", "its script runs and writes"),
    ("ex", "its script runs and writes"),
    ("vi", "its script runs and writes"),
    ("vim", "its script runs and writes"),
    ("perl", "an interpreter"),
    ("python", "an interpreter"),
    ("python2", "an interpreter"),
    ("python3", "an interpreter"),
    ("node", "an interpreter"),
    ("nodejs", "an interpreter"),
    ("deno", "an interpreter"),
    ("bun", "an interpreter"),
    ("ruby", "an interpreter"),
    ("php", "an interpreter"),
    ("lua", "an interpreter"),
    ("tclsh", "an interpreter"),
    ("osascript", "an interpreter"),
    ("tee", "writes its operands"),
    ("dd", "writes `of=`"),
    ("split", "writes files named by an operand"),
    ("csplit", "writes files"),
    ("uniq", "writes its second operand"),
    ("xxd", "writes its second operand"),
    ("install", "writes its last operand"),
    ("cp", "writes its last operand"),
    ("mv", "writes its last operand"),
    ("ln", "makes a link to anywhere"),
    ("tar", "runs programs by flags and writes what an archive names"),
    ("unzip", "writes what an archive names"),
    ("rsync", "runs a remote shell and writes its last operand"),
    ("scp", "runs ssh and writes its last operand"),
    ("find", "`-exec` runs, `-fprint` writes"),
    ("printf", "`-v` evaluates a subscript"),
    ("test", "evaluates a subscript"),
    ("npx", "fetches and runs its operand"),
    ("docker", "runs what its operands name"),
    ("kubectl", "`exec` runs what its operands name"),
    ("gdb", "its script runs"),
    ("sqlite3", "its dot commands run and write"),
    ("psql", "`\\!` runs"),
    ("mysql", "`\\!` runs"),
];

impl Pattern {
    /// Reads a pattern, or says in words why it cannot be one.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let open = words.last().is_some_and(|word| word == "*");
        if open {
            drop(words.pop());
        }
        let Some(program) = words.first() else { return Err("write the program's name first") };
        if program.contains('*') {
            return Err("write the program's name without `*`");
        }
        let wild = open || words.iter().any(|word| word.contains('*'));
        if wild && RUNS_OPERANDS.iter().any(|(name, _)| *name == base_name(program)) {
            return Err(
                "this program runs or writes what its operands say, so write them all out, without `*`",
            );
        }
        Ok(Self { words, open })
    }

    /// Whether the part of a command is what the pattern says, beyond doubt: word for word; a star never stands for a
    /// word that begins with `-` or holds `=`, unless the pattern's own word does.
    pub(super) fn is_exactly(&self, part: &[String]) -> bool {
        let (written, rest) = part.split_at(self.words.len().min(part.len()));
        let fits = written.len() == self.words.len()
            && self.words.iter().zip(written).all(|(wanted, given)| word_fits(wanted, given));
        fits && if self.open { rest.iter().all(|word| !is_option(word)) } else { rest.is_empty() }
    }

    /// Whether the text could do what the pattern says: its words stand in this order in one part, wherever the part
    /// begins. Where the strict lexer leaves doubt, anywhere in the raw text.
    pub(super) fn could_mean(&self, text: &str) -> bool {
        match lexer::parse(text) {
            Some(parts) => parts.iter().any(|part| {
                // An operand may be a command of its own.
                let nested = part.iter().any(|word| word.contains(' ') && self.in_order(loose_words(word)));
                self.in_order(part.iter().map(String::as_str)) || (nested && runs_text(part))
            }),
            None => {
                let joined: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
                self.in_order(loose_words(text)) || self.in_order(loose_words(&joined))
            }
        }
    }

    fn in_order<'a>(&self, mut given: impl Iterator<Item = &'a str>) -> bool {
        self.words.iter().enumerate().all(|(at, wanted)| {
            given.any(|word| {
                let word = word.to_lowercase();
                let wanted = wanted.to_lowercase();
                wildcard(&wanted, &word) || (at == 0 && wildcard(base_name(&wanted), base_name(&word)))
            })
        })
    }
}

fn loose_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control() || "\"'`;|&()<>,{}[]".contains(c))
        .filter(|word| !word.is_empty())
}

fn runs_text(part: &[String]) -> bool {
    part.first().is_some_and(|program| {
        let program = base_name(program);
        RUNS_OPERANDS.iter().any(|(name, _)| *name == program)
            || matches!(program, "git" | "make" | "npm" | "cargo")
    })
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') || word.contains('=')
}

fn word_fits(wanted: &str, given: &str) -> bool {
    if !wanted.contains('*') {
        return wanted == given;
    }
    let dash = !given.starts_with('-') || wanted.starts_with('-');
    let equals = !given.contains('=') || wanted.contains('=');
    dash && equals && wildcard(wanted, given)
}
