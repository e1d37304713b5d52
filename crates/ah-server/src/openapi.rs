//! The description of the interface, OpenAPI 3.1, made from the table of routes.
//!
//! It is served, checked in and diffed, and requests are generated from it in tests: what it says
//! must be true. Types say what they are themselves (`schemars`); requests and answers may read the
//! same type differently, see [`schemas`].

mod operation;
mod page;
mod problems;
mod schemas;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::answer::Answer;
use crate::problem::Failure;
use crate::routes;
use crate::routing::{Route, Routes, doc};
use crate::state::ServerState;
use schemas::Schemas;

const HTML: &str = "text/html; charset=utf-8";

/// The description and the page that shows it; both are the same for everybody.
pub(crate) fn routes() -> Routes {
    let document = doc("This description").answers::<Document>(200);
    let page = doc("This description as a page").answers_text(HTML);
    Routes::new().get("/openapi.json", Access::OPEN, document, show).get(
        "/docs",
        Access::OPEN,
        page,
        show_page,
    )
}

/// An OpenAPI document.
struct Document;

impl JsonSchema for Document {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An OpenAPI document",
            "type": "object",
            "required": ["openapi", "info", "paths", "components"],
        })
    }
}

async fn show(State(state): State<ServerState>) -> Answer {
    let text = state.openapi.get_or_init(|| document().to_string().into());
    let media_type = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, media_type)], text.clone()).into_response())
}

async fn show_page() -> Result<Response, Failure> {
    let policy = HeaderValue::from_str(&page::policy())
        .map_err(|error| Failure::internal(error.to_string()))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(HTML)),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((headers, page::PAGE).into_response())
}

/// The whole description.
pub fn document() -> Value {
    let table = routes::routes().into_parts().1;
    let mut schemas = Schemas::new();
    let paths = paths(&table, &mut schemas);
    let document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Agent Harbor",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable memory of coding agents: the contract over HTTP.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "streamToken": { "type": "apiKey", "in": "query", "name": "access_token" },
            },
            "parameters": { "IdempotencyKey": operation::idempotency_key() },
            "responses": problems::responses(),
        },
    });
    schemas.settle(document)
}

fn paths(table: &[Route], schemas: &mut Schemas) -> Map<String, Value> {
    let mut paths: Map<String, Value> = Map::new();
    for route in table {
        let methods = paths.entry(route.path.clone()).or_insert_with(|| json!({}));
        let method = route.method.as_str().to_ascii_lowercase();
        if let Some(methods) = methods.as_object_mut() {
            methods.insert(method, operation::describe(route, schemas));
        }
    }
    paths
}
