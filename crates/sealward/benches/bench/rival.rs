//! Hold My Agent on its own road, through its own server, client and verifier: see `bench/hma.py`.

use crate::samples::Samples;
use std::time::Duration;
use testkit::{Program, Temp};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/hma.py");
const SAMPLES: usize = 300;

/// Its whole road, create to consume, and decide to consume.
#[derive(Debug)]
pub(crate) struct Rival {
    pub(crate) whole: Samples,
    pub(crate) from_decide: Samples,
}

/// `None` where `HMA_PYTHON` does not name a Python that has it.
pub(crate) fn run(folder: &Temp) -> Option<Rival> {
    let python = std::env::var_os("HMA_PYTHON")?;
    let data = folder.folder("hma");
    let program = Program::new(python).arg(SCRIPT).arg(&data).arg(SAMPLES.to_string());
    let run = program.patience(Duration::from_secs(600)).run().expect(0);
    let said: serde_json::Value = serde_json::from_slice(&run.stdout).expect("its one line of JSON");
    let rows: Vec<Vec<f64>> = serde_json::from_value(said["ms"].clone()).expect("rows of milliseconds");
    let from = |skip: usize| {
        let sum = |row: &Vec<f64>| Duration::from_secs_f64(row.iter().skip(skip).sum::<f64>() / 1000.0);
        rows.iter().map(sum).collect()
    };
    Some(Rival { whole: from(0), from_decide: from(1) })
}
