//! Writing under failing disks, and what is left after a crash.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use proptest::prelude::*;
use proto::chain::ChainVerifier;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A disk in memory that knows what was synced, and fails on demand.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, (Vec<u8>, usize)>,
    fail_sync: bool,
    fail_append: bool,
    free: Option<u64>,
    syncs: usize,
}

impl Memory {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn files(&self) -> BTreeMap<String, (Vec<u8>, usize)> {
        self.0.lock().unwrap().files.clone()
    }

    /// The log as bytes, and how many of them are durable.
    fn log(&self) -> Vec<(String, Vec<u8>, usize)> {
        let files = self.files().into_iter().filter(|(name, _)| SegmentNumber::parse(name).is_some());
        files.map(|(name, (bytes, synced))| (name, bytes, synced)).collect()
    }
}

impl Disk for Memory {
    fn list(&mut self) -> io::Result<Vec<String>> {
        Ok(self.files().into_keys().collect())
    }

    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.files().get(name).map(|(bytes, _)| bytes.clone()))
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        self.set(|state| drop(state.files.insert(name.to_owned(), (Vec::new(), 0))));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let full = state.fail_append;
        let file = state.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        file.0.extend_from_slice(if full { &bytes[..bytes.len() / 2] } else { bytes });
        if full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.syncs += 1;
        if state.fail_sync {
            return Err(io::Error::other("injected"));
        }
        let file = state.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        file.1 = file.0.len();
        Ok(())
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let file = state.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        file.0.truncate(usize::try_from(length).unwrap());
        file.1 = file.0.len();
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.set(|state| drop(state.files.remove(name)));
        Ok(())
    }

    fn free(&mut self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().free.unwrap_or(u64::MAX))
    }
}

fn warning(text: &str) -> AuditEvent {
    AuditEvent::Warning { text: text.to_owned() }
}

fn open(disk: &Memory, segment_bytes: u64) -> (Journal, Opened) {
    let options = Options { segment_bytes, ..Options::new(Durability::Flush) };
    Journal::on(Box::new(disk.clone()), options, NOW).unwrap()
}

fn verified(disk: &Memory) -> proto::chain::Report {
    let mut verifier = ChainVerifier::new();
    for (name, bytes, _) in disk.log() {
        verifier.feed(&name, &bytes);
    }
    verifier.finish()
}

#[test]
fn a_journal_that_records_nothing_leaves_no_trace() {
    let disk = Memory::default();
    drop(open(&disk, 1000));
    assert_eq!(disk.files(), BTreeMap::new());
}

#[test]
fn a_record_is_synced_before_its_receipt() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, 1000);
    for n in 1..=5 {
        let receipt = journal.append(NOW, &warning("x")).unwrap();
        assert_eq!(receipt.seq(), n);
        let log = disk.log();
        assert!(log.iter().all(|(_, bytes, synced)| bytes.len() == *synced));
        assert_eq!(verified(&disk).records, n);
    }
}

#[test]
fn many_waiting_records_share_a_flush() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, u64::MAX);
    drop(journal.append(NOW, &warning("first")).unwrap());
    let held = disk.0.lock().unwrap();
    let before = held.syncs;
    let (tell, told) = mpsc::channel();
    for _ in 0..500 {
        let tell = tell.clone();
        journal.append_then(NOW, &warning("x"), move |outcome| tell.send(outcome.is_ok()).unwrap());
    }
    drop(held);
    assert!((0..500).all(|_| told.recv().unwrap()));
    let syncs = disk.0.lock().unwrap().syncs - before;
    assert!(syncs <= 3, "{syncs} flushes for 500 records");
    assert_eq!(verified(&disk).records, 501);
}

#[test]
fn a_failed_sync_is_final() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, 1000);
    drop(journal.append(NOW, &warning("good")).unwrap());
    disk.set(|state| state.fail_sync = true);
    assert!(matches!(journal.append(NOW, &warning("bad")), Err(AppendError::Failed(_))));
    disk.set(|state| state.fail_sync = false);
    assert!(matches!(journal.append(NOW, &warning("later")), Err(AppendError::Failed(_))));
    assert!(journal.failure().is_some());
}

#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_record_loses_nothing_and_grants_nothing() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, 10_000);
    drop(journal.append(NOW, &warning("good")).unwrap());
    disk.set(|state| state.fail_append = true);
    assert!(matches!(journal.append(NOW, &warning("half")), Err(AppendError::Failed(_))));
    drop(journal);
    disk.set(|state| state.fail_append = false);
    let (journal, opened) = open(&disk, 10_000);
    assert_eq!(opened.torn.as_deref(), Some("00000001.jsonl.torn"));
    drop(journal.append(NOW, &warning("after")).unwrap());
    let report = verified(&disk);
    assert_eq!((report.records, report.failure, report.torn_tail), (3, None, None));
}

#[test]
fn under_the_minimum_of_free_space_nothing_is_granted_and_the_log_says_why() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, 10_000);
    drop(journal.append(NOW, &warning("good")).unwrap());
    assert!(disk.files().contains_key(RESERVE));
    disk.set(|state| state.free = Some(FREE_BYTES_MIN - 1));
    let mut last = Ok(());
    for _ in 0..=GROUPS_PER_LOOK {
        last = journal.append(NOW, &warning("x")).map(drop);
    }
    assert!(matches!(last, Err(AppendError::Full { .. })));
    assert!(!disk.files().contains_key(RESERVE));
    let log =
        disk.log().into_iter().map(|(_, bytes, _)| String::from_utf8(bytes).unwrap()).collect::<String>();
    assert!(log.lines().last().unwrap().contains("nothing is granted until there is room"));
    assert_eq!(verified(&disk).failure, None);
}

#[test]
fn a_record_over_its_limit_is_refused_and_the_next_one_is_written() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, u64::MAX);
    let huge = warning(&"x".repeat(limits::RECORD_BYTES));
    assert!(matches!(journal.append(NOW, &huge), Err(AppendError::Record(_))));
    assert_eq!(journal.append(NOW, &warning("x")).unwrap().seq(), 1);
}

#[test]
fn damage_that_is_no_torn_tail_keeps_the_journal_closed() {
    let disk = Memory::default();
    let (journal, _) = open(&disk, 1000);
    drop(journal.append(NOW, &warning("x")).unwrap());
    drop(journal);
    disk.set(|state| state.files.get_mut("00000001.jsonl").unwrap().0[20] ^= 1);
    let options = Options::new(Durability::Flush);
    assert!(matches!(Journal::on(Box::new(disk), options, NOW), Err(OpenError::Damaged(_))));
}

#[test]
fn two_journals_cannot_share_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let options = Options { free_bytes_min: 0, ..Options::new(Durability::Flush) };
    let (first, _) = Journal::open(home.path(), options, NOW).unwrap();
    assert!(matches!(Journal::open(home.path(), options, NOW), Err(OpenError::Locked)));
    drop(first);
    assert!(Journal::open(home.path(), options, NOW).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of the bytes that were not synced, a crash keeps any prefix. Whatever it keeps, the log opens again, holds every record
    /// whose receipt was given, and goes on.
    #[test]
    fn every_crash_state_of_unsynced_writes_opens_again_and_lost_no_receipt(
        texts in prop::collection::vec("[a-zü\\n\"]{0,40}", 1..20),
        segment_bytes in 200_u64..2000,
        fail_at in 0_usize..20,
        keep in 0.0_f64..=1.0,
    ) {
        let disk = Memory::default();
        let (journal, _) = open(&disk, segment_bytes);
        let mut receipts = 0;
        for (index, text) in texts.iter().enumerate() {
            disk.set(|state| state.fail_sync = index == fail_at);
            if journal.append(NOW, &warning(text)).is_ok() {
                receipts += 1;
            }
        }
        drop(journal);
        disk.set(|state| {
            state.fail_sync = false;
            for (bytes, synced) in state.files.values_mut() {
                #[expect(
                    clippy::as_conversions, clippy::cast_precision_loss,
                    clippy::cast_possible_truncation, clippy::cast_sign_loss,
                    reason = "a share of a small length"
                )]
                let kept = *synced + ((bytes.len() - *synced) as f64 * keep) as usize;
                bytes.truncate(kept);
            }
        });
        let (journal, _) = open(&disk, segment_bytes);
        prop_assert!(journal.append(NOW, &warning("after")).is_ok());
        drop(journal);
        let report = verified(&disk);
        prop_assert_eq!((report.failure, report.torn_tail), (None, None));
        prop_assert!(report.records > receipts);
    }
}
