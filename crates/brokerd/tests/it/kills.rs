//! `kill -9` in the middle of many calls: what was granted has its record, and a restart goes on.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use proto::{AuditEvent, DecisionRecord};
use serde_json::json;
use testkit::random_hex;

use crate::broker::{Broker, Line};

const WRITE: &str = "[[grant]]\nname = 'w'\ntool = 'write_file'\neffect = 'allow'\n";

/// How often the broker is killed: 50 times in a test, 1,000 in a soak.
fn rounds() -> u32 {
    if std::env::var_os("SEALWARD_SOAK").is_some() { 1000 } else { 50 }
}

/// Writes files until the broker is gone.
fn work(broker: &Broker, folder: &Path, stop: &AtomicBool) {
    let mut line = Line::open(broker);
    while !stop.load(Ordering::Relaxed) {
        let path = folder.join(random_hex(8));
        line.call(1, "write_file", &json!({ "path": path, "content": "x" }));
        loop {
            match line.receive() {
                None => return,
                Some(frame) if frame["type"] == "result" => break,
                Some(_) => {}
            }
        }
    }
}

#[test]
fn a_kill_at_any_point_leaves_no_deed_without_its_record() {
    let mut broker = Broker::laid_out(WRITE, "");
    let folder = broker.home.folder("out");
    for round in 0..rounds() {
        broker.start();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| work(&broker, &folder, &stop));
            }
            // A different point each time: after so many files more.
            let before = fs::read_dir(&folder).unwrap().count();
            let more = usize::try_from(round % 7).unwrap() + 1;
            testkit::until("some files are written", || {
                fs::read_dir(&folder).unwrap().count() >= before + more
            });
            broker.process().signal(rustix::process::Signal::KILL);
            stop.store(true, Ordering::Relaxed);
        });
        broker.kill();
    }
    broker.start();
    let recorded: Vec<String> = broker
        .decisions()
        .into_iter()
        .filter_map(|event| {
            let AuditEvent::Decision { outcome: DecisionRecord::Allowed { .. }, arguments, .. } = event
            else {
                return None;
            };
            Some(arguments)
        })
        .collect();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with(".sealward-") {
            continue;
        }
        assert!(recorded.iter().any(|arguments| arguments.contains(&name)), "{name} was written unrecorded");
    }
}
