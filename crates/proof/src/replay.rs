//! The replay store: a folder in which every use of a proof leaves a file, before the use.
//!
//! One file a claim, made with `O_EXCL`, so that of any number of processes exactly one makes it; file and folder are synced
//! before [`ReplayStore::claim`] returns. A file that a crash left half written counts as used. The store never starts empty by itself:
//! a folder without its marks is `store_damaged` until a person makes it anew.
//!
//! Two marks stand beside the claims: `birth`, and `highest`, the highest `now` seen. `highest` is written in place and not
//! synced (a claim costs two flushes, not three): after a power cut it may be as old as the kernel's write-back, some 30 s, so a clock
//! moved back by that much more than the skew may then pass unseen. It is synced before anything is pruned.
//!
//! Not here: what is a valid proof. Limit, named in the design: a restored or cloned folder forgets what was used since.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use proto::{Digest, Refusal, Timestamp, limits, sha256};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

mod marks;

use marks::{BIRTH, HIGHEST};

/// A claim's file may be read and written by its owner.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// How much of a claim's file is read: a number and a line end.
const CLAIM_BYTES: u64 = 64;
/// Claims are pruned when `now` enters another hour.
const PRUNE_EVERY_MS: i64 = 60 * 60 * 1000;
/// By how much `--create` dates the birth back: what an approval lives at most, so that none that is valid is too old.
const BACKDATED_MS: i64 = limits::APPROVE_LIFE_MS;

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimKey<'a> {
    /// An item, whatever proof covers it.
    Item(Digest),
    /// A message, by nonce and executor.
    Message { nonce: &'a str, executor: &'a str },
}

/// A rule that counts its uses, per executor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleUses<'a> {
    pub(crate) id: &'a str,
    pub(crate) executor: &'a str,
    /// More than 0.
    pub(crate) limit: u64,
}

/// What can be wrong with the folder, in words; towards a checker all of it is `store_damaged`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("the replay store `{}` cannot be used", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A mark is missing or unreadable.
    #[error("the replay store `{}` has no readable `{mark}`: it is not a store, or was damaged", path.display())]
    Mark {
        /// The folder.
        path: PathBuf,
        /// Which one.
        mark: &'static str,
    },
    /// There are claims but no birth.
    #[error("`{}` holds claims but no `birth`: a damaged store, not a place for a new one", path.display())]
    Remains {
        /// The folder.
        path: PathBuf,
    },
}

/// The folder, found whole when it was opened; each claim looks again.
#[derive(Clone, Debug)]
pub struct ReplayStore {
    path: PathBuf,
}

/// The two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// When the store was made.
    pub birth: Timestamp,
    /// The highest `now` a claim has come with.
    pub highest: Timestamp,
}

impl ReplayStore {
    /// Makes a store born at `now`, where there is none; one that is there already is opened as it is.
    ///
    /// # Errors
    /// [`StoreError`], also for a folder with claims but without a birth.
    pub fn create(path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        marks::create(path, now)?;
        Self::open(path)
    }

    /// Makes a store born 24 h before `now`, so that it takes every approval that is valid now; for trying things out.
    ///
    /// # Errors
    /// As [`ReplayStore::create`].
    pub fn create_backdated(path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        marks::create(path, now.plus(-BACKDATED_MS))?;
        Self::open(path)
    }

    /// Opens a store that was made before.
    ///
    /// # Errors
    /// [`StoreError`]; a checker answers `store_damaged` ([`Refusal::StoreDamaged`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self { path: path.to_owned() };
        store.marks()?;
        Ok(store)
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Birth and highest `now`.
    ///
    /// # Errors
    /// [`StoreError`] where either cannot be read.
    pub fn marks(&self) -> Result<Marks, StoreError> {
        let folder = self.folder()?;
        Ok(Marks { birth: self.mark(&folder, BIRTH)?, highest: self.mark(&folder, HIGHEST)? })
    }

    /// Whether an item was used here, as far as this moment shows. Only a claim is certain.
    ///
    /// # Errors
    /// [`StoreError`] where the folder cannot be looked into.
    pub fn is_used(&self, item: Digest) -> Result<bool, StoreError> {
        let folder = self.folder()?;
        exists(&folder, &ClaimKey::Item(item).name()).map_err(|errno| self.io(errno))
    }

    /// Removes claims whose time is over, and says how many. A claim does this itself once an hour.
    ///
    /// # Errors
    /// [`StoreError`] where the folder cannot be read.
    pub fn prune(&self, now: Timestamp) -> Result<usize, StoreError> {
        let folder = self.folder()?;
        self.prune_in(&folder, now).map_err(|errno| self.io(errno))
    }

    /// Step 9. `issued` is given for proofs that must not be older than the store.
    pub(crate) fn claim(
        &self,
        key: &ClaimKey<'_>,
        uses: Option<RuleUses<'_>>,
        issued: Option<Timestamp>,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let folder = self.folder().map_err(|_| Refusal::StoreDamaged)?;
        let birth = self.mark(&folder, BIRTH).map_err(|_| Refusal::StoreDamaged)?;
        let highest = self.mark(&folder, HIGHEST).map_err(|_| Refusal::StoreDamaged)?;
        if now < highest.plus(-limits::SKEW_MS) {
            return Err(Refusal::ClockBack);
        }
        if issued.is_some_and(|issued| issued < birth.plus(-limits::SKEW_MS)) {
            return Err(Refusal::StoreYoung);
        }
        if now > highest {
            marks::raise(&folder, now).map_err(|_| Refusal::StoreDamaged)?;
            if now.as_millis().div_euclid(PRUNE_EVERY_MS) != highest.as_millis().div_euclid(PRUNE_EVERY_MS) {
                self.prune_in(&folder, now).map_err(|_| Refusal::StoreDamaged)?;
            }
        }
        let name = key.name();
        if exists(&folder, &name).map_err(|_| Refusal::StoreDamaged)? {
            return Err(Refusal::AlreadyUsed);
        }
        let claim = Claim { folder: &folder, expires, now };
        // The rule's use first: an item must not be burned by a rule that has no use left.
        let slot = uses.map(|uses| claim.take_use(&uses)).transpose()?;
        match claim.write(&name) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                // Another process was faster, so nothing runs here and the use is given back.
                match slot.map(|slot| rustix::fs::unlinkat(&folder, slot, AtFlags::empty())) {
                    // Best effort: one use the less is the safe side.
                    None | Some(Ok(()) | Err(_)) => {}
                }
                return Err(Refusal::AlreadyUsed);
            }
            Err(_) => return Err(Refusal::StoreDamaged),
        }
        rustix::fs::fsync(&folder).map_err(|_| Refusal::StoreDamaged)
    }

    fn folder(&self) -> Result<OwnedFd, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|errno| self.io(errno))
    }

    fn mark(&self, folder: &OwnedFd, mark: &'static str) -> Result<Timestamp, StoreError> {
        marks::read(folder, mark).ok_or_else(|| StoreError::Mark { path: self.path.clone(), mark })
    }

    fn io(&self, errno: Errno) -> StoreError {
        StoreError::Io { path: self.path.clone(), source: errno.into() }
    }

    fn prune_in(&self, folder: &OwnedFd, now: Timestamp) -> Result<usize, Errno> {
        // What is forgotten here must stay expired: were `highest` lost in a power cut, a clock that had run ahead could
        // come back and find proofs valid again whose claims are gone.
        marks::sync(folder)?;
        let mut pruned = 0_usize;
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if ClaimKey::is_claim(name.to_bytes()) && claim_is_over(folder, name, now) {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
                pruned = pruned.saturating_add(1);
            }
        }
        Ok(pruned)
    }
}

impl ClaimKey<'_> {
    fn name(&self) -> String {
        match self {
            Self::Item(hash) => format!("item-{hash}"),
            Self::Message { nonce, executor } => format!("note-{}", sha256(&pair(nonce, executor))),
        }
    }

    fn is_claim(name: &[u8]) -> bool {
        [b"item-".as_slice(), b"note-", b"rule-"].iter().any(|prefix| name.starts_with(prefix))
    }
}

/// Two texts as one, so that no other two give the same.
fn pair(one: &str, two: &str) -> Vec<u8> {
    format!("{} {one}{two}", one.len()).into_bytes()
}

impl RuleUses<'_> {
    fn slot(&self, n: u64) -> String {
        format!("rule-{}-{n}", sha256(&pair(self.id, self.executor)))
    }
}

fn exists(folder: &OwnedFd, name: &str) -> Result<bool, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// A claim that is being made.
struct Claim<'a> {
    folder: &'a OwnedFd,
    expires: Timestamp,
    now: Timestamp,
}

impl Claim<'_> {
    /// Makes the file and syncs it; the folder is synced by the caller. `EXIST` means somebody was here before.
    fn write(&self, name: &str) -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(self.folder, name, flags, FILE_MODE)?;
        let text = format!("{}\n", self.expires.as_millis());
        let written = rustix::io::write(&file, text.as_bytes())?;
        if written != text.len() {
            return Err(Errno::IO);
        }
        // The file's time is the claim's, by the checker's clock.
        marks::date(&file, self.now)?;
        rustix::fs::fsync(&file)
    }

    /// Takes one use of a rule. Uses are taken in order, so the first free one is found by halving.
    fn take_use(&self, uses: &RuleUses<'_>) -> Result<String, Refusal> {
        let taken = |n: u64| exists(self.folder, &uses.slot(n)).map_err(|_| Refusal::StoreDamaged);
        let mut low = 0_u64;
        let mut high = 1_u64;
        while high <= uses.limit && taken(high)? {
            low = high;
            high = high.saturating_mul(2);
        }
        high = high.min(uses.limit.saturating_add(1));
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if taken(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        for n in high..=uses.limit {
            let slot = uses.slot(n);
            match self.write(&slot) {
                Ok(()) => return Ok(slot),
                Err(Errno::EXIST) => {}
                Err(_) => return Err(Refusal::StoreDamaged),
            }
        }
        Err(Refusal::AlreadyUsed)
    }
}

/// Whether a claim may be forgotten: after its proof's end and 48 h, and the skew. What cannot be read stays for ever.
fn claim_is_over(folder: &OwnedFd, name: &std::ffi::CStr, now: Timestamp) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return false };
    let Some(made) = marks::dated(&file) else { return false };
    let mut text = String::new();
    if std::fs::File::from(file).take(CLAIM_BYTES).read_to_string(&mut text).is_err() {
        return false;
    }
    let Some(expires) = text.strip_suffix('\n').and_then(|digits| digits.parse().ok()) else { return false };
    let end = Timestamp::from_millis(expires).max(made.plus(limits::CLAIM_KEPT_MS));
    now > end.plus(limits::SKEW_MS)
}

#[cfg(test)]
mod tests;
