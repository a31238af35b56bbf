//! `sealward hub`: the inbox daemon in the foreground, alone (servers) or as the child of `up`.

use std::io;
use std::path::PathBuf;

use hub::{Clock, Config, ConfigError, Hub, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const EXAMPLE: &str = "Example:\n  sealward hub --config /etc/sealward/hub.toml\n\nIt writes no pin file: keys are pinned with `sealward approvers pin` or by `sealward up`.";

/// What is logged; the text of items and tokens never is.
const LOG: &str = "warn,hub=info,sealward=info";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration [default: HOME/hub/hub.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log, as `target=level,…`
    #[arg(long, value_name = "FILTER", default_value = LOG)]
    log: String,
    /// Log lines as JSON
    #[arg(long)]
    log_json: bool,
    /// End when this process, the parent, ends
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<i32>,
}

/// The hub did not start.
#[derive(Debug, thiserror::Error)]
enum HubError {
    #[error("`--log {filter}` cannot be understood")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("the hub has no usable configuration")]
    Config(#[from] ConfigError),
    #[error("cannot start the runtime or its signal handlers")]
    Runtime(#[from] io::Error),
    #[error("the hub did not start")]
    Start(#[from] StartError),
    #[error("the process that was to look after the hub has ended")]
    Orphan,
}

pub(crate) fn run(args: &Args, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    start_log(args)?;
    if let Some(parent) = args.parent {
        end_with(parent).map_err(Failure::cannot)?;
    }
    let path = args.config.clone().unwrap_or_else(|| home.hub_config());
    let config = Config::load(&path).map_err(|error| Failure::usage(HubError::from(error)))?;
    serve(config, args.parent.is_none(), out).map_err(Failure::cannot)?;
    Ok(Exit::Done)
}

fn serve(config: Config, alone: bool, out: &mut Output) -> Result<(), HubError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let hub = Hub::start(config, Clock::system()).await?;
        if alone {
            out.line(format_args!("page   {}", hub.origin().as_str()));
        }
        hub.run(stopped(stop)).await;
        Ok(())
    })
}

async fn stopped((mut interrupt, mut terminate): (Signal, Signal)) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn start_log(args: &Args) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|source| Failure::usage(HubError::Filter { filter: args.log.clone(), source }))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    if args.log_json {
        log.json().init()
    } else {
        log.init()
    }
    Ok(())
}

/// A hub without its parent would run on where nobody can pin a key; the system ends it with its parent instead.
#[cfg(target_os = "linux")]
fn end_with(parent: i32) -> Result<(), HubError> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(io::Error::from)?;
    // The parent may have ended before the wish was spoken.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero).map(std::num::NonZeroI32::get)
        == Some(parent)
    {
        Ok(())
    } else {
        Err(HubError::Orphan)
    }
}

/// Other systems have no such wish: there a killed parent leaves its hub, and the next `up` says that the port is taken.
#[cfg(not(target_os = "linux"))]
fn end_with(_parent: i32) -> Result<(), HubError> {
    Ok(())
}
