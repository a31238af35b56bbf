//! What would change, line by line, for a person to look at before saying yes.

/// Lines shown before and after a change.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines the common lines of the changed part are not looked for: settings have hundreds
/// of lines, and the table of all pairs has to fit in memory.
const PAIRS_MAX: usize = 4_000_000;

/// One line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference in the usual form: `-` for lines that go, `+` for lines that come, a few others around them, `…`
/// between. Empty where nothing changes.
pub(crate) fn between(old: &str, new: &str) -> String {
    let lines = compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, Line::Same(_)))
        .map(|(at, _)| at)
        .collect();
    let near = |at: usize| {
        let next = changed.partition_point(|change| *change < at);
        let before = next.checked_sub(1).and_then(|index| changed.get(index));
        let after = changed.get(next);
        before.is_some_and(|change| at - change <= CONTEXT)
            || after.is_some_and(|change| change - at <= CONTEXT)
    };
    let mut out = String::new();
    let mut skipped = false;
    for (at, line) in lines.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            out.push_str("  …\n");
        }
        let (mark, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Gone(text) => ('-', text),
            Line::New(text) => ('+', text),
        };
        out.push_str(&format!("{mark} {}\n", client::shown(&text.replace('\t', "    "))));
    }
    if skipped && !out.is_empty() {
        out.push_str("  …\n");
    }
    out
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |rest: &[&'a str]| rest.get(..rest.len().saturating_sub(tail)).unwrap_or_default().to_vec();
    let (gone, came) = (middle(old_rest), middle(new_rest));
    let mut lines: Vec<Line<'a>> = old.iter().take(head).map(|line| Line::Same(line)).collect();
    lines.extend(align(&gone, &came));
    lines.extend(old.iter().skip(old.len().saturating_sub(tail)).map(|line| Line::Same(line)));
    lines
}

/// The changed part, by the longest common sequence of its lines.
fn align<'a>(gone: &[&'a str], came: &[&'a str]) -> Vec<Line<'a>> {
    if gone.len().saturating_mul(came.len()) > PAIRS_MAX {
        let removed = gone.iter().map(|line| Line::Gone(line));
        return removed.chain(came.iter().map(|line| Line::New(line))).collect();
    }
    let width = came.len() + 1;
    let mut common = vec![0_u32; (gone.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in gone.iter().enumerate().rev() {
        for (j, b) in came.iter().enumerate().rev() {
            let longest = if a == b {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = longest;
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (gone.get(i), came.get(j)) {
            (Some(a), Some(b)) if a == b => {
                lines.push(Line::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push(Line::Gone(a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(Line::New(b));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown_with_its_neighbours() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("10\n", "ten\nand a half\n").replace("20\n", "");
        assert_eq!(
            between(&old, &new),
            "  …\n  7\n  8\n  9\n- 10\n+ ten\n+ and a half\n  11\n  12\n  13\n  …\n  17\n  18\n  19\n- 20\n"
        );
        assert_eq!(between(&old, &old), "");
    }

    #[test]
    fn a_new_file_is_all_new() {
        assert_eq!(between("", "a\nb\n"), "+ a\n+ b\n");
    }

    #[test]
    fn text_that_would_move_the_cursor_is_written_out() {
        assert_eq!(between("", "a\u{1b}[2J\n"), "+ a\\u{1b}[2J\n");
    }
}
