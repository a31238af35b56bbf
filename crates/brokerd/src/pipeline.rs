//! One call from its frame to its result: read, hold, decide, ask, record, run. The whole story, top to bottom.
//!
//! What each step means is elsewhere: arguments and paths are `tools`', the decision is `policy`'s, the proof `proof`'s, the wait for
//! a person `desk`'s. Anything unexpected on the way denies, and is recorded.

use std::sync::Arc;

use policy::{
    Assurance, Decision, Evidence, Held, Person, RealPaths, Reviewer, Verdict, WithoutGrant, decide,
};
use proto::{
    AuditEvent, CallItem, DecisionRecord, DenyReason, Item,
    broker::{self as wire, CallEvent, CallRequest, CallResult, ClientDecision},
};

use crate::{
    broker::Broker,
    clock,
    connection::Link,
    desk::Answer,
    grants::Loaded,
    tools::{self, NoCall, Power, Prepared, Ran},
};

/// A call on its way.
struct Case {
    request: CallRequest,
    item: Item,
    loaded: Arc<Loaded>,
    paths: RealPaths,
}

impl Case {
    fn held(&self) -> Option<Held<'_>> {
        self.loaded.grants.list().find(&self.item, self.paths.found())
    }

    fn decide(&self, person: Person<'_>) -> Decision {
        decide(&Evidence {
            item: &self.item,
            grants: &self.loaded.grants,
            paths: &self.paths,
            now: clock::now(),
            without_grant: WithoutGrant::Deny,
            rule: None,
            // Until there is a reviewer, what it should judge goes to a person.
            reviewer: Reviewer::Silent,
            person,
        })
    }

    fn grant(&self) -> Option<String> {
        let finding = self.loaded.grants.find(&self.item, &self.paths, clock::now());
        finding.map(|finding| finding.name.to_owned())
    }
}

/// Decides one call and, where it may run, runs it. There is exactly one result, whatever happens.
pub(crate) async fn handle(broker: &Broker, request: CallRequest, link: &mut Link) -> CallResult {
    let Ok(id) = broker.new_id() else {
        return result_of(DenyReason::Unavailable {
            detail: "the system gives no random numbers".to_owned(),
        });
    };
    let item = Item::Call(CallItem {
        id: id.as_str().to_owned(),
        executor: broker.identity().to_owned(),
        session: request.session.as_str().to_owned(),
        tool: request.tool.clone(),
        arguments: request.arguments.clone(),
    });
    let loaded = broker.loaded();
    let prepared = match tools::prepare(&request.tool, &request.arguments) {
        Ok(prepared) => prepared,
        Err(no_call) => {
            let reason = match no_call {
                NoCall::UnknownTool => DenyReason::UnknownTool,
                NoCall::BadArguments(detail) => DenyReason::BadArguments { detail },
            };
            let case = Case { request, item, loaded, paths: RealPaths::unknown() };
            return deny(broker, &case, Vec::new(), reason).await;
        }
    };
    let paths = RealPaths::resolve(&item, |_| prepared.real());
    let case = Case { request, item, loaded, paths };
    let decision = case.decide(Person::Silent);
    let mut stages = lines(&decision);
    if let Some(problem) = prepared.problem() {
        stages.insert(0, format!("paths: {problem}"));
    }
    match decision.verdict {
        Verdict::Deny(reason) => deny(broker, &case, stages, reason).await,
        Verdict::Allow(_) => match decision.granted {
            Some(granted) => {
                let power = Power::Granted(granted);
                allow(broker, &case, stages, ("grant", power), prepared, link).await
            }
            None => deny(broker, &case, stages, nobody()).await,
        },
        Verdict::Escalate(Assurance::Client) => click(broker, &case, prepared, link).await,
        Verdict::Escalate(assurance @ (Assurance::Passkey | Assurance::Quorum(_))) => {
            person(broker, &case, assurance, prepared, link).await
        }
    }
}

/// A click in the program that drives the loop, where a grant takes one.
async fn click(broker: &Broker, case: &Case, prepared: Prepared, link: &mut Link) -> CallResult {
    link.ask_for_click();
    link.event(CallEvent::WaitingForPerson { assurance: wire::Assurance::Client });
    let decision = match link.click().await {
        Some(ClientDecision::Accept) => case.decide(Person::Clicked),
        Some(ClientDecision::Decline) => case.decide(Person::Denied("")),
        Some(ClientDecision::Cancel) | None => {
            let stages = lines(&case.decide(Person::Silent));
            return deny(broker, case, stages, DenyReason::Cancelled).await;
        }
    };
    let stages = lines(&decision);
    match (decision.verdict, decision.granted) {
        (Verdict::Allow(_), Some(granted)) => {
            allow(broker, case, stages, ("client", Power::Granted(granted)), prepared, link).await
        }
        (Verdict::Deny(reason), _) => deny(broker, case, stages, reason).await,
        (Verdict::Allow(_), None) | (Verdict::Escalate(_), _) => deny(broker, case, stages, nobody()).await,
    }
}

/// A person with a passkey, over the hub.
async fn person(
    broker: &Broker,
    case: &Case,
    assurance: Assurance,
    prepared: Prepared,
    link: &mut Link,
) -> CallResult {
    let silent = lines(&case.decide(Person::Silent));
    let Some(desk) = &broker.desk else {
        let detail = "it needs a person and this broker has no hub".to_owned();
        return deny(broker, case, silent, DenyReason::Unavailable { detail }).await;
    };
    link.event(CallEvent::WaitingForPerson {
        assurance: match assurance.persons() {
            1 => wire::Assurance::Passkey,
            persons => wire::Assurance::Quorum(persons),
        },
    });
    let human_only = case.held().is_some();
    let answer = desk.ask(&case.item, assurance.persons(), human_only, link).await;
    let reason = match answer {
        Answer::Approved { authorized, persons, signers } => {
            note_proof(broker, case, signers, None).await;
            let decision = case.decide(Person::Approved { persons });
            let stages = lines(&decision);
            return match decision.verdict {
                Verdict::Allow(_) => {
                    allow(broker, case, stages, ("proof", Power::Authorized(authorized)), prepared, link)
                        .await
                }
                Verdict::Deny(reason) => deny(broker, case, stages, reason).await,
                Verdict::Escalate(_) => {
                    deny(broker, case, stages, DenyReason::Proof { refusal: proto::Refusal::Quorum }).await
                }
            };
        }
        Answer::Denied { reason } => DenyReason::Person { reason },
        Answer::Refused(refusal) => {
            note_proof(broker, case, Vec::new(), Some(refusal)).await;
            DenyReason::Proof { refusal }
        }
        Answer::Expired => DenyReason::Expired,
        Answer::Cancelled => DenyReason::Cancelled,
        Answer::Unavailable { detail } => DenyReason::Unavailable { detail },
    };
    deny(broker, case, silent, reason).await
}

async fn note_proof(broker: &Broker, case: &Case, signers: Vec<String>, refused: Option<proto::Refusal>) {
    let event = AuditEvent::ProofUsed {
        call: case.request.call.clone(),
        item: proof::item_hash(&case.item),
        signers,
        refused,
    };
    // The decision that follows is what must be durable; where this failed, that one fails too and nothing runs.
    drop(broker.record(event).await);
}

async fn deny(broker: &Broker, case: &Case, stages: Vec<String>, reason: DenyReason) -> CallResult {
    let outcome = DecisionRecord::Denied { reason: reason.clone() };
    match broker.record(decision(broker, case, stages, outcome)).await {
        Ok(receipt) => {
            // A denial acts on nothing.
            drop(receipt);
            result_of(reason)
        }
        Err(error) => {
            tracing::error!(%error, "a denial could not be recorded");
            result_of(DenyReason::AuditFailed)
        }
    }
}

/// Records that the call may run, and only then runs it.
async fn allow(
    broker: &Broker,
    case: &Case,
    stages: Vec<String>,
    (by, power): (&str, Power),
    prepared: Prepared,
    link: &mut Link,
) -> CallResult {
    if link.is_cancelled() {
        return deny(broker, case, stages, DenyReason::Cancelled).await;
    }
    let outcome = DecisionRecord::Allowed { by: by.to_owned() };
    let receipt = match broker.record(decision(broker, case, stages, outcome)).await {
        Ok(receipt) => receipt,
        Err(error) => {
            tracing::error!(%error, "a decision could not be recorded, so the call does not run");
            return result_of(DenyReason::AuditFailed);
        }
    };
    link.event(CallEvent::Allowed);
    let ran = prepared.run(proof::item_hash(&case.item), power, receipt, link).await;
    let (result, exit, bytes, error) = match ran {
        Ran::Done { content, truncated, exit } => {
            let bytes = content.len();
            (CallResult::Ok { content, truncated }, exit, bytes, None)
        }
        Ran::Failed { text } => {
            let bytes = text.len();
            (CallResult::Failed { text: text.clone() }, None, bytes, Some(text))
        }
    };
    let event = AuditEvent::Outcome {
        session: case.request.session.clone(),
        call: case.request.call.clone(),
        exit,
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        error,
    };
    if let Err(error) = broker.record(event).await {
        // It has run: the result is told, and the broker stops granting by itself.
        tracing::error!(%error, "the outcome of a call could not be recorded");
    }
    result
}

fn decision(broker: &Broker, case: &Case, stages: Vec<String>, outcome: DecisionRecord) -> AuditEvent {
    AuditEvent::Decision {
        session: case.request.session.clone(),
        call: case.request.call.clone(),
        tool: case.request.tool.clone(),
        arguments: case.request.arguments.clone(),
        outcome,
        grant: case.grant(),
        stages,
        boot: broker.boot.clone(),
        grants: case.loaded.digest,
    }
}

fn lines(decision: &Decision) -> Vec<String> {
    decision.stages.iter().map(ToString::to_string).collect()
}

fn result_of(reason: DenyReason) -> CallResult {
    let text = reason.to_string();
    CallResult::Denied { reason, text }
}

/// `policy` allowed and gave no authority: that is a fault of ours, and it denies.
fn nobody() -> DenyReason {
    DenyReason::Unavailable { detail: "no authority came with the decision".to_owned() }
}
