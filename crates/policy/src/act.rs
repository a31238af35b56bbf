//! What an item would do, taken apart as far as grants and the human-only list look at it: the command texts, the
//! paths it names and every other text it carries.
//!
//! Taking apart never decides. A text that cannot be taken apart is kept whole and scanned as everything at once.

use crate::paths;
use proto::Item;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// One string of an item with the member it stands under (empty at the top).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) key: String,
    pub(crate) text: String,
    /// It is a word of a list that also stands here as one text.
    pub(crate) word: bool,
}

/// An item taken apart.
#[derive(Debug)]
pub(crate) struct Act<'a> {
    /// The tool's name; empty for kinds without one.
    pub(crate) tool: &'a str,
    /// The session, for grants that name sessions.
    pub(crate) session: &'a str,
    /// The directory it would start in; empty for kinds without one.
    pub(crate) directory: &'a str,
    /// Every string of the input. Where the text is not JSON: one leaf, the text itself.
    pub(crate) leaves: Vec<Leaf>,
    /// Whether the input was one JSON value.
    pub(crate) parsed: bool,
}

/// Members whose text a tool runs: as a shell command, or as an argv where it is an array.
const COMMAND_KEYS: &[&str] = &["command", "cmd", "commands", "script", "argv", "args"];
/// Members that name a file or a folder.
const PATH_KEYS: &[&str] =
    &["file_path", "notebook_path", "path", "paths", "directory", "cwd", "workdir", "glob"];
/// Members of known tools that are content, words or search terms: neither run nor opened, so not scanned. A tool or
/// a member that does not stand here is scanned whole.
const CONTENT: &[(&str, &[&str])] = &[
    ("Bash", &["description"]),
    ("PowerShell", &["description"]),
    ("Write", &["content"]),
    ("Edit", &["old_string", "new_string"]),
    ("MultiEdit", &["old_string", "new_string"]),
    ("NotebookEdit", &["new_source", "cell_type", "edit_mode"]),
    ("Grep", &["pattern", "output_mode", "type"]),
    ("WebFetch", &["prompt"]),
    ("WebSearch", &["query"]),
    ("Agent", &["prompt", "description"]),
    ("Task", &["prompt", "description"]),
    ("AskUserQuestion", &["question", "header", "label", "description"]),
    ("ExitPlanMode", &["plan"]),
    ("TodoWrite", &["content", "activeForm"]),
    ("write_file", &["content"]),
    ("edit_file", &["old", "new", "old_string", "new_string"]),
];
/// Tools whose `pattern` is a pattern of paths; elsewhere it is a search term.
const PATTERN_IS_PATH: &[&str] = &["Glob"];
/// Tools whose `path` is the folder in which they search.
const SEARCH: &[&str] = &["Glob", "Grep"];

impl<'a> Act<'a> {
    pub(crate) fn of(item: &'a Item) -> Self {
        match item {
            Item::Ask(ask) => Self::of_input(&ask.tool, &ask.session, &ask.cwd, &ask.input),
            Item::Call(call) => Self::of_input(&call.tool, &call.session, "", &call.arguments),
            Item::Command(command) => {
                let leaf = Leaf { key: "command".to_owned(), text: command.command.clone(), word: false };
                Self::plain(&command.directory, vec![leaf])
            }
            Item::Review(review) => Self::plain(&review.worktree, Vec::new()),
            Item::Decision(_) => Self::plain("", Vec::new()),
        }
    }

    fn plain(directory: &'a str, leaves: Vec<Leaf>) -> Self {
        Self { tool: "", session: "", directory, leaves, parsed: true }
    }

    fn of_input(tool: &'a str, session: &'a str, directory: &'a str, input: &str) -> Self {
        let (leaves, parsed) = match leaves(input) {
            Some(leaves) => (leaves, true),
            None => (vec![Leaf { key: String::new(), text: input.to_owned(), word: false }], false),
        };
        Self { tool, session, directory, leaves, parsed }
    }

    /// The texts that run, as far as it can be known from their names.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().filter(|leaf| self.is_command(leaf)).map(|leaf| leaf.text.as_str())
    }

    /// Whether the leaf's text runs, by its name; or could, where the input could not be taken apart.
    pub(crate) fn is_command(&self, leaf: &Leaf) -> bool {
        !self.parsed || COMMAND_KEYS.contains(&leaf.key.as_str())
    }

    /// The same without the words of an argv, which stands there as one text: what must match a pattern whole.
    pub(crate) fn whole_commands(&self) -> impl Iterator<Item = &str> {
        self.leaves
            .iter()
            .filter(|leaf| COMMAND_KEYS.contains(&leaf.key.as_str()) && !leaf.word)
            .map(|leaf| leaf.text.as_str())
    }

    /// Everything that may be run or opened: all but the content of known tools.
    pub(crate) fn scanned(&self) -> impl Iterator<Item = &Leaf> {
        let content = CONTENT.iter().find(|(tool, _)| *tool == self.tool).map_or(&[][..], |(_, keys)| *keys);
        self.leaves.iter().filter(move |leaf| !content.contains(&leaf.key.as_str()))
    }

    /// Every word that could be a path, absolute: what a command or an unknown tool may mean, not what it does.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = String> {
        let words = self.scanned().flat_map(|leaf| {
            leaf.text.split(|c: char| c.is_whitespace() || c.is_control() || "\"'`;|&()<>=,{}".contains(c))
        });
        words.filter(|word| !word.is_empty()).filter_map(|word| paths::normalise(self.directory, word))
    }

    /// Whether its `path` is where its patterns start.
    pub(crate) fn searches(&self) -> bool {
        SEARCH.contains(&self.tool)
    }

    /// Whether the leaf names a path and nothing that a shell would read.
    pub(crate) fn names_a_path(&self, leaf: &Leaf) -> bool {
        PATH_KEYS.contains(&leaf.key.as_str())
            || (leaf.key == "pattern" && PATTERN_IS_PATH.contains(&self.tool))
    }
}

/// Every string of one JSON value with its member name, duplicates kept, in order. A list of strings counts as one
/// text (an argv) *and* its elements. `None` where the text is not exactly one JSON value.
fn leaves(text: &str) -> Option<Vec<Leaf>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut found = Vec::new();
    deserializer.deserialize_any(Walk { key: "", found: &mut found }).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

/// A word as the lexer reads it back: an argv has no shell, so that nothing in it means anything.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) || word.contains('\'') {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

struct Walk<'k, 'f> {
    key: &'k str,
    found: &'f mut Vec<Leaf>,
}

impl Walk<'_, '_> {
    fn push(self, text: String) {
        self.found.push(Leaf { key: self.key.to_owned(), text, word: false });
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.push(text.to_owned());
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        // Each text joins one list only (an element that adds several leaves joins none), so that nesting cannot
        // multiply what is kept.
        let mut argv: Vec<String> = Vec::new();
        let mut words: Vec<usize> = Vec::new();
        let mut before = self.found.len();
        while list.next_element_seed(Walk { key: self.key, found: &mut *self.found })?.is_some() {
            if let Some([only]) = self.found.get(before..) {
                argv.push(quoted(&only.text));
                words.push(before);
            }
            before = self.found.len();
        }
        // One word alone is its own text, unless a shell would read it as more.
        let alone = argv.len() == 1
            && words.first().and_then(|at| self.found.get(*at)).map(|leaf| &leaf.text) == argv.first();
        if !argv.is_empty() && !alone {
            for at in words {
                if let Some(leaf) = self.found.get_mut(at) {
                    leaf.word = true;
                }
            }
            self.push(argv.join(" "));
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            members.next_value_seed(Walk { key: &key, found: &mut *self.found })?;
            self.found.push(Leaf { key: String::new(), text: key, word: false });
        }
        Ok(())
    }
}
