//! A turn against a scripted broker and a scripted model server on a Unix socket.

use std::{
    io::Read as _,
    os::unix::net::UnixListener,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use proto::{DenyReason, SessionId, broker::ToolInfo};
use serde_json::{Value, json};
use testkit::{FakeModel, Reply};

use super::*;
use crate::{baseline::Baseline, session};

/// A broker that says the same of every call.
#[derive(Debug)]
struct Scripted<F>(F);

impl<F: Fn(&CallRequest, &Cancel) -> Result<CallResult, PortError> + Send + Sync> Port for Scripted<F> {
    fn call(
        &self,
        request: &CallRequest,
        cancel: &Cancel,
        event: &mut dyn FnMut(&CallEvent),
    ) -> Result<CallResult, PortError> {
        let result = (self.0)(request, cancel)?;
        if matches!(result, CallResult::Ok { .. }) {
            event(&CallEvent::Allowed);
        }
        Ok(result)
    }

    fn tools(&self) -> Result<Vec<ToolInfo>, PortError> {
        Ok(Vec::new())
    }
}

fn denied(_: &CallRequest, _: &Cancel) -> Result<CallResult, PortError> {
    let reason = DenyReason::NoGrant;
    Ok(CallResult::Denied { text: reason.to_string(), reason })
}

struct Scene {
    outcome: Result<Outcome, TurnError>,
    events: Vec<TurnEvent>,
    bodies: Vec<Value>,
    raw: Vec<String>,
    /// The session opened again.
    entries: Vec<Entry>,
}

fn scene<F>(script: Vec<Reply>, broker: F) -> Scene
where
    F: Fn(&CallRequest, &Cancel) -> Result<CallResult, PortError> + Send + Sync,
{
    scene_with(script, broker, |_| ())
}

fn scene_with<F>(script: Vec<Reply>, broker: F, prepare: impl FnOnce(&mut Session)) -> Scene
where
    F: Fn(&CallRequest, &Cancel) -> Result<CallResult, PortError> + Send + Sync,
{
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("model.sock");
    let model = FakeModel::start(&socket, script);
    let cfg = Config::from_toml(&format!(
        "sessions = '{home}/s'\n[model]\nendpoint = '{socket}'\nidle_s = 5\nready_s = 5\n[broker]\nsocket = '{home}/b'\n",
        home = home.path().display(),
        socket = socket.display(),
    ))
    .unwrap();
    let registry = Registry::built_in();
    let baseline = Baseline::assemble(&cfg, &registry).unwrap();
    let id = SessionId::new("s").unwrap();
    let mut session = Session::create(&cfg.sessions, id.clone(), baseline, cfg.slots.main).unwrap();
    prepare(&mut session);
    let runtime = Runtime { client: Client::new(cfg.model.clone()), cfg, port: Scripted(broker), registry };
    let mut events = Vec::new();
    let outcome =
        run_turn(&mut session, &runtime, "Read /etc/hostname", &mut |event| events.push(event.clone()));
    let live = session.entries().to_vec();
    drop(session);
    let session = Session::open(&runtime.cfg.sessions, id).unwrap();
    assert_eq!(session.entries(), live, "a finished turn leaves nothing to heal");
    let raw = model.bodies();
    let bodies = raw.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    Scene { outcome, events, bodies, raw, entries: live }
}

#[track_caller]
fn one_result_for_each_call(entries: &[Entry]) {
    let mut calls: Vec<_> = entries
        .iter()
        .filter_map(|entry| if let Entry::Call { call, .. } = entry { Some(call.as_str()) } else { None })
        .collect();
    let mut outputs: Vec<_> = entries
        .iter()
        .filter_map(|entry| if let Entry::Output { call, .. } = entry { Some(call.as_str()) } else { None })
        .collect();
    calls.sort_unstable();
    outputs.sort_unstable();
    assert_eq!(calls, outputs);
}

const READ: (&str, &str, &str) = ("c1", "read_file", "{\"path\":\"/etc/hostname\"}");

#[test]
fn a_denial_is_a_result_and_the_turn_goes_on() {
    let scene = scene(vec![Reply::calls(&[READ], "tool_calls"), Reply::words("I may not.")], denied);
    assert_eq!(scene.outcome.unwrap(), Outcome::Done { text: "I may not.".to_owned() });
    let denial = TurnEvent::ToolDenied { name: "read_file".to_owned(), reason: DenyReason::NoGrant };
    assert!(scene.events.contains(&denial));
    assert_eq!(scene.bodies[1]["messages"][3]["content"], "Denied: no grant allows this call.");
    one_result_for_each_call(&scene.entries);
}

#[test]
fn every_request_begins_with_the_same_bytes() {
    let script =
        vec![Reply::calls(&[READ], "tool_calls"), Reply::calls(&[READ], "tool_calls"), Reply::words("done")];
    let scene = scene(script, denied);
    let prefix = scene.raw[0].split_once("{\"content\":\"Read").unwrap().0.to_owned();
    assert!(prefix.contains("\"tools\":[") && prefix.contains("\"role\":\"system\""));
    assert!(scene.raw.iter().all(|body| body.starts_with(&prefix)));
}

#[test]
fn nothing_said_is_an_answer_without_words() {
    let empty = Reply::Stream(vec![json!({"choices":[{"delta":{},"finish_reason":"stop"}]})]);
    assert_eq!(scene(vec![empty], denied).outcome.unwrap(), Outcome::Done { text: String::new() });
}

#[test]
fn a_call_in_a_cut_answer_is_never_made() {
    let cut = || Reply::calls(&[("c1", "read_file", "{\"path\":\"/etc/host")], "length");
    let refuse = |_: &CallRequest, _: &Cancel| -> Result<CallResult, PortError> { panic!("dispatched") };
    let scene = scene(vec![cut(), cut()], refuse);
    assert_eq!(scene.outcome.unwrap(), Outcome::Stopped { reason: StopReason::Length });
    one_result_for_each_call(&scene.entries);
}

#[test]
fn arguments_that_do_not_parse_go_to_the_broker_as_they_are_and_are_never_replayed() {
    let script = vec![Reply::calls(&[("c1", "read_file", "{\"path\"")], "tool_calls"), Reply::words("hm")];
    let scene = scene(script, |request, cancel| {
        assert_eq!(request.arguments, "{\"path\"");
        denied(request, cancel)
    });
    assert_eq!(scene.bodies[1]["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn parallel_calls_keep_their_order_and_those_over_the_limit_are_told() {
    let names: Vec<_> = (0..20).map(|n| (format!("c{n}"), format!("{{\"path\":\"/{n}\"}}"))).collect();
    let list: Vec<_> =
        names.iter().map(|(id, arguments)| (id.as_str(), "read_file", arguments.as_str())).collect();
    let ok = |request: &CallRequest, _: &Cancel| {
        Ok(CallResult::Ok { content: request.arguments.clone(), truncated: false })
    };
    let scene = scene(vec![Reply::calls(&list, "tool_calls"), Reply::words("done")], ok);
    one_result_for_each_call(&scene.entries);
    let outputs: Vec<_> = scene
        .entries
        .iter()
        .filter_map(|entry| {
            if let Entry::Output { call, text } = entry { Some((call.clone(), text.clone())) } else { None }
        })
        .collect();
    for (at, (id, text)) in outputs.iter().enumerate() {
        assert_eq!(id, &format!("c{at}"));
        assert_eq!(text.starts_with("Not made"), at >= 16, "{text}");
    }
}

#[test]
fn equal_ids_are_told_apart() {
    let script =
        vec![Reply::calls(&[READ, READ, ("", "read_file", "{}")], "tool_calls"), Reply::words("done")];
    one_result_for_each_call(&scene(script, denied).entries);
}

#[test]
fn the_same_call_for_ever_ends_the_turn() {
    let ok = |_: &CallRequest, _: &Cancel| Ok(CallResult::Ok { content: "x".to_owned(), truncated: false });
    let scene = scene(vec![Reply::calls(&[READ], "tool_calls"); 4], ok);
    assert_eq!(scene.outcome.unwrap(), Outcome::Stopped { reason: StopReason::Repeats });
    one_result_for_each_call(&scene.entries);
}

#[test]
fn denials_in_a_row_end_the_turn() {
    let script =
        (0..5).map(|n| Reply::calls(&[("c", "read_file", &format!("{{\"path\":\"/{n}\"}}"))], "tool_calls"));
    let scene = scene(script.collect(), denied);
    assert_eq!(scene.outcome.unwrap(), Outcome::Stopped { reason: StopReason::Denials });
}

#[test]
fn a_full_context_leaves_out_older_turns_and_says_so() {
    let full = json!({"error":{"code":400,"type":"exceed_context_size_error","message":"m","n_prompt_tokens":9,"n_ctx":4}});
    let scene = scene_with(vec![Reply::Status(400, full.clone()), Reply::words("done")], denied, |session| {
        let older = [Entry::User("old".to_owned()), Entry::Assistant("older".to_owned())];
        session.record(older.to_vec()).unwrap();
    });
    assert_eq!(scene.outcome.unwrap(), Outcome::Done { text: "done".to_owned() });
    assert!(scene.events.contains(&TurnEvent::Compacted { dropped: 2 }));
    assert!(scene.bodies[1].to_string().contains("2 earlier messages were left out"));
    assert!(!scene.bodies[1].to_string().contains("older"));
    let scene = self::scene(vec![Reply::Status(400, full)], denied);
    assert!(matches!(scene.outcome, Err(TurnError::Model(ModelError::Overflow { .. }))));
}

#[test]
fn a_model_that_loads_is_waited_for() {
    let loading = || {
        Reply::Status(503, json!({"error":{"code":503,"type":"unavailable_error","message":"Loading model"}}))
    };
    let scene = scene(vec![loading(), loading(), Reply::words("ready")], denied);
    assert_eq!(scene.outcome.unwrap(), Outcome::Done { text: "ready".to_owned() });
    assert!(scene.events.iter().any(|event| matches!(event, TurnEvent::WaitingForModel { .. })));
}

#[test]
fn output_against_the_template_is_asked_for_again_and_then_given_up() {
    let bad = || {
        Reply::Status(
            500,
            json!({"error":{"code":500,"type":"server_error","message":"The model produced output that does not match the expected peg-native format"}}),
        )
    };
    assert!(scene(vec![bad(), bad(), Reply::words("ok")], denied).outcome.is_ok());
    let given_up = scene(vec![bad(), bad(), bad()], denied).outcome;
    assert!(matches!(given_up, Err(TurnError::Model(ModelError::BadOutput { .. }))));
}

#[test]
fn death_in_the_middle_of_an_answer_is_no_answer_and_is_not_said_twice() {
    let half = Reply::Break(vec![json!({"choices":[{"delta":{"content":"half"}}]})]);
    let scene = scene(vec![half], denied);
    assert!(matches!(scene.outcome, Err(TurnError::Model(ModelError::Died(_)))));
    assert_eq!(scene.entries, [Entry::User("Read /etc/hostname".to_owned())]);
    let noise = self::scene(vec![Reply::Noise, Reply::words("ok")], denied);
    assert_eq!(noise.outcome.unwrap(), Outcome::Done { text: "ok".to_owned() });
}

#[test]
fn a_broker_that_dies_leaves_one_result_for_each_call() {
    let script = vec![Reply::calls(&[READ, ("c2", "read_file", "{}")], "tool_calls")];
    let scene = scene(script, |_, _| Err(PortError::Died(None)));
    assert!(matches!(scene.outcome, Err(TurnError::Port(PortError::Died(None)))));
    one_result_for_each_call(&scene.entries);
}

#[test]
fn a_cancelled_turn_ends_at_once_and_leaves_one_result_for_each_call() {
    let (tell, told) = mpsc::channel();
    let script = vec![Reply::calls(&[READ, ("c2", "read_file", "{}")], "tool_calls")];
    let cancelled = move |_: &CallRequest, cancel: &Cancel| {
        cancel.cancel();
        tell.send(()).unwrap();
        Err(PortError::Cancelled)
    };
    let cancelled = Mutex::new(cancelled);
    let scene = scene(script, |request, cancel| cancelled.lock().unwrap()(request, cancel));
    told.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(scene.outcome.unwrap(), Outcome::Cancelled);
    one_result_for_each_call(&scene.entries);
}

#[test]
fn a_turn_cancelled_while_the_model_is_silent_ends() {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("m");
    let listener = UnixListener::bind(&socket).unwrap();
    let cfg = Config::from_toml(&format!(
        "sessions='{0}'\n[model]\nendpoint='{1}'\n[broker]\nsocket='/b'\n",
        home.path().display(),
        socket.display()
    ))
    .unwrap();
    let registry = Registry::built_in();
    let baseline = Baseline::assemble(&cfg, &registry).unwrap();
    let mut session = Session::create(&cfg.sessions, SessionId::new("s").unwrap(), baseline, 0).unwrap();
    let cancel = session.cancel();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1);
        cancel.cancel();
        stream
    });
    let runtime = Runtime { client: Client::new(cfg.model.clone()), cfg, port: Scripted(denied), registry };
    let outcome = run_turn(&mut session, &runtime, "hi", &mut |_| ()).unwrap();
    assert_eq!(outcome, Outcome::Cancelled);
    drop(server.join().unwrap());
    assert_eq!(session::list(home.path()).unwrap().len(), 1);
}
