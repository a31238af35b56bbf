//! Proposing a key over a one-time link. The code comes from the terminal, never from the hub; what is proposed is written
//! where the terminal looks, and pinned there by a person or not at all.

use std::fs;
use std::io;
use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use proto::api::PinEntry;
use proto::{Digest, HubEvent, Timestamp, limits, sha256};
use serde::{Deserialize, Serialize};
use store::Audience;

use crate::app::App;
use crate::body::{Body, Json};
use crate::files;
use crate::gate::forbidden;
use crate::login::knock;
use crate::problem::{Code, Problem};

/// `POST /api/enrol`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Enrol {
    code: String,
    key: PinEntry,
}

/// What the page shows for comparison with the terminal.
#[derive(Debug, Serialize)]
pub(crate) struct Proposed {
    fingerprint: String,
    label: String,
}

/// `enrol.json`, written by the terminal.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrolment {
    v: u32,
    code_sha256: Digest,
    expires: Timestamp,
    tries: u32,
}

/// `POST /api/enrol`
pub(crate) async fn propose(
    State(app): State<App>,
    Body(Enrol { code, key }): Body<Enrol>,
) -> Result<(StatusCode, Json<Proposed>), Problem> {
    knock(&app)?;
    let now = app.now();
    let key = PinEntry { since: now, person: None, not_after: None, ..key };
    fits(&app, &key)?;
    let fingerprint = proof::fingerprint(&key).map_err(|error| malformed(&error))?;
    let label = key.label.clone();
    let one_at_a_time = app.enrolment().lock().await;
    let files = Files { enrolment: app.config().enrolment(), proposals: app.config().proposals() };
    let outcome = tokio::task::spawn_blocking(move || files.propose(&code, &key, now)).await;
    drop(one_at_a_time);
    match outcome {
        Ok(Ok(Outcome::Proposed)) => {}
        Ok(Ok(Outcome::Gone)) => {
            return Err(Problem::new(
                Code::Gone,
                "this link is used, expired or tried too often; make a new one",
            ));
        }
        Ok(Ok(Outcome::Wrong)) => return Err(forbidden("this is not the code of the link at the terminal")),
        Ok(Err(error)) => {
            tracing::error!(%error, "an enrolment could not be read or written");
            return Err(Problem::new(
                Code::Unavailable,
                "the hub cannot write its folder; nothing was proposed",
            ));
        }
        Err(error) => {
            tracing::error!(%error, "an enrolment broke off");
            return Err(Problem::new(Code::Internal, "the hub failed; nothing was proposed"));
        }
    }
    let event = HubEvent::EnrolProposed { fingerprint: fingerprint.clone(), label: label.clone() };
    app.store().record(&event, &Audience::Persons, now).await?;
    app.changed();
    Ok((StatusCode::ACCEPTED, Json(Proposed { fingerprint, label })))
}

/// A key must be one for this page, fit to be pinned, and new.
fn fits(app: &App, key: &PinEntry) -> Result<(), Problem> {
    let origin = &app.config().origin;
    if key.rp_id != origin.host() || key.origins != [origin.as_str()] {
        return Err(Problem::new(Code::Malformed, format!("the key must be made for {}", origin.as_str())));
    }
    if key.label.len() > limits::NAME_BYTES {
        return Err(Problem::new(Code::TooLarge, format!("the label is over {} bytes", limits::NAME_BYTES)));
    }
    proof::check_entry(key).map_err(|error| malformed(&error))?;
    if app.pins()?.keys().iter().any(|pinned| pinned.entry().id == key.id) {
        return Err(Problem::new(Code::Duplicate, "this key is pinned already; log in with it"));
    }
    Ok(())
}

fn malformed(error: &dyn std::error::Error) -> Problem {
    Problem::new(Code::Malformed, format!("this key cannot be pinned: {error}"))
}

enum Outcome {
    Proposed,
    Gone,
    Wrong,
}

struct Files {
    enrolment: PathBuf,
    proposals: PathBuf,
}

impl Files {
    /// A try is on disk before the code is looked at, so that a crash between the two gives no further one.
    fn propose(&self, code: &str, key: &PinEntry, now: Timestamp) -> io::Result<Outcome> {
        let text = match fs::read(&self.enrolment) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Gone),
            Err(error) => return Err(error),
        };
        let enrolment: Enrolment = serde_json::from_slice(&text)?;
        let Enrolment { v, code_sha256, expires, tries } = enrolment;
        if v != 1 || now > expires || tries >= limits::ENROL_TRIES {
            return Ok(Outcome::Gone);
        }
        let tried = Enrolment { tries: tries.saturating_add(1), ..enrolment };
        files::replace(&self.enrolment, &serde_json::to_vec(&tried)?)?;
        if sha256(code.as_bytes()) != code_sha256 {
            return Ok(Outcome::Wrong);
        }
        files::private_folder(&self.proposals)?;
        // A proposal is written first: a crash before the removal leaves a link that can propose the same key again.
        files::replace(&self.proposals.join(file_name(&key.id)), &serde_json::to_vec_pretty(key)?)?;
        files::remove(&self.enrolment)?;
        Ok(Outcome::Proposed)
    }
}

/// Credential ids are base64url, so safe in a name, but may be longer than file systems allow.
fn file_name(id: &str) -> String {
    if id.len() <= 200 { format!("{id}.json") } else { format!("{}.json", sha256(id.as_bytes())) }
}
