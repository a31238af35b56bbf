//! The description of the API: made from the table of routes and a table of shapes, served to everybody. A shape is written as
//! `member:type` with `?` for a member that may be absent, `~` for one that may be null, `[…]` for a list.

use axum::extract::State;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::body::Json;
use crate::routes::{Audience, ROUTES, Route, Verb};

/// Every body by name. Tests compare them with what the hub really answers.
pub(crate) const SHAPES: &[(&str, &str)] = &[
    ("Nothing", ""),
    ("Problem", "type:str title:str status:int code:str detail:str stale?:[str]"),
    ("Health", "status:str"),
    ("Credential", "id:str label:str"),
    ("LoginStarted", "nonce:str credentials:[Credential] rp_id:str origin:str now:int"),
    ("LoginAnswer", "payload:str signature:Signature"),
    ("LoginFinished", "token:str label:str person:str expires:int"),
    (
        "PinEntry",
        "id:str alg:int spki:str rp_id:str origins:[str] label:str person?:str not_after:int~ backup_eligible:bool since:int",
    ),
    ("Enrol", "code:str key:PinEntry"),
    ("Proposed", "fingerprint:str label:str"),
    (
        "Me",
        "audience:str hub:str origin:str paused:bool now:int name?:str role?:str executors?:[str] label?:str person?:str keyid?:str \
         rp_id?:str quorum?:any undo_ms?:int",
    ),
    ("Session", "id:str label:str created:int seen:int current:bool"),
    ("Sessions", "sessions:[Session]"),
    (
        "NewAsk",
        "kind:str quorum:int id:str executor:str session:str tool:str input?:str cwd?:str arguments?:str why?:str host?:str \
         thread?:str guard?:str",
    ),
    ("Asked", "id:str status:str expires?:int"),
    ("Denial", "channel:str reason:str label:str proof:Proof"),
    ("AskState", "status:str proof?:Proof denial?:Denial"),
    ("Close", "status:str"),
    ("WebAuthn", "authenticatorData:str clientDataJSON:str signature:str"),
    ("Signature", "keyid:str webauthn?:WebAuthn sshsig?:str ed25519?:str"),
    ("Proof", "payloadType:str payload:str signatures:[Signature] delegation?:Proof"),
    ("Message", "seq:int proof:Proof channel:str reason:str label:str urgent:bool pinned:bool"),
    ("Messages", "messages:[Message] next:int"),
    ("TrustProof", "seq:int verb:str proof:Proof"),
    ("Trust", "proofs:[TrustProof] next:int"),
    (
        "Row",
        "kind:str id:str item:any also:[str] status:str agent:str executor:str host:str~ thread:str~ guard:str why:str~ \
         created:int expires:int quorum:int have:int batch:str~ human_only:str~ task:str~ runnable:bool sha256:str job:any~",
    ),
    ("Entry", "kind:str id:str choice:str sha256:str"),
    (
        "Batch",
        "id:str status:str payload:str entries:[Entry] have:int need:int signers:[str] created:int settles:int~ expires:int",
    ),
    ("Agent", "name:str role:str executors:[str] created:int seen:int~ revoked:bool"),
    ("PinnedMessage", "seq:int nonce:str channel:str reason:str label:str expires:int"),
    ("Head", "seq:int hash:str verified:bool"),
    ("Pin", "id:str label:str person:str~ alg:int fingerprint:str since:int revoked:bool"),
    ("Today", "allowed_by_you:int allowed_by_rule:int allowed_by_reviewer:int denied:int expired:int"),
    (
        "Inbox",
        "inbox:[Row] next:str~ total:int jobs:[any] rules:[any] delegations:[any] batches:[Batch] agents:[Agent] \
         messages:[PinnedMessage] head:Head hub:str paused:bool undo_ms:int now:int pins:[Pin] today:Today",
    ),
    (
        "Prepare",
        "verb:str entries?:[Entry] channel?:str reason?:str key?:PinEntry executor?:str what?:str id?:str",
    ),
    ("Cover", "kind:str id:str hash:str"),
    ("Prepared", "payload:any credentials:[str] rp_id:str covers:[Cover] warnings:[str]"),
    ("Sealing", "proof:Proof entries?:[Entry]"),
    ("Sealed", "batch?:str id?:str"),
    ("Signatures", "signatures:[Signature]"),
    ("Line", "seq:int at:int prev:str event:any hash:str"),
    ("Events", "events:[Line]"),
    ("Paused", "paused:bool"),
    (
        "HistoryEntry",
        "kind:str id:str status:str item:any agent:str who:str channel:str~ reason:str created:int closed:int~ seq:int",
    ),
    ("History", "entries:[HistoryEntry] next:int~"),
    ("Story", "row:Row events:[Line] proof?:Proof"),
];

/// `GET /api/openapi.json`
pub(crate) async fn serve(State(app): State<App>) -> Json<Value> {
    std::future::ready(Json(describe(&app.config().name))).await
}

/// The description of a hub of that name.
pub(crate) fn describe(hub: &str) -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method().to_ascii_lowercase(), operation(route));
        }
    }
    let shapes: Map<String, Value> =
        SHAPES.iter().map(|(name, members)| ((*name).to_owned(), object(members))).collect();
    json!({
        "openapi": "3.1.0",
        "info": { "title": format!("Sealward hub `{hub}`"), "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": shapes,
            "securitySchemes": {
                "machine": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "sealward" },
                "page": { "type": "apiKey", "in": "header", "name": "X-Sealward" },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let (status, shape) = route.gives;
    let mut good = json!({ "description": "done" });
    if let (Some(shape), Some(good)) = (shape, good.as_object_mut()) {
        good.insert("content".into(), json!({ "application/json": { "schema": reference(shape) } }));
    }
    let problem = json!({
        "description": "refused; nothing was allowed",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    });
    let mut operation = json!({
        "summary": route.about,
        "responses": { status.to_string(): good, "default": problem },
        "security": security(route),
        "x-audience": format!("{:?}", route.audience).to_ascii_lowercase(),
        "x-roles": route.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>(),
    });
    let of_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = of_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query =
        route.query.iter().map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } }));
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    if let Some(operation) = operation.as_object_mut() {
        if !parameters.is_empty() {
            operation.insert("parameters".into(), parameters.into());
        }
        if let (Verb::Post, Some(shape)) = (route.verb, route.takes) {
            let body = json!({ "required": true, "content": { "application/json": { "schema": reference(shape) } } });
            operation.insert("requestBody".into(), body);
        }
    }
    operation
}

fn security(route: &Route) -> Value {
    match route.audience {
        Audience::Open | Audience::Page | Audience::Door => json!([]),
        Audience::Browser => json!([{ "cookie": [], "page": [] }]),
        Audience::Machine => json!([{ "machine": [] }]),
        Audience::Both => json!([{ "cookie": [], "page": [] }, { "machine": [] }]),
    }
}

fn reference(shape: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{shape}") })
}

/// A shape as a schema.
fn object(members: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, kind) in members.split_whitespace().filter_map(|member| member.split_once(':')) {
        let name = match name.strip_suffix('?') {
            Some(optional) => optional,
            None => {
                required.push(name);
                name
            }
        };
        let schema = match kind.strip_suffix('~') {
            Some(kind) => json!({ "anyOf": [schema(kind), { "type": "null" }] }),
            None => schema(kind),
        };
        properties.insert(name.to_owned(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn schema(kind: &str) -> Value {
    if let Some(of) = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return json!({ "type": "array", "items": schema(of) });
    }
    match kind {
        "str" => json!({ "type": "string" }),
        "int" => json!({ "type": "integer" }),
        "bool" => json!({ "type": "boolean" }),
        "any" => json!({}),
        shape => reference(shape),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                if let (Value::String(target), "$ref") = (member, name.as_str()) {
                    found.insert(target.clone());
                }
                references(member, found);
            }),
            Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_route_is_described_and_every_shape_exists_and_is_used() {
        let described = describe("test");
        for route in ROUTES {
            let method = route.method().to_ascii_lowercase();
            assert_eq!(described["paths"][route.path][&method]["summary"], route.about, "{}", route.path);
        }
        let operations: usize = described["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|path| path.as_object().unwrap().len())
            .sum();
        assert_eq!(operations, ROUTES.len(), "no two lines of the table are one route");
        let mut used = BTreeSet::new();
        references(&described, &mut used);
        let shapes: BTreeSet<String> =
            SHAPES.iter().map(|(name, _)| format!("#/components/schemas/{name}")).collect();
        assert_eq!(used, shapes);
    }
}
