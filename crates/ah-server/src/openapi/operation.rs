//! One operation: a route in the words of OpenAPI.

use std::collections::BTreeSet;

use ah_model::TokenRole;
use ah_model::limits::REQUEST_KEY_BYTES_MAX;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::problems;
use super::schemas::Schemas;
use crate::access::Scope;
use crate::links::API;
use crate::routing::{Answers, Param, Route};

pub(super) fn describe(route: &Route, schemas: &mut Schemas) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [tag(route)],
        "summary": route.doc.summary,
        "parameters": parameters(route, schemas),
        "responses": responses(route, schemas),
        "security": security(route),
        "x-roles": roles(route),
    });
    if let Some(body) = &route.arrives.body {
        operation["requestBody"] = json!({
            "required": true,
            "description": format!("At most {} bytes", body.bytes_max),
            "content": { "application/json": { "schema": schemas.given(body.schema) } },
        });
    }
    operation
}

/// The header that makes a request safe to send again.
pub(super) fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key and request again gets the first answer and does nothing; \
                        another request with the same key is invalid",
        "schema": {
            "type": "string",
            "pattern": "^[^\\u0000-\\u001f\\u007f]+$",
            "minLength": 1,
            "maxLength": REQUEST_KEY_BYTES_MAX,
        },
    })
}

fn words(route: &Route) -> impl Iterator<Item = &str> {
    let path = route.path.strip_prefix(API).unwrap_or(&route.path);
    path.split(['/', '-', '.', '{', '}']).filter(|word| !word.is_empty())
}

/// The method, then every word of the path: `getSessionsIdEvents`.
fn operation_id(route: &Route) -> String {
    let mut id = route.method.as_str().to_ascii_lowercase();
    for word in words(route) {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_ascii_uppercase());
        id.push_str(rest);
    }
    id
}

/// The first part of the path.
fn tag(route: &Route) -> &str {
    match route.path.strip_prefix(API) {
        Some(path) => path.split('/').nth(1).unwrap_or_default(),
        None => "server",
    }
}

fn roles(route: &Route) -> Vec<&'static str> {
    if route.access.is_open() {
        return Vec::new();
    }
    let mut roles: Vec<_> = route.access.roles().iter().map(|role| role.as_str()).collect();
    if route.access.scope() != Scope::Nothing {
        roles.push(TokenRole::Agent.as_str());
    }
    roles
}

fn security(route: &Route) -> Value {
    match (route.access.is_open(), route.doc.streams) {
        (true, _) => json!([]),
        (false, false) => json!([{ "token": [] }]),
        (false, true) => json!([{ "token": [] }, { "streamToken": [] }]),
    }
}

fn parameters(route: &Route, schemas: &mut Schemas) -> Vec<Value> {
    let mut parameters = Vec::new();
    if let Some(id) = route.arrives.id {
        let schema = schemas.given(id);
        parameters.push(json!({ "name": "id", "in": "path", "required": true, "schema": schema }));
    }
    parameters.extend(route.doc.query.iter().map(|param| query(param, schemas)));
    if route.doc.streams {
        parameters.push(json!({
            "name": "Last-Event-ID",
            "in": "header",
            "description": "Where a stream goes on: behind this event",
            "schema": { "type": "string" },
        }));
    }
    if route.takes_key() {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    parameters
}

fn query(param: &Param, schemas: &mut Schemas) -> Value {
    let schema = schemas.given(param.schema);
    let schema = match param.repeated {
        true => json!({ "type": "array", "items": schema }),
        false => schema,
    };
    json!({
        "name": param.name,
        "in": "query",
        "required": param.required,
        "description": param.about,
        "schema": schema,
    })
}

fn responses(route: &Route, schemas: &mut Schemas) -> Map<String, Value> {
    let mut content = match route.doc.answers {
        Answers::Nothing => json!({}),
        Answers::Json(schema) => {
            json!({ "application/json": { "schema": schemas.answered(schema) } })
        }
        Answers::Text(media_type) => json!({ media_type: { "schema": { "type": "string" } } }),
    };
    if route.doc.streams {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let mut success = json!({ "description": route.doc.status.canonical_reason() });
    if content != json!({}) {
        success["content"] = content;
    }
    let mut responses = Map::new();
    responses.insert(route.doc.status.as_str().to_owned(), success);
    for status in failures(route) {
        responses.insert(status.to_string(), problems::reference(status));
    }
    responses
}

/// Why a request may be refused, from what arrives with it and what the store may say.
fn failures(route: &Route) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<u16> = route.doc.fails.iter().map(StatusCode::as_u16).collect();
    statuses.insert(403);
    if !route.access.is_open() {
        statuses.extend([401, 500, 503]);
    }
    let keyed = route.takes_key();
    if keyed || route.arrives.body.is_some() {
        statuses.extend([400, 408, 413]);
    }
    if route.arrives.body.is_some() {
        statuses.insert(415);
    }
    if keyed || route.arrives.body.is_some() || route.arrives.id.is_some() || route.arrives.query {
        statuses.insert(422);
    }
    statuses
}
