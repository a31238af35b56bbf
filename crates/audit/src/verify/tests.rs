//! The whole log: parallel and sequential reading find the same damage at the same place.

use std::{fs, path::Path};

use proto::{Timestamp, audit::AuditEvent, chain::ChainVerifier};

use super::*;
use crate::{Durability, Journal, Options};

fn log(folder: &Path, records: usize, segment_bytes: u64) {
    let options = Options { segment_bytes, free_bytes_min: 0, ..Options::new(Durability::None) };
    let now = Timestamp::from_millis(1_800_000_000_000);
    let (journal, _) = Journal::open(folder, options, now).unwrap();
    for n in 0..records {
        drop(journal.append(now, &AuditEvent::Warning { text: format!("record {n} ü") }).unwrap());
    }
}

fn sequential(folder: &Path) -> Report {
    let mut verifier = ChainVerifier::new();
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| SegmentNumber::parse(name).is_some())
        .collect();
    names.sort();
    for name in names {
        verifier.feed(&name, &fs::read(folder.join(&name)).unwrap());
    }
    verifier.finish()
}

#[test]
fn every_flipped_byte_of_every_segment_is_found_with_segment_and_line() {
    let home = tempfile::tempdir().unwrap();
    log(home.path(), 9, 500);
    let whole = verify(home.path(), 2).unwrap();
    assert_eq!((whole.report.records, &whole.report.failure), (9, &None));
    assert!(whole.segments > 2, "{} segments", whole.segments);
    for number in 1..=whole.segments {
        let path = home.path().join(format!("{number:08}.jsonl"));
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut bent = bytes.clone();
            bent[at] ^= 1;
            fs::write(&path, &bent).unwrap();
            let found = verify(home.path(), 2).unwrap().report;
            assert_eq!(found, sequential(home.path()), "segment {number}, byte {at}");
            let last_newline = number == whole.segments && at == bytes.len() - 1;
            assert_eq!(found.failure.is_some(), !last_newline, "segment {number}, byte {at}");
        }
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn swapped_and_doubled_segments_are_found_and_a_missing_one_is_named() {
    let home = tempfile::tempdir().unwrap();
    log(home.path(), 9, 500);
    let name = |number: u32| home.path().join(format!("{number:08}.jsonl"));
    let (one, two) = (fs::read(name(1)).unwrap(), fs::read(name(2)).unwrap());
    fs::write(name(1), &two).unwrap();
    fs::write(name(2), &one).unwrap();
    let swapped = verify(home.path(), 2).unwrap().report.failure.unwrap();
    assert_eq!((swapped.segment.as_str(), swapped.line), ("00000001.jsonl", 1));
    fs::write(name(1), &one).unwrap();
    let doubled = verify(home.path(), 2).unwrap().report.failure.unwrap();
    assert_eq!((doubled.segment.as_str(), doubled.line), ("00000002.jsonl", 1));
    fs::remove_file(name(2)).unwrap();
    assert!(matches!(verify(home.path(), 2), Err(VerifyError::Missing(name)) if name == "00000002.jsonl"));
}

#[test]
fn any_truncation_of_the_last_segment_is_torn_or_whole_and_of_another_a_failure() {
    let home = tempfile::tempdir().unwrap();
    log(home.path(), 5, 500);
    let segments = verify(home.path(), 1).unwrap().segments;
    for number in 1..=segments {
        let path = home.path().join(format!("{number:08}.jsonl"));
        let bytes = fs::read(&path).unwrap();
        for end in 1..bytes.len() {
            fs::write(&path, &bytes[..end]).unwrap();
            let found = verify(home.path(), 2).unwrap().report;
            assert_eq!(found, sequential(home.path()), "segment {number} cut at {end}");
            assert_eq!(found.failure.is_some(), number < segments, "segment {number} cut at {end}");
        }
        fs::write(&path, &bytes).unwrap();
    }
}
