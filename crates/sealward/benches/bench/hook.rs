//! CPU time of one hook call against `node -e 0`: what every tool call of an agent pays.

use crate::SEALWARD;
use std::time::Duration;
use testkit::{Alg, Program, World};

/// Runs of each; the kernel counts the children's CPU time in hundredths of a second.
const RUNS: u32 = 200;
const TICK: Duration = Duration::from_millis(10);

/// CPU time (user and system) of one run.
#[derive(Debug)]
pub(crate) struct Hook {
    /// A call that the grants settle.
    pub(crate) granted: Duration,
    /// A call that is asked, answered with a proof, checked and claimed.
    pub(crate) sealed: Duration,
    pub(crate) node: Duration,
    pub(crate) runs: u32,
}

pub(crate) fn run() -> Hook {
    let world = World::configured(SEALWARD, crate::road::OPEN_LIMITS);
    let key = world.passkey(Alg::Es256);
    world.pin(&[&key], 1);
    let desk = world.desk(&key);
    let event = |tool: &str, session: u32, input: &str| {
        let cwd = world.work().display();
        format!(
            r#"{{"session_id":"s{session}","cwd":"{cwd}","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{input},"tool_use_id":"t{session}"}}"#
        )
    };
    let read = format!(r#"{{"file_path":"{}/notes.txt"}}"#, world.work().display());
    let granted = cpu_of(|run| drop(world.hook(&event("Read", run, &read), 5).run().expect(0)));
    let sealed = cpu_of(|run| {
        let (hook, row) = world.ask(&desk, &event("Bash", run, r#"{"command":"make deploy"}"#), 30);
        drop(desk.approve(&[&row]).expect(202));
        assert!(hook.wait().out().contains(r#""permissionDecision":"allow""#));
    });
    let node = cpu_of(|_| drop(Program::new("node").args(["-e", "0"]).run().expect(0)));
    Hook { granted, sealed, node, runs: RUNS }
}

fn cpu_of(mut work: impl FnMut(u32)) -> Duration {
    let before = children_cpu();
    (0..RUNS).for_each(&mut work);
    (children_cpu() - before) / RUNS
}

/// CPU time of all children that have ended and been waited for.
fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc");
    let fields = stat.rsplit_once(')').expect("the name in brackets").1;
    // Fields 16 and 17 (cutime, cstime), counted after the name, which is field 2.
    let ticks: u32 =
        fields.split_whitespace().skip(13).take(2).map(|field| field.parse::<u32>().expect("ticks")).sum();
    TICK * ticks
}
