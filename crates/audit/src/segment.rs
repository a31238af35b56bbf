//! Names of segments, `NNNNNNNN.jsonl` from 1. What is in them is not here.

/// A segment's number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentNumber(u32);

impl SegmentNumber {
    pub(crate) const FIRST: Self = Self(1);

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let digits = name.strip_suffix(".jsonl")?;
        if digits.len() != 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().filter(|number| *number > 0).map(Self)
    }

    pub(crate) fn name(self) -> String {
        format!("{:08}.jsonl", self.0)
    }

    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The segments among `names`, in order.
///
/// # Errors
/// The number that is missing, where they do not run from 1 without a gap.
pub(crate) fn ordered(names: &[String]) -> Result<Vec<SegmentNumber>, SegmentNumber> {
    let mut numbers: Vec<_> = names.iter().filter_map(|name| SegmentNumber::parse(name)).collect();
    numbers.sort_unstable();
    let mut due = SegmentNumber::FIRST;
    for number in &numbers {
        if *number != due {
            return Err(due);
        }
        due = due.next();
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_run_from_one_without_a_gap() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(ordered(&names(&["00000002.jsonl", "lock", "00000001.jsonl"])).unwrap().len(), 2);
        assert_eq!(ordered(&names(&["00000001.jsonl", "00000003.jsonl"])), Err(SegmentNumber(2)));
        assert_eq!(ordered(&names(&["00000002.jsonl"])), Err(SegmentNumber(1)));
        assert_eq!(SegmentNumber::parse("1.jsonl"), None);
        assert_eq!(SegmentNumber::parse("00000000.jsonl"), None);
        assert_eq!(SegmentNumber::parse("00000001.jsonl.torn"), None);
    }
}
