//! Asking at the terminal whether a proposed key is to be pinned, and pinning it.
//!
//! The one question in the product whose answer is a person's and not a signature: everything sealed later rests on it.
//! So the answer is not "yes" but what only the other device shows: the end of its fingerprint.

pub(crate) mod enrolment;
pub(crate) mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use proto::Timestamp;
use proto::api::PinEntry;

use self::enrolment::EnrolmentError;
use self::terminal::{Terminal, TerminalError};
use crate::home::Home;
use crate::home::pins::{self, PinsError, Proposed};
use crate::output::Chain;

/// Characters of the fingerprint that a person must type.
const TYPED: usize = 6;
/// Wrong answers before a proposal is dropped: enough for typing errors, too few to guess at 30 bits.
const TRIES: u8 = 3;

/// How a proposal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Pinned in every pin file of this home.
    Pinned { label: String, fingerprint: String },
    /// The person said no, or typed wrong too often.
    Rejected { label: String },
    /// The file cannot be a pin; it was dropped unasked.
    Unfit { why: String },
    /// Another terminal answered first.
    Elsewhere { label: String },
}

/// A question could not be asked or its answer not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PinningError {
    /// The terminal would not.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// A pin file would not.
    #[error(transparent)]
    Pins(#[from] PinsError),
    /// The proposals would not.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
}

/// Where proposals are put to a person, one at a time.
#[derive(Debug)]
pub(crate) struct Desk {
    home: Home,
    /// The page's origin, where it is known: a key made for another page is then never pinned.
    origin: Option<String>,
    terminal: Option<Terminal>,
    /// Pin the first proposal unasked, if nothing is pinned yet.
    pin_first: bool,
    /// Whose the keys are that are pinned here, where the person at the terminal said so.
    person: Option<String>,
    asking: Option<Asking>,
}

#[derive(Debug)]
struct Asking {
    file: PathBuf,
    key: Proposed,
    tries: u8,
}

impl Desk {
    /// A desk at this terminal; without one it only notices what is proposed when `pin_first` is set.
    pub(crate) fn new(
        home: Home,
        origin: Option<String>,
        terminal: Option<Terminal>,
        pin_first: bool,
    ) -> Self {
        Self { home, origin, terminal, pin_first, person: None, asking: None }
    }

    /// The same desk, where every key pinned is this person's.
    pub(crate) fn of_person(self, person: Option<String>) -> Self {
        Self { person, ..self }
    }

    /// Whether a question is open.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Looks at the proposals: asks about the next one, or notices that the open question is moot.
    ///
    /// # Errors
    /// See [`PinningError`].
    pub(crate) fn look(&mut self, now: Timestamp) -> Result<Option<Settled>, PinningError> {
        if let Some(asking) = self.asking.take_if(|asking| !asking.file.exists()) {
            self.show("\n")?;
            return Ok(Some(Settled::Elsewhere { label: asking.key.entry.label }));
        }
        if self.asking.is_some() {
            return Ok(None);
        }
        let Some(file) = enrolment::proposals(&self.home)?.into_iter().next() else { return Ok(None) };
        let key = match pins::read_proposal(&file, self.origin.as_deref()) {
            Ok(key) => key,
            Err(why) => {
                discard(&file)?;
                return Ok(Some(Settled::Unfit { why: Chain(&why).to_string() }));
            }
        };
        if self.pin_first && !pins::any(&self.home)? {
            return self.pin(&file, &key, now).map(Some);
        }
        if self.terminal.is_some() {
            self.ask(file, key)?;
        }
        Ok(None)
    }

    /// Asks about one key that came as a file of the person's own.
    ///
    /// # Errors
    /// See [`PinningError`].
    pub(crate) fn ask(&mut self, file: PathBuf, key: Proposed) -> Result<(), PinningError> {
        self.show(&question(&key))?;
        self.asking = Some(Asking { file, key, tries: TRIES });
        Ok(())
    }

    /// Takes a line that was typed. Without an open question it means nothing.
    ///
    /// # Errors
    /// See [`PinningError`].
    pub(crate) fn answer(&mut self, line: &str, now: Timestamp) -> Result<Option<Settled>, PinningError> {
        let Some(mut asking) = self.asking.take() else { return Ok(None) };
        if !asking.file.exists() {
            return Ok(Some(Settled::Elsewhere { label: asking.key.entry.label }));
        }
        if is_end_of(&asking.key.fingerprint, line) {
            return self.pin(&asking.file, &asking.key, now).map(Some);
        }
        asking.tries = asking.tries.saturating_sub(1);
        if matches!(line.to_lowercase().as_str(), "n" | "no") || asking.tries == 0 {
            self.reject(&asking.file)?;
            return Ok(Some(Settled::Rejected { label: asking.key.entry.label }));
        }
        self.show(&format!(
            "That is not the end of its fingerprint; nothing was pinned. Last {TYPED} characters, or `no`: "
        ))?;
        self.asking = Some(asking);
        Ok(None)
    }

    fn pin(&self, file: &Path, key: &Proposed, now: Timestamp) -> Result<Settled, PinningError> {
        use proof::pin_file::PinFileError::{Entry, OtherKey, Revoked};
        let person = self.person.clone().or_else(|| key.entry.person.clone());
        let entry = PinEntry { since: now, person, ..key.entry.clone() };
        let settled = match pins::pin(&self.home, &entry, now) {
            Ok(()) => {
                Settled::Pinned { label: key.entry.label.clone(), fingerprint: key.fingerprint.clone() }
            }
            Err(PinsError::Change(why @ (Entry(_) | OtherKey(_) | Revoked(_)))) => {
                Settled::Unfit { why: Chain(&why).to_string() }
            }
            Err(other) => return Err(other.into()),
        };
        self.reject(file)?;
        Ok(settled)
    }

    /// Drops a proposal. A file outside the folder of proposals is a person's own and stays.
    fn reject(&self, file: &Path) -> Result<(), PinningError> {
        if file.starts_with(self.home.proposals()) { discard(file) } else { Ok(()) }
    }

    fn show(&mut self, text: &str) -> Result<(), PinningError> {
        match &mut self.terminal {
            Some(terminal) => Ok(terminal.show(text)?),
            None => Ok(()),
        }
    }
}

/// What the terminal says. Label and origin come from the other device, so they are shown with every odd character escaped.
fn question(key: &Proposed) -> String {
    format!(
        "\nA device asks to become an approver:\n  \
         label        {}\n  \
         fingerprint  {}\n  \
         for          {}\n\
         Compare the fingerprint with the one the other device shows.\n\
         To pin the key, type the last {TYPED} characters as that device shows them; `no` drops it: ",
        plain(&key.entry.label),
        key.fingerprint,
        plain(&key.entry.origins.join(", ")),
    )
}

/// Text of a stranger for a terminal: printable ASCII and letters stay, everything else is escaped.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// Whether the typed text is the end of the fingerprint, with or without its dashes, in any case, six characters or more.
fn is_end_of(fingerprint: &str, typed: &str) -> bool {
    let typed: String = typed.trim().to_ascii_uppercase();
    let bare = |text: &str| text.chars().filter(|c| *c != '-' && *c != ' ').collect::<String>();
    let end = |whole: &str, end: &str| end.len() >= TYPED && whole.ends_with(end);
    end(fingerprint, &typed) || end(&bare(fingerprint), &bare(&typed))
}

fn discard(file: &Path) -> Result<(), PinningError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            let path = file.to_path_buf();
            Err(EnrolmentError::from(crate::home::files::FileError::Write { path, source }).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_end_of, plain};

    #[test]
    fn six_characters_of_the_end_are_wanted_in_any_case_and_with_or_without_dashes() {
        let fingerprint = "ABCDE-FGHIJ-KLMNO-PQRST";
        for right in ["OPQRST", "opqrst", "O-PQRST", "-PQRST", " opqrst ", fingerprint, "KLMNOPQRST"] {
            assert!(is_end_of(fingerprint, right), "{right}");
        }
        for wrong in ["", "PQRST", "QRST", "PQRSTU", "ABCDEF", "OPQRSX", "yes", "y", "-----"] {
            assert!(!is_end_of(fingerprint, wrong), "{wrong}");
        }
    }

    #[test]
    fn a_label_cannot_move_the_cursor_nor_hide_text() {
        assert_eq!(plain("Adas Telefon ü"), "Adas Telefon ü");
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c\n"), "a\\u{1b}[2Jb\\u{202e}c\\u{a}");
    }
}
