//! The chain: what is found, and that everything is found.

use super::*;

fn log(records: u64) -> Vec<String> {
    let mut writer = ChainWriter::new();
    (0..records)
        .map(|n| {
            let event = serde_json::json!({ "kind": "warning", "n": n, "text": "ü\n\"" });
            writer.append(Timestamp::from_millis(1_800_000_000_000), &event).unwrap().text + "\n"
        })
        .collect()
}

fn verify(segments: &[(&str, &[u8])]) -> Report {
    let mut verifier = ChainVerifier::new();
    for (name, bytes) in segments {
        verifier.feed(name, bytes);
    }
    verifier.finish()
}

#[test]
fn a_log_is_whole_however_it_is_cut_into_pieces() {
    let text = log(5).concat();
    for size in 1..text.len() {
        let mut verifier = ChainVerifier::new();
        for piece in text.as_bytes().chunks(size) {
            verifier.feed("1", piece);
        }
        let report = verifier.finish();
        assert_eq!((report.records, report.seq, report.failure, report.torn_tail), (5, 5, None, None));
    }
}

#[test]
fn every_flipped_byte_is_found_in_its_line() {
    let lines = log(3);
    let text = lines.concat().into_bytes();
    for at in 0..text.len() {
        for bit in 0..8 {
            let mut bent = text.clone();
            bent[at] ^= 1 << bit;
            let report = verify(&[("1", &bent)]);
            let line = u64::try_from(text[..at].iter().filter(|byte| **byte == b'\n').count()).unwrap() + 1;
            if at == text.len() - 1 {
                assert!(report.torn_tail.is_some(), "the last newline gone is a torn tail");
            } else {
                let failure = report.failure.unwrap_or_else(|| panic!("byte {at} bit {bit}"));
                assert_eq!(failure.line, line, "byte {at} bit {bit}: {failure}");
            }
        }
    }
}

#[test]
fn a_truncation_is_a_torn_tail_or_a_shorter_whole_log() {
    let text = log(3).concat();
    for end in 0..text.len() {
        let report = verify(&[("1", &text.as_bytes()[..end])]);
        assert_eq!(report.failure, None, "cut at {end}");
        assert_eq!(report.torn_tail.is_some(), end > 0 && text.as_bytes()[end - 1] != b'\n', "cut at {end}");
    }
}

#[test]
fn only_the_last_segment_may_be_torn() {
    let lines = log(2);
    let torn = &lines[0].as_bytes()[..20];
    let report = verify(&[("1", torn), ("2", lines[1].as_bytes())]);
    assert_eq!(report.failure.unwrap().reason, FailureReason::Torn);
}

#[test]
fn a_missing_swapped_or_repeated_line_is_named() {
    let lines = log(4);
    let order = |indices: &[usize]| -> Report {
        let text: String = indices.iter().map(|index| lines[*index].as_str()).collect();
        verify(&[("7", text.as_bytes())])
    };
    let failure = order(&[0, 2, 3]).failure.unwrap();
    assert_eq!((failure.segment.as_str(), failure.line), ("7", 2));
    assert_eq!(failure.reason, FailureReason::Seq { expected: 2, found: 3 });
    assert!(order(&[1, 0, 2, 3]).failure.is_some());
    assert!(order(&[0, 1, 1, 2, 3]).failure.is_some());
    assert_eq!(order(&[0, 1, 2, 3]).failure, None);
}

#[test]
fn a_line_of_another_log_does_not_fit() {
    let mut other = ChainWriter::new();
    other.append(Timestamp::from_millis(0), &serde_json::json!({})).unwrap();
    let foreign = other.append(Timestamp::from_millis(0), &serde_json::json!({})).unwrap();
    let text = log(1).concat() + &foreign.text + "\n";
    assert_eq!(verify(&[("1", text.as_bytes())]).failure.unwrap().reason, FailureReason::Prev);
}

#[test]
fn a_record_over_the_limit_is_not_made_and_the_writer_stands_still() {
    let mut writer = ChainWriter::new();
    let event = serde_json::json!({ "text": "x".repeat(limits::RECORD_BYTES) });
    assert!(matches!(writer.append(Timestamp::from_millis(0), &event), Err(LineError::TooLong(_))));
    assert_eq!(writer, ChainWriter::new());
}

#[test]
fn a_written_line_reads_back_as_a_record() {
    let line = log(1).concat();
    let record: Record = serde_json::from_str(&line).unwrap();
    assert_eq!((record.seq, record.prev), (1, Digest::ZERO));
    assert!(record.event.get().starts_with("{\"kind\":\"warning\""));
}
