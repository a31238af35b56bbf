//! Turns the figures into `docs/benchmarks.md`: machine, method, ratios with their limits, sample counts.

use crate::check::Check;
use crate::hook::Hook;
use crate::rival::Rival;
use crate::road::Road;
use crate::samples::Samples;
use std::fmt::Write as _;
use std::time::Duration;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");

/// One ratio and what it may be at most.
#[derive(Debug)]
pub(crate) struct Limit {
    what: &'static str,
    ratio: f64,
    most: f64,
}

impl Limit {
    pub(crate) fn kept(&self) -> bool {
        self.ratio <= self.most
    }
}

/// The page being written.
#[derive(Debug)]
pub(crate) struct Report {
    text: String,
    limits: Vec<Limit>,
}

fn ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1000.0)
}

fn us(duration: Duration) -> String {
    format!("{:.1} µs", duration.as_secs_f64() * 1_000_000.0)
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

impl Report {
    pub(crate) fn new(flush: &Samples) -> Self {
        let text = format!(
            "# Benchmarks\n\nWritten by `make bench`; every ratio is of two things measured in the same run on the same machine and disk.\n\n\
             **Machine**: {}, {} cores, Linux {}. Release profile. Other programs were not stopped.\n\n\
             **A flush** (append 4 KiB, `fdatasync`) in the folder the others write to: p50 {}, p90 {}, {} samples. \
             Figures that wait for the disk are given in flushes, because that is what they are made of.\n",
            processor(),
            std::thread::available_parallelism().map_or(0, usize::from),
            read("/proc/sys/kernel/osrelease"),
            ms(flush.median()),
            ms(flush.percentile(90)),
            flush.len(),
        );
        Self { text, limits: Vec::new() }
    }

    pub(crate) fn check(&mut self, check: &Check, flush: &Samples) {
        let whole = ratio(check.whole.median(), check.bare.median());
        self.limit("proof check, steps 1 to 8, over the bare P-256 verification", whole, 1.3);
        let text = format!(
            "\n## Proof check\n\nSteps 1 to 8 on an `approve` of one ask with one ES256 signature and parsed pins, alternating with the bare \
             verification of the same signature by the same library (key parsed). {} samples of each.\n\n\
             | what | p50 | p90 |\n| --- | --- | --- |\n| bare verification | {} | {} |\n| steps 1 to 8 | {} | {} |\n| claim (step 9), {} samples | {} = {:.1} flushes | {} |\n",
            check.whole.len(),
            us(check.bare.median()),
            us(check.bare.percentile(90)),
            us(check.whole.median()),
            us(check.whole.percentile(90)),
            check.claim.len(),
            ms(check.claim.median()),
            ratio(check.claim.median(), flush.median()),
            ms(check.claim.percentile(90)),
        );
        self.text += &text;
    }

    pub(crate) fn hook(&mut self, hook: &Hook) {
        self.limit("CPU time of a granted hook call over `node -e 0`", ratio(hook.granted, hook.node), 0.2);
        self.limit("CPU time of a sealed hook call over `node -e 0`", ratio(hook.sealed, hook.node), 0.2);
        let text = format!(
            "\n## The hook's cost\n\nUser and system CPU time of one process, mean of {} runs: the kernel's own account of ended children.\n\n\
             | what | CPU time |\n| --- | --- |\n| `sealward hook claude`, settled by a grant | {} |\n\
             | `sealward hook claude`, asked, answered, checked, claimed | {} |\n| `node -e 0` | {} |\n",
            hook.runs,
            ms(hook.granted),
            ms(hook.sealed),
            ms(hook.node),
        );
        self.text += &text;
    }

    pub(crate) fn road(&mut self, road: &Road, rival: Option<&Rival>, flush: &Samples) {
        let took = road.approve_to_claim.median();
        let allowance = flush.median() * 3 + Duration::from_millis(2);
        self.limit("approve to claim over 3 flushes + 2 ms", ratio(took, allowance), 1.0);
        let row = |what: &str, samples: &Samples| {
            let flushes = ratio(samples.median(), flush.median());
            format!(
                "| {what} | {} | {flushes:.1} | {} | {} |\n",
                ms(samples.median()),
                ms(samples.percentile(90)),
                samples.len()
            )
        };
        self.text += "\n## From a yes to a claim\n\nOurs: the page's signed proof is posted to the hub (undo window 0), which checks and records it and \
                      releases it to an executor in a long poll, which checks it again itself and claims it on disk. Real hub process, real \
                      sockets; the signing itself is left out. Theirs: Hold My Agent 0.5.0 with hold-warden, its own server, client classes and \
                      verifier, rate limit raised, over kept-alive connections; there the server signs and the warden consumes at the server.\n\n\
                      | what | p50 | in flushes | p90 | samples |\n| --- | --- | --- | --- | --- |\n";
        self.text +=
            &row("Sealward: approve → released → fetched → checked and claimed", &road.approve_to_claim);
        self.text += &row("Sealward: ask", &road.ask);
        self.text += &row("Sealward: ask and all of the above", &road.whole);
        if let Some(rival) = rival {
            self.text += &row("Hold My Agent: decide → fetch → verify → consume", &rival.from_decide);
            self.text += &row("Hold My Agent: create → decide → fetch → verify → consume", &rival.whole);
            self.limit(
                "ask to claim over Hold My Agent's create to consume",
                ratio(road.whole.median(), rival.whole.median()),
                1.0,
            );
        }
    }

    fn limit(&mut self, what: &'static str, ratio: f64, most: f64) {
        self.limits.push(Limit { what, ratio, most });
    }

    pub(crate) fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Writes the page and shows it.
    pub(crate) fn write(&mut self) {
        self.text += "\n## Limits\n\n| ratio | measured | at most |\n| --- | --- | --- |\n";
        for Limit { what, ratio, most } in &self.limits {
            writeln!(self.text, "| {what} | {ratio:.2} | {most} |").expect("a string grows");
        }
        println!("{}", self.text);
        std::fs::write(PAGE, &self.text).expect("docs/benchmarks.md");
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn processor() -> String {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown processor", |(_, name)| name).to_owned()
}
