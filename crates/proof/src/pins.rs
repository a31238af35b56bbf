//! The pinned approvers of one machine user, as read from `approvers.json`: whose keys count, for which executors, how many
//! persons a kind needs, and what was revoked.
//!
//! Read anew at each check; a key is parsed once, when a signature first names it. Writing the file is `pin_file`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use proto::api::PinEntry;
use proto::{Kind, Refusal, Timestamp, b64, limits, sha256};
use serde_json::value::RawValue;

use crate::json::{self, BadJson, Object};
use crate::keys::{Alg, BadKey, PublicKey};

/// Why a pin file cannot be used. An executor that meets one allows nothing (`no_key_pinned`) and says this on stderr.
#[derive(Debug, thiserror::Error)]
pub enum BadPins {
    /// It cannot be read.
    #[error("cannot read the pin file `{}`", path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may read or write it, it belongs to somebody else, or it is no plain file.
    #[error("the pin file `{}` must be a plain file of yours that nobody else may touch: chmod 600", path.display())]
    NotOwnerOnly {
        /// Where.
        path: PathBuf,
    },
    /// More than [`limits::PIN_FILE_BYTES`].
    #[error("the pin file is too large; remove keys that lapsed")]
    TooLarge,
    /// Not the documented JSON.
    #[error("the pin file is malformed: {0}")]
    Malformed(String),
}

/// Whose a key is: keys of one person count once towards a quorum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Person {
    /// Pinned with that name.
    Named(String),
    /// A key without a name counts as its own person; this is its id.
    Key(String),
}

impl Person {
    /// The name to show: the person's, else the key's id.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Key(name) => name,
        }
    }
}

/// One pinned key.
#[derive(Debug)]
pub struct PinnedKey {
    entry: PinEntry,
    parsed: OnceLock<Result<PublicKey, BadKey>>,
}

impl PinnedKey {
    fn new(entry: PinEntry) -> Self {
        Self { entry, parsed: OnceLock::new() }
    }

    /// As it stands in the file.
    #[must_use]
    pub fn entry(&self) -> &PinEntry {
        &self.entry
    }

    /// Whose it is.
    #[must_use]
    pub fn person(&self) -> Person {
        match &self.entry.person {
            Some(name) => Person::Named(name.clone()),
            None => Person::Key(self.entry.id.clone()),
        }
    }

    /// The key itself, parsed at the first call.
    ///
    /// # Errors
    /// [`BadKey`] where the entry is one that must not have been pinned.
    pub fn key(&self) -> Result<&PublicKey, BadKey> {
        self.parsed.get_or_init(|| parse_key(&self.entry)).as_ref().map_err(|bad| *bad)
    }
}

fn parse_key(entry: &PinEntry) -> Result<PublicKey, BadKey> {
    let alg = Alg::from_cose(entry.alg).ok_or(BadKey::Algorithm)?;
    let spki = b64::decode(&entry.spki).map_err(|_| BadKey::Form)?;
    PublicKey::parse(alg, &spki)
}

/// The pin file, checked and parsed.
#[derive(Debug)]
pub struct Approvers {
    executors: BTreeSet<String>,
    quorum: BTreeMap<Kind, u32>,
    keys: Vec<PinnedKey>,
    revoked: BTreeSet<String>,
}

impl Approvers {
    /// No pin file: every check ends in `no_key_pinned`.
    #[must_use]
    pub fn none() -> Self {
        Self { executors: BTreeSet::new(), quorum: BTreeMap::new(), keys: vec![], revoked: BTreeSet::new() }
    }

    /// Reads the file at `path`; [`Approvers::none`] where there is none.
    ///
    /// # Errors
    /// [`BadPins`] for a file that cannot be read, is not its owner's alone, or is malformed.
    pub fn read(path: &Path) -> Result<Self, BadPins> {
        match read_owner_only(path)? {
            Some(bytes) => Self::parse(&bytes),
            None => Ok(Self::none()),
        }
    }

    /// Reads the file's bytes.
    ///
    /// # Errors
    /// [`BadPins::TooLarge`] and [`BadPins::Malformed`]. A key that must not be pinned is no error here: it stays in the
    /// list and no signature counts under it (see [`Approvers::unusable`]).
    pub fn parse(bytes: &[u8]) -> Result<Self, BadPins> {
        if bytes.len() > limits::PIN_FILE_BYTES {
            return Err(BadPins::TooLarge);
        }
        parse_file(bytes).map_err(|bad| BadPins::Malformed(bad.to_string()))
    }

    /// Whether the file speaks for that executor.
    #[must_use]
    pub fn names(&self, identity: &str) -> bool {
        self.executors.contains(identity)
    }

    /// The executors it speaks for.
    pub fn executors(&self) -> impl Iterator<Item = &str> {
        self.executors.iter().map(String::as_str)
    }

    /// Its keys, revoked ones too, in the file's order.
    #[must_use]
    pub fn keys(&self) -> &[PinnedKey] {
        &self.keys
    }

    /// Persons that must sign for an item of that kind; at least 1.
    #[must_use]
    pub fn quorum(&self, kind: Kind) -> u32 {
        self.quorum.get(&kind).copied().unwrap_or(1)
    }

    /// The highest quorum in the file: what pinning a further key needs. At least 1.
    #[must_use]
    pub fn highest_quorum(&self) -> u32 {
        self.quorum.values().copied().max().unwrap_or(1)
    }

    /// Whether that key, rule or delegation was revoked.
    #[must_use]
    pub fn is_revoked(&self, id: &str) -> bool {
        self.revoked.contains(id)
    }

    /// Ids that were revoked.
    pub fn revoked(&self) -> impl Iterator<Item = &str> {
        self.revoked.iter().map(String::as_str)
    }

    /// Keys under which no signature can count, each with the reason; `sealward doctor` shows them.
    pub fn unusable(&self) -> impl Iterator<Item = (&PinEntry, BadKey)> {
        self.keys.iter().filter_map(|pinned| pinned.key().err().map(|bad| (&pinned.entry, bad)))
    }

    /// Ids of the keys that may sign at `now`: usable, not revoked, not lapsed.
    #[must_use]
    pub fn may_sign(&self, now: Timestamp) -> Vec<&PinEntry> {
        self.keys.iter().map(|pinned| &pinned.entry).filter(|e| self.pinned(&e.id, now).is_ok()).collect()
    }

    /// Step 2: the one pinned key of an id.
    pub(crate) fn pinned(&self, id: &str, now: Timestamp) -> Result<&PinnedKey, Refusal> {
        if self.keys.is_empty() {
            return Err(Refusal::NoKeyPinned);
        }
        let mut found = self.keys.iter().filter(|pinned| pinned.entry.id == id);
        let (Some(pinned), None) = (found.next(), found.next()) else {
            return Err(Refusal::NotPinned);
        };
        if self.is_revoked(id) {
            return Err(Refusal::Revoked);
        }
        if pinned.entry.not_after.is_some_and(|end| now > end) {
            return Err(Refusal::LapsedKey);
        }
        match pinned.key() {
            Ok(_) => Ok(pinned),
            Err(_) => Err(Refusal::NotPinned),
        }
    }
}

/// Reads a pin file that only its owner may touch; `None` where there is no file.
pub(crate) fn read_owner_only(path: &Path) -> Result<Option<Vec<u8>>, BadPins> {
    let cannot = |source| BadPins::Read { path: path.to_owned(), source };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(cannot(e)),
    };
    let about = file.metadata().map_err(cannot)?;
    if !about.is_file() || about.mode() & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
        return Err(BadPins::NotOwnerOnly { path: path.to_owned() });
    }
    let mut bytes = vec![];
    let limit = u64::try_from(limits::PIN_FILE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > limits::PIN_FILE_BYTES { Err(BadPins::TooLarge) } else { Ok(Some(bytes)) }
}

fn parse_file(bytes: &[u8]) -> Result<Approvers, BadJson> {
    let mut file = Object::parse(bytes)?;
    if file.integer("v")? != 1 {
        return Err(BadJson::Value("v"));
    }
    let executors = one_or_many(file.take("executor")?)?;
    let quorum = match file.has("quorum") {
        true => parse_quorum(file.object("quorum")?)?,
        false => BTreeMap::new(),
    };
    let mut keys = vec![];
    for raw in json::array(file.take("keys")?, "keys")? {
        keys.push(PinnedKey::new(parse_entry(Object::parse(raw.get().as_bytes())?)?));
    }
    let revoked = match file.has("revoked") {
        true => file.texts("revoked")?.into_iter().collect(),
        false => BTreeSet::new(),
    };
    file.finish()?;
    Ok(Approvers { executors, quorum, keys, revoked })
}

fn one_or_many(raw: &RawValue) -> Result<BTreeSet<String>, BadJson> {
    match json::text(raw, "executor") {
        Ok(one) => Ok(BTreeSet::from([one])),
        Err(_) => json::array(raw, "executor")?.into_iter().map(|one| json::text(one, "executor")).collect(),
    }
}

fn parse_quorum(object: Object<'_>) -> Result<BTreeMap<Kind, u32>, BadJson> {
    let mut quorum = BTreeMap::new();
    for (name, raw) in object.into_members() {
        let kind: Kind = name.parse().map_err(|_| BadJson::Unknown(name.into_owned()))?;
        let persons = u32::try_from(json::integer(raw, "quorum")?).map_err(|_| BadJson::Value("quorum"))?;
        if persons == 0 {
            return Err(BadJson::Value("quorum"));
        }
        quorum.insert(kind, persons);
    }
    Ok(quorum)
}

/// One pin entry, strict; whether its key is fit to be pinned is not looked at.
pub(crate) fn parse_entry(mut object: Object<'_>) -> Result<PinEntry, BadJson> {
    let entry = PinEntry {
        id: object.text("id")?,
        alg: object.integer("alg")?,
        spki: object.text("spki")?,
        rp_id: object.text("rp_id")?,
        origins: object.texts("origins")?,
        label: object.text("label")?,
        person: object.take_optional("person").map(|raw| json::text(raw, "person")).transpose()?,
        not_after: match object.take_optional("not_after") {
            None => None,
            Some(raw) if raw.get() == "null" => None,
            Some(raw) => Some(Timestamp::from_millis(json::integer(raw, "not_after")?)),
        },
        backup_eligible: json::boolean(object.take("backup_eligible")?, "backup_eligible")?,
        since: Timestamp::from_millis(object.integer("since")?),
    };
    object.finish()?;
    Ok(entry)
}

/// Why an entry must not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// The key itself.
    #[error(transparent)]
    Key(#[from] BadKey),
    /// The id is not canonical base64url, or is empty.
    #[error("the key's id is not base64url")]
    Id,
    /// No relying party.
    #[error("the relying party is empty")]
    RpId,
    /// An SSH key whose id is not the hash of its key blob, or which is RSA.
    #[error("a key without origins is an SSH security key, and its id must be the SHA-256 of its key blob")]
    SshId,
    /// No name to show, or one with line breaks or control characters.
    #[error("the label or the person's name is empty or has control characters")]
    Label,
}

/// What every entry must pass before it is pinned.
///
/// # Errors
/// [`BadEntry`] says which rule it breaks.
pub fn check_entry(entry: &PinEntry) -> Result<(), BadEntry> {
    let key = parse_key(entry)?;
    if entry.id.is_empty() || b64::decode(&entry.id).is_err() {
        return Err(BadEntry::Id);
    }
    if entry.rp_id.is_empty() {
        return Err(BadEntry::RpId);
    }
    if entry.origins.is_empty()
        && crate::sshsig::key_id(&key, &entry.rp_id).as_deref() != Some(entry.id.as_str())
    {
        return Err(BadEntry::SshId);
    }
    let shown = [Some(&entry.label), entry.person.as_ref()];
    if shown.into_iter().flatten().any(|name| name.trim().is_empty() || name.chars().any(char::is_control)) {
        return Err(BadEntry::Label);
    }
    Ok(())
}

/// What two devices show and a person compares: the first 20 base32 characters of SHA-256(spki), in fives.
///
/// # Errors
/// [`BadKey::Form`] if the entry's SPKI is not base64url.
pub fn fingerprint(entry: &PinEntry) -> Result<String, BadKey> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let spki = b64::decode(&entry.spki).map_err(|_| BadKey::Form)?;
    let mut text = String::with_capacity(23);
    let mut pending: u32 = 0;
    let mut bits = 0_u32;
    for byte in sha256(&spki).as_bytes().iter().take(13) {
        pending = (pending << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 && text.len() < 23 {
            if matches!(text.len(), 5 | 11 | 17) {
                text.push('-');
            }
            bits -= 5;
            let index = usize::try_from((pending >> bits) & 31).unwrap_or(0);
            text.push(ALPHABET.get(index).copied().map_or('?', char::from));
        }
        pending &= (1 << bits) - 1;
    }
    Ok(text)
}
