//! The form of a grants file, and the errors that name file, line and key. What a grant does is [`super`]'s.
//!
//! ```toml
//! [[grant]]
//! name = "look-at-the-repository"
//! tool = "Bash"                       # a name, several, or a pattern such as "mcp__github__*"
//! effect = "allow"                    # allow, review, ask, deny
//! command = ["git status", "git log *"]
//! path = ["./**"]                     # below the call's directory; or absolute
//! sessions = ["s1"]                   # the agent's own claim
//! expires = 2027-01-31T00:00:00Z
//! assurance = "passkey"               # client, passkey, { quorum = 2 }
//! match = ["git log main", { input = '{"command":"git status"}', cwd = "/repo" }]
//! not_match = ["git push"]
//!
//! [[human_only]]                      # lengthens the list
//! name = "cloud"
//! sentence = "it changes the cloud"
//! command = ["terraform apply"]
//! path = ["terraform.tfstate"]
//! ```
//! A grant whose example fails does not load, and neither does the set.

use std::ops::Range;

use proto::{AskItem, Item, Timestamp, limits};
use serde::Deserialize;
use toml::{Spanned, value::Datetime};

use super::{Assurance, Effect, Grant, command::Pattern};
use crate::act::Act;
use crate::human_only::{Addition, List};
use crate::paths::{self, Scope};
use crate::real_paths::RealPaths;

/// A grants file that does not load, and so nothing of its set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}`, line {line}, `{key}`: {problem}")]
pub struct BadGrants {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, or the table where no key is to blame.
    pub key: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    grant: Vec<Spanned<RawGrant>>,
    #[serde(default)]
    human_only: Vec<RawAddition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGrant {
    name: Spanned<String>,
    tool: OneOrMany,
    effect: Effect,
    #[serde(default)]
    path: OneOrMany,
    #[serde(default)]
    command: OneOrMany,
    #[serde(default)]
    sessions: Vec<String>,
    expires: Option<Spanned<Datetime>>,
    assurance: Option<Spanned<Assurance>>,
    #[serde(default, rename = "match")]
    matches: Vec<Spanned<Example>>,
    #[serde(default)]
    not_match: Vec<Spanned<Example>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAddition {
    name: Spanned<String>,
    sentence: Spanned<String>,
    #[serde(default)]
    path: OneOrMany,
    #[serde(default)]
    command: OneOrMany,
}

/// A string, or a list of them.
#[derive(Default)]
struct OneOrMany(Vec<Spanned<String>>);

/// A call that a grant must match, or must not. In short form the text is the command of a grant with `command`, the
/// path of one with `path`, else the name of a tool.
enum Example {
    Short(String),
    Whole(WholeExample),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeExample {
    tool: Option<String>,
    #[serde(default = "empty_object")]
    input: String,
    #[serde(default = "example_folder")]
    cwd: String,
}

fn empty_object() -> String {
    "{}".to_owned()
}

/// Where a call of an example starts, unless it says so itself.
fn example_folder() -> String {
    "/example".to_owned()
}

/// A file's name and text, to turn a place in it into words.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn bad(&self, span: Range<usize>, key: &str, problem: impl Into<String>) -> BadGrants {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        BadGrants { file: self.file.to_owned(), line, key: key.to_owned(), problem: problem.into() }
    }

    fn unreadable(&self, error: &toml::de::Error) -> BadGrants {
        let span = error.span().unwrap_or(0..0);
        let bad = self.bad(span, "", error.message());
        let line = self.text.lines().nth(bad.line.saturating_sub(1)).unwrap_or_default();
        let key = line.split_once('=').map_or(line, |(key, _)| key).trim();
        BadGrants { key: key.to_owned(), ..bad }
    }
}

/// Reads one file and adds what it says to the set and the list.
pub(super) fn read(
    file: &str,
    text: &str,
    grants: &mut Vec<Grant>,
    list: &mut List,
) -> Result<(), BadGrants> {
    let source = Source { file, text };
    if text.len() > limits::GRANT_FILE_BYTES {
        let problem = format!("the file is over {} bytes; split it", limits::GRANT_FILE_BYTES);
        return Err(source.bad(0..0, "file", problem));
    }
    let raw: RawFile = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
    let RawFile { grant, human_only } = raw;
    for raw in grant {
        if grants.len() >= limits::GRANTS {
            let problem = format!("over {} grants in all; remove some", limits::GRANTS);
            return Err(source.bad(raw.span(), "grant", problem));
        }
        let grant = checked(&source, raw.into_inner(), grants)?;
        grants.push(grant);
    }
    for raw in human_only {
        list.add(addition(&source, raw)?);
    }
    Ok(())
}

fn checked(source: &Source<'_>, raw: RawGrant, others: &[Grant]) -> Result<Grant, BadGrants> {
    let RawGrant { name, tool, effect, path, command, sessions, expires, assurance, matches, not_match } =
        raw;
    if name.get_ref().is_empty() || name.get_ref().len() > limits::NAME_BYTES {
        return Err(source.bad(
            name.span(),
            "name",
            format!("write a name of 1 to {} bytes", limits::NAME_BYTES),
        ));
    }
    if others.iter().any(|other| other.name == *name.get_ref()) {
        let problem = format!("another grant is called `{}`; names are unique", name.get_ref());
        return Err(source.bad(name.span(), "name", problem));
    }
    if tool.0.is_empty() || tool.0.iter().any(|tool| tool.get_ref().is_empty()) {
        return Err(source.bad(name.span(), "tool", "name a tool, or `*` for every tool"));
    }
    let paths = path.each(source, "path", Scope::parse)?;
    let commands = command.each(source, "command", Pattern::parse)?;
    let expires = match expires {
        None => None,
        Some(written) => Some(moment(*written.get_ref()).ok_or_else(|| {
            source.bad(written.span(), "expires", "write date, time and zone, as in 2027-01-31T00:00:00Z")
        })?),
    };
    let assurance = match assurance {
        None => Assurance::Passkey,
        Some(written) => match written.get_ref() {
            Assurance::Quorum(persons) if !(1..=limits::QUORUM_MAX).contains(persons) => {
                let problem = format!("a quorum is 1 to {} persons", limits::QUORUM_MAX);
                return Err(source.bad(written.span(), "assurance", problem));
            }
            given @ (Assurance::Client | Assurance::Passkey | Assurance::Quorum(_)) => *given,
        },
    };
    let tools = tool.0.into_iter().map(Spanned::into_inner).collect();
    let grant =
        Grant { name: name.into_inner(), tools, effect, paths, commands, sessions, expires, assurance };
    for (key, examples, wanted) in [("match", &matches, true), ("not_match", &not_match, false)] {
        if let Some(example) = examples.iter().find(|example| grant.fits(example.get_ref()) != wanted) {
            let not = if wanted { "does not match" } else { "matches" };
            let problem =
                format!("the grant `{}` {not} this example; mend the grant or the example", grant.name);
            return Err(source.bad(example.span(), key, problem));
        }
    }
    Ok(grant)
}

fn addition(source: &Source<'_>, raw: RawAddition) -> Result<Addition, BadGrants> {
    let RawAddition { name, sentence, path, command } = raw;
    if name.get_ref().is_empty() || sentence.get_ref().is_empty() {
        return Err(source.bad(name.span(), "name", "write a name and a sentence that says why"));
    }
    if path.0.is_empty() && command.0.is_empty() {
        return Err(source.bad(name.span(), "human_only", "write a `path` or a `command` that it names"));
    }
    let paths = path.each(source, "path", |text| {
        let folded: Vec<String> = paths::components(text).map(paths::fold).collect();
        if folded.is_empty() { Err("name a file or a folder") } else { Ok(folded.join("/")) }
    })?;
    let commands = command.each(source, "command", |text| {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() { Err("write the words of the command") } else { Ok(words) }
    })?;
    Ok(Addition { name: name.into_inner(), sentence: sentence.into_inner(), paths, commands })
}

impl OneOrMany {
    fn each<T>(
        &self,
        source: &Source<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, BadGrants> {
        self.0
            .iter()
            .map(|text| {
                parse(text.get_ref()).map_err(|problem| {
                    source.bad(text.span(), key, format!("`{}`: {problem}", text.get_ref()))
                })
            })
            .collect()
    }
}

impl Grant {
    /// Whether it names the example's call. Paths count as real: an example has no file system.
    fn fits(&self, example: &Example) -> bool {
        let first_tool = self.tools.first().map_or("", String::as_str);
        let (tool, input, cwd) = match example {
            Example::Whole(WholeExample { tool, input, cwd }) => {
                (tool.as_deref().unwrap_or(first_tool), input.clone(), cwd.clone())
            }
            Example::Short(text) if !self.commands.is_empty() => {
                (first_tool, serde_json::json!({ "command": text }).to_string(), example_folder())
            }
            Example::Short(text) if !self.paths.is_empty() => {
                (first_tool, serde_json::json!({ "file_path": text }).to_string(), example_folder())
            }
            Example::Short(text) => (text.as_str(), empty_object(), example_folder()),
        };
        let empty = String::new;
        let ask = AskItem {
            id: empty(),
            executor: empty(),
            agent: empty(),
            session: empty(),
            tool: tool.to_owned(),
            input,
            cwd,
        };
        let item = Item::Ask(ask);
        let real = RealPaths::resolve(&item, |path| Some(path.to_owned()));
        self.names(&Act::of(&item), &real)
    }
}

/// A TOML date, time and zone as milliseconds since 1970; `None` where one of the three is missing.
fn moment(written: Datetime) -> Option<Timestamp> {
    let Datetime { date: Some(date), time: Some(time), offset: Some(offset) } = written else { return None };
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    // Days from 1970-03-01-based years: March first, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let offset_minutes = match offset {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    let minutes = days * 24 * 60 + i64::from(time.hour) * 60 + i64::from(time.minute) - offset_minutes;
    let second = i64::from(time.second.unwrap_or(0));
    let millis = i64::from(time.nanosecond.unwrap_or(0)) / 1_000_000;
    Some(Timestamp::from_millis((minutes * 60 + second) * 1000 + millis))
}

mod shapes {
    //! How the forms of a value that serde has no derive for are read.

    use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor, value};
    use toml::Spanned;

    use super::{Example, OneOrMany, WholeExample};

    impl<'de> Deserialize<'de> for OneOrMany {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let spanned = Spanned::<Written>::deserialize(deserializer)?;
            let span = spanned.span();
            Ok(match spanned.into_inner() {
                Written::One(text) => Self(vec![Spanned::new(span, text)]),
                Written::Many(texts) => Self(texts),
            })
        }
    }

    enum Written {
        One(String),
        Many(Vec<Spanned<String>>),
    }

    impl<'de> Deserialize<'de> for Written {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(WrittenVisitor)
        }
    }

    struct WrittenVisitor;

    impl<'de> Visitor<'de> for WrittenVisitor {
        type Value = Written;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string or a list of strings")
        }
        fn visit_str<E>(self, text: &str) -> Result<Written, E> {
            Ok(Written::One(text.to_owned()))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Written, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            Ok(Written::Many(texts))
        }
    }

    impl<'de> Deserialize<'de> for Example {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(ExampleVisitor)
        }
    }

    struct ExampleVisitor;

    impl<'de> Visitor<'de> for ExampleVisitor {
        type Value = Example;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string or a table with `input`")
        }
        fn visit_str<E>(self, text: &str) -> Result<Example, E> {
            Ok(Example::Short(text.to_owned()))
        }
        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Example, A::Error> {
            WholeExample::deserialize(value::MapAccessDeserializer::new(members)).map(Example::Whole)
        }
    }
}
