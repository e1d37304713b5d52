//! MCP over HTTP at `/mcp`: one request is one exchange, nothing is kept between two.
//!
//! Who asks is known from the token; pages of other sites and names that are not ours were refused
//! before. The SDK checks the protocol's own headers.

use std::borrow::Cow;
use std::sync::Arc;

use ah_model::RawJson;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::Caller;
use super::act::Waits;
use super::handler::Handler;
use crate::access::Access;
use crate::answer::Answer;
use crate::auth;
use crate::extract::JsonBody;
use crate::limits::MCP_MESSAGE_BYTES_MAX;
use crate::problem::Failure;
use crate::routing::{Routes, doc};
use crate::state::ServerState;

/// Where it is.
const MCP: &str = "/mcp";

pub(crate) fn routes() -> Routes {
    let about = doc("A message of the Model Context Protocol").answers::<Rpc>(200);
    Routes::new().post(MCP, Access::OPERATE.or_any_agent(), about, serve)
}

/// A JSON-RPC message, as it was sent.
#[derive(Deserialize)]
#[serde(transparent)]
struct Rpc(RawJson);

impl JsonSchema for Rpc {
    fn schema_name() -> Cow<'static, str> {
        "JsonRpcMessage".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "required": ["jsonrpc"] })
    }
}

async fn serve(
    State(state): State<ServerState>,
    caller: auth::Caller,
    headers: HeaderMap,
    JsonBody(Rpc(message), _share): JsonBody<Rpc, MCP_MESSAGE_BYTES_MAX>,
) -> Answer {
    let caller = identify(&state, &caller).await?;
    let handler = Handler::new(state, caller, Waits::Here);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MCP_MESSAGE_BYTES_MAX)
        // The guard has looked at the name and the origin of every request.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::<NeverSessionManager>::default(),
        config,
    );
    let mut request = Request::new(Body::from(message.as_str().to_owned()));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = headers;
    tell(service.handle(request).await.map(Body::new)).await
}

/// Who asks: the agent of the token, else the operator.
async fn identify(state: &ServerState, caller: &auth::Caller) -> Result<Caller, Failure> {
    let Some(id) = caller.agent().cloned() else { return Ok(Caller::operator()) };
    let agent = state.call(|store| async move { store.agent(id).await }).await?;
    Ok(Caller::agent(&agent))
}

/// The SDK's answer. What it refuses in plain text is a problem, as everywhere.
async fn tell(response: Response) -> Answer {
    // Its type was read already: what the SDK does not take is JSON that is no message.
    let status = match response.status() {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => StatusCode::BAD_REQUEST,
        status => status,
    };
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|name| name.to_str().is_ok_and(|name| name.starts_with("application/json")));
    if is_json || status.is_success() {
        return Ok(response);
    }
    let text = to_bytes(response.into_body(), MCP_MESSAGE_BYTES_MAX).await.unwrap_or_default();
    let detail = String::from_utf8_lossy(&text).into_owned();
    let code = match status {
        StatusCode::NOT_ACCEPTABLE => "not-acceptable",
        _ => "bad-message",
    };
    Err(Failure::new(code, "not a message of the protocol", status.as_u16(), detail))
}
