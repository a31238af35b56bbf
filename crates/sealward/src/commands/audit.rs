//! `sealward audit`: the broker's log, checked and read offline. It takes no lock and writes nothing, so it runs beside a broker.

use std::path::PathBuf;
use std::thread;

use clap::Subcommand;

use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward audit verify\n  sealward audit show --json";
/// Shown below the help of `verify`.
const VERIFY_EXAMPLE: &str =
    "Example:\n  sealward audit verify\n  sealward audit verify /var/lib/sealward/audit --json";
/// Shown below the help of `show`.
const SHOW_EXAMPLE: &str = "Example:\n  sealward audit show\n  sealward audit show --last 20 --json";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand, Debug)]
enum AuditCommand {
    /// Check every line of the log; exit 1 where it is damaged
    #[command(after_help = VERIFY_EXAMPLE)]
    Verify(Log),
    /// Print the records, oldest first
    #[command(after_help = SHOW_EXAMPLE)]
    Show {
        #[command(flatten)]
        log: Log,
        /// Only the last so many
        #[arg(long, value_name = "COUNT")]
        last: Option<usize>,
    },
}

#[derive(clap::Args, Debug)]
struct Log {
    /// Folder of the log [default: HOME/audit]
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Log {
    fn folder(&self, home: &Home) -> PathBuf {
        self.folder.clone().unwrap_or_else(|| home.audit())
    }
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        AuditCommand::Verify(log) => verify(log, home, out),
        AuditCommand::Show { log, last } => show(log, *last, home, out),
    }
}

fn verify(log: &Log, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let found = ::audit::verify(&log.folder(home), threads).map_err(Failure::cannot)?;
    let exit = if found.report.failure.is_some() { Exit::Refused } else { Exit::Done };
    if log.json {
        out.json(&found);
        return Ok(exit);
    }
    match &found.report.failure {
        Some(failure) => {
            out.line(format_args!("damaged: {failure}; {} records before it are whole", found.report.records))
        }
        None => {
            out.line(format_args!("whole: {} records in {} segments", found.report.records, found.segments))
        }
    }
    if let Some(torn) = &found.report.torn_tail {
        out.line(format_args!(
            "{} ends in an unfinished record of {} bytes; the broker moves it aside when it starts",
            torn.segment, torn.bytes
        ));
    }
    Ok(exit)
}

fn show(log: &Log, last: Option<usize>, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let folder = log.folder(home);
    let mut total = 0_usize;
    if last.is_some() {
        ::audit::records(&folder, |_| total = total.saturating_add(1)).map_err(Failure::cannot)?;
    }
    let skip = last.map_or(0, |last| total.saturating_sub(last));
    let mut at = 0_usize;
    ::audit::records(&folder, |line| {
        at = at.saturating_add(1);
        if at > skip {
            if log.json {
                out.line(line);
            } else {
                // Escaped: what an agent wrote stands in it, and must not drive the terminal.
                out.line(line.escape_debug().to_string().replace("\\\"", "\""));
            }
        }
    })
    .map_err(Failure::cannot)?;
    Ok(Exit::Done)
}
