//! One turn: ask the model, make its calls through the broker, until it answers in words. Whether a call may run is not here.
//!
//! What the model wants is on disk before it is done, and its result before the model is asked again: whatever dies, the session
//! opens with exactly one result for every call.

use std::collections::HashSet;

use model::{
    Cancel, ModelError,
    chat::{Completion, Delta, Finish, ToolCall},
};
use proto::{
    TurnEvent,
    broker::{CallEvent, CallRequest, CallResult, Evidence, ThreadSettings},
    limits,
};

use crate::{
    broker_port::{Port, PortError},
    config::Config,
    history::{self, Entry},
    llama::{Client, Heard},
    session::{Session, SessionError},
    tools::Registry,
};

mod request;

/// Answers that do not fit the template and are asked for once more.
const RESAMPLES: u32 = 2;
/// Answers cut in the middle of a call, after which a turn ends.
const CUTS: u32 = 2;
/// Rounds of leaving out older messages before a turn gives up.
const COMPACTIONS: u32 = 4;

/// What a turn runs with.
#[derive(Debug)]
pub struct Runtime<P> {
    /// Limits and names.
    pub cfg: Config,
    /// The model server.
    pub client: Client,
    /// The broker.
    pub port: P,
    /// What a model may call.
    pub registry: Registry,
}

/// How a turn ended. In each case the session is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Whoever drives the loop withdrew.
    Cancelled,
    /// The model answered in words.
    Done {
        /// The words.
        text: String,
    },
    /// A limit was reached.
    Stopped {
        /// Which.
        reason: StopReason,
    },
}

/// Which limit ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Too many answers.
    #[error("the model answered as often as one turn allows")]
    Answers,
    /// Too many denials in a row.
    #[error("too many calls in a row were denied")]
    Denials,
    /// The answer was cut at its limit.
    #[error("the model's answer was cut at its limit of tokens")]
    Length,
    /// The same call again and again.
    #[error("the model made the same call again and again")]
    Repeats,
}

/// Why a turn could not be finished. The session is whole, and opens again.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The model server.
    #[error("the model gave no answer")]
    Model(#[from] ModelError),
    /// The broker.
    #[error("a call could not be made")]
    Port(#[from] PortError),
    /// The session's file.
    #[error("the session cannot be written")]
    Session(#[from] SessionError),
}

/// Runs one turn with the user's words. Blocks until it ends; [`Session::cancel`] ends it from another thread.
///
/// # Errors
/// [`TurnError`].
pub fn run_turn<P: Port>(
    session: &mut Session,
    runtime: &Runtime<P>,
    text: &str,
    events: &mut dyn FnMut(&TurnEvent),
) -> Result<Outcome, TurnError> {
    let cancel = session.begin_turn();
    session.record(vec![Entry::User(text.to_owned())])?;
    let mut turn = Turn { session, runtime, events, cancel, repeats: None, denials: 0, cuts: 0 };
    let outcome = turn.run()?;
    let word = match &outcome {
        Outcome::Cancelled => "cancelled",
        Outcome::Done { .. } => "done",
        Outcome::Stopped { .. } => "stopped",
    };
    (turn.events)(&TurnEvent::TurnDone { outcome: word.to_owned() });
    Ok(outcome)
}

struct Turn<'a, P> {
    session: &'a mut Session,
    runtime: &'a Runtime<P>,
    events: &'a mut dyn FnMut(&TurnEvent),
    cancel: Cancel,
    /// The last call and how often it was made in a row.
    repeats: Option<(String, String, u32)>,
    denials: u32,
    cuts: u32,
}

impl<P: Port> Turn<'_, P> {
    fn run(&mut self) -> Result<Outcome, TurnError> {
        for _ in 0..self.runtime.cfg.limits.answers {
            let completion = match self.ask() {
                Ok(completion) => completion,
                Err(TurnError::Model(ModelError::Cancelled)) => return Ok(Outcome::Cancelled),
                Err(error) => return Err(error),
            };
            if let Some(outcome) = self.follow(completion)? {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Stopped { reason: StopReason::Answers })
    }

    /// Asks until there is an answer, leaving out older messages where the context is full.
    fn ask(&mut self) -> Result<Completion, TurnError> {
        let (mut compactions, mut resamples) = (0, 0);
        loop {
            let body = request::body(self.session, &self.runtime.cfg);
            let events = &mut *self.events;
            let outcome = self.runtime.client.complete(&body, &self.cancel, &mut |heard| {
                events(&match heard {
                    Heard::Delta(Delta::Text(delta)) => TurnEvent::Text { delta: delta.to_owned() },
                    Heard::Delta(Delta::Reasoning(delta)) => TurnEvent::Reasoning { delta: delta.to_owned() },
                    Heard::Waiting(detail) => TurnEvent::WaitingForModel { detail: detail.to_owned() },
                });
            });
            match outcome {
                Ok(completion) => return Ok(completion),
                Err(ModelError::BadOutput { .. }) if resamples < RESAMPLES => resamples += 1,
                Err(error @ ModelError::Overflow { .. }) if compactions < COMPACTIONS => {
                    compactions += 1;
                    let Some(dropped) = request::droppable(self.session.entries()) else {
                        return Err(error.into());
                    };
                    let note =
                        format!("{dropped} earlier messages were left out, because the context is full.");
                    self.session.compact(dropped, note)?;
                    (self.events)(&TurnEvent::Compacted { dropped });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Does what an answer says. `None` means that the model is asked again.
    fn follow(&mut self, completion: Completion) -> Result<Option<Outcome>, TurnError> {
        let Completion { text, calls, finish, .. } = completion;
        let mut said = Vec::new();
        if !text.is_empty() || calls.is_empty() {
            said.push(Entry::Assistant(text.clone()));
        }
        if finish == Finish::Length {
            // Arguments may be cut in a place where they still parse: such calls are never made.
            let cut_call = !calls.is_empty();
            if cut_call {
                self.cuts += 1;
                said.push(Entry::Note(
                    "Your answer was cut off, and the calls in it were not made.".to_owned(),
                ));
            }
            self.session.record(said)?;
            let again = cut_call && self.cuts < CUTS;
            return Ok((!again).then_some(Outcome::Stopped { reason: StopReason::Length }));
        }
        if calls.is_empty() {
            self.session.record(said)?;
            return Ok(Some(Outcome::Done { text }));
        }
        let calls = self.name_calls(calls);
        said.extend(calls.iter().map(|call| Entry::Call {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: history::replayable(&call.arguments),
        }));
        self.session.record(said)?;
        self.make(&calls)
    }

    /// Gives each call an id that no other call of the session has.
    fn name_calls(&self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        let mut taken: HashSet<String> = self
            .session
            .entries()
            .iter()
            .filter_map(|entry| match entry {
                Entry::Call { call, .. } => Some(call.clone()),
                Entry::User(_) | Entry::Assistant(_) | Entry::Note(_) | Entry::Output { .. } => None,
            })
            .collect();
        let mut number = taken.len();
        calls
            .into_iter()
            .map(|mut call| {
                while call.id.is_empty() || taken.contains(&call.id) {
                    number += 1;
                    call.id = format!("call-{number}");
                }
                taken.insert(call.id.clone());
                call
            })
            .collect()
    }

    /// Makes the calls of one answer in their order, each with exactly one result.
    fn make(&mut self, calls: &[ToolCall]) -> Result<Option<Outcome>, TurnError> {
        let mut stop = None;
        for (at, call) in calls.iter().enumerate() {
            if stop.is_none() && self.cancel.is_cancelled() {
                stop = Some(Outcome::Cancelled);
            }
            if at >= self.runtime.cfg.limits.calls {
                let max = self.runtime.cfg.limits.calls;
                self.result(
                    call,
                    format!("Not made: one answer may make {max} calls. Make it again if it is needed."),
                )?;
            } else if stop == Some(Outcome::Cancelled) {
                self.result(
                    call,
                    "Cancelled: the turn was interrupted before this call was made.".to_owned(),
                )?;
            } else if stop.is_some() {
                self.result(call, "Not made: the turn was stopped before this call.".to_owned())?;
            } else if self.repeated(call) {
                self.result(call, "Not made: this very call was made again and again.".to_owned())?;
                stop = Some(Outcome::Stopped { reason: StopReason::Repeats });
            } else {
                match self.dispatch(call) {
                    Ok(text) => self.result(call, text)?,
                    Err(PortError::Cancelled) => {
                        self.result(
                            call,
                            "Cancelled: the turn was interrupted during this call.".to_owned(),
                        )?;
                        stop = Some(Outcome::Cancelled);
                    }
                    Err(error) => {
                        let lost = calls.iter().skip(at + 1).map(|call| Entry::Output {
                            call: call.id.clone(),
                            text: "Not made: the broker went away before this call.".to_owned(),
                        });
                        let here = Entry::Output {
                            call: call.id.clone(),
                            text: format!("Unavailable: {error}. {}", crate::session::INTERRUPTED),
                        };
                        self.session.record(std::iter::once(here).chain(lost).collect())?;
                        return Err(error.into());
                    }
                }
                if stop.is_none() && self.denials >= self.runtime.cfg.limits.denials {
                    stop = Some(Outcome::Stopped { reason: StopReason::Denials });
                }
            }
        }
        Ok(stop)
    }

    fn dispatch(&mut self, call: &ToolCall) -> Result<String, PortError> {
        (self.events)(&TurnEvent::ToolCalled {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        if call.arguments.len() > limits::ARGUMENTS_BYTES {
            let max = limits::ARGUMENTS_BYTES;
            return Ok(format!("Not made: the arguments are over the limit of {max} bytes."));
        }
        let request = CallRequest {
            id: 1,
            session: self.session.id().clone(),
            thread: self.session.id().as_str().to_owned(),
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            evidence: self.evidence(),
            settings: ThreadSettings {
                model: self.runtime.cfg.model.name.clone(),
                ..ThreadSettings::default()
            },
        };
        let events = &mut *self.events;
        let result = self.runtime.port.call(&request, &self.cancel, &mut |event| {
            events(&turn_event(&call.name, event));
        })?;
        Ok(match result {
            CallResult::Ok { content, truncated: _ } => {
                self.denials = 0;
                content
            }
            CallResult::Failed { text } => {
                self.denials = 0;
                text
            }
            CallResult::Denied { reason, text } => {
                self.denials += 1;
                (self.events)(&TurnEvent::ToolDenied { name: call.name.clone(), reason });
                text
            }
        })
    }

    fn repeated(&mut self, call: &ToolCall) -> bool {
        let count = match &self.repeats {
            Some((name, arguments, count)) if *name == call.name && *arguments == call.arguments => count + 1,
            Some(_) | None => 1,
        };
        self.repeats = Some((call.name.clone(), call.arguments.clone(), count));
        count > self.runtime.cfg.limits.repeats
    }

    fn result(&mut self, call: &ToolCall, text: String) -> Result<(), TurnError> {
        let text = request::fit(text, self.runtime.cfg.limits.result_bytes);
        self.session.record(vec![Entry::Output { call: call.id.clone(), text: text.clone() }])?;
        (self.events)(&TurnEvent::ToolResult { name: call.name.clone(), text });
        Ok(())
    }

    /// The tail of what was said, oldest first, within the limit.
    fn evidence(&self) -> Vec<Evidence> {
        let mut bytes = 0;
        let mut evidence: Vec<_> = self
            .session
            .entries()
            .iter()
            .rev()
            .filter_map(|entry| {
                let (role, text) = match entry {
                    Entry::User(text) => ("user", text),
                    Entry::Assistant(text) => ("assistant", text),
                    Entry::Output { text, .. } => ("tool", text),
                    Entry::Note(_) | Entry::Call { .. } => return None,
                };
                Some(Evidence { role: role.to_owned(), text: text.clone() })
            })
            .take_while(|entry| {
                bytes += entry.text.len() + entry.role.len();
                bytes <= limits::EVIDENCE_BYTES
            })
            .collect();
        evidence.reverse();
        evidence
    }
}

/// What a broker's event means to whoever drives the turn.
fn turn_event(name: &str, event: &CallEvent) -> TurnEvent {
    let name = name.to_owned();
    match event {
        CallEvent::Allowed => TurnEvent::ToolAllowed { name },
        CallEvent::Output { text } => TurnEvent::ToolOutput { name, text: text.clone() },
        CallEvent::WaitingForPerson { assurance } => {
            TurnEvent::WaitingForPerson { name, assurance: *assurance }
        }
        CallEvent::ReviewStarted { review } => {
            TurnEvent::ReviewStarted { review: review.clone(), strict: false }
        }
        CallEvent::StrictReviewRequired { review } => {
            TurnEvent::ReviewStarted { review: review.clone(), strict: true }
        }
        CallEvent::ReviewCompleted { review, outcome } => {
            TurnEvent::ReviewCompleted { review: review.clone(), outcome: outcome.clone() }
        }
    }
}

#[cfg(test)]
mod tests;
