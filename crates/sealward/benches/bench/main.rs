//! The benchmarks of Part 1, in one run on one machine: proof check, claim, the hook's cost, the road from a yes to a claim.
//!
//! Writes `docs/benchmarks.md` and fails when a ratio is over its limit. Not here: anything that is a test of behaviour.
//! `make bench` runs it in the release profile and gives it `HMA_PYTHON`, a Python with Hold My Agent installed.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark is run by a person at a terminal: it stops with the reason"
)]

mod check;
mod hook;
mod report;
mod rival;
mod road;
mod samples;

use report::{Limit, Report};
use testkit::Temp;

const SEALWARD: &str = env!("CARGO_BIN_EXE_sealward");

fn main() {
    let folder = Temp::new();
    let flush = samples::flush(folder.path());
    let check = check::run(&folder);
    let hook = hook::run();
    let road = road::run();
    let rival = rival::run(&folder);
    let mut report = Report::new(&flush);
    report.check(&check, &flush);
    report.hook(&hook);
    report.road(&road, rival.as_ref(), &flush);
    report.write();
    let missed: Vec<&Limit> = report.limits().iter().filter(|limit| !limit.kept()).collect();
    assert!(missed.is_empty(), "over the limit: {missed:?}");
}
