//! `sealward pause` stops every release at the hub; `sealward resume` says where a person lifts that, with a passkey.

use std::time::Duration;

use client::{CallError, Hub, SetUpError};
use executor::{Home as ExecutorHome, HomeError};

use crate::home::Home;
use crate::output::{Exit, Failure, Output};

/// Shown below the help.
pub(crate) const PAUSE_EXAMPLE: &str = "Example:\n  sealward pause";
/// Shown below the help.
pub(crate) const RESUME_EXAMPLE: &str = "Example:\n  sealward resume\n\nIt only prints the page's address: resuming wants a passkey, pausing does not.";

/// A person who pauses is in a hurry, and a hub that is well answers in milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(clap::Args, Debug)]
pub(crate) struct PauseArgs {}

#[derive(clap::Args, Debug)]
pub(crate) struct ResumeArgs {}

/// The hub could not be told.
#[derive(Debug, thiserror::Error)]
enum PauseError {
    #[error("this home has no usable executor")]
    Home(#[from] HomeError),
    #[error("the hub cannot be called")]
    SetUp(#[from] SetUpError),
    #[error("the hub was not paused; stop it (Ctrl-C at `sealward up`) and nothing is released either")]
    Call(#[from] CallError),
    #[error("the hub does not say where its page is")]
    Page { source: CallError },
}

pub(crate) fn pause(_args: &PauseArgs, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let hub = hub_of(home).map_err(Failure::cannot)?;
    hub.pause(LIMIT).map_err(|error| Failure::cannot(PauseError::from(error)))?;
    out.line("Paused: no approval is released and no rule applies until a person resumes on the page.");
    Ok(Exit::Done)
}

pub(crate) fn resume(_args: &ResumeArgs, home: &Home, out: &mut Output) -> Result<Exit, Failure> {
    let hub = hub_of(home).map_err(Failure::cannot)?;
    let me = hub.me(LIMIT).map_err(|source| Failure::cannot(PauseError::Page { source }))?;
    if me.paused {
        out.line(format_args!("Open {} and resume there, with a passkey.", me.origin));
    } else {
        out.line(format_args!("The hub is not paused. Its page: {}", me.origin));
    }
    Ok(Exit::Done)
}

fn hub_of(home: &Home) -> Result<Hub, PauseError> {
    let executor = ExecutorHome::open(home.dir())?;
    let token = executor.token()?;
    Ok(Hub::new(executor.hub().clone(), Some(token), executor.ca_file())?)
}
