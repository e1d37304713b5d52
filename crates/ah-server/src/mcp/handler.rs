//! The server of one caller, as the SDK wants it.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    Tool as Spec,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::act::{Act, Waits};
use super::caller::{forbidden, tool_call};
use super::round::Rounds;
use super::tool::{Tool, refused};
use super::{Caller, resource};
use crate::limits::{MCP_CALLS_MAX, RETRY_AFTER};
use crate::state::ServerState;

const AGENT: &str = "Agent Harbor: your mail, questions, approvals and history, kept for good. Call \
    recv for messages and ack each one you have handled. Use ask for what only the operator or \
    another agent knows, and request_approval before what you may not decide yourself. A call that \
    waits comes back in time with what there is; nothing is lost by going on with other work.";
const OPERATOR: &str = "Agent Harbor, as the operator: status shows what waits, list_approvals and \
    decide_approval, list_questions and answer, recv and send for mail. Tools that act for an agent \
    take its name.";

/// Methods whose parameters may be wrong.
const KNOWN: [&str; 6] = [
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
];

/// Serves one caller.
#[derive(Clone)]
pub(super) struct Handler {
    state: ServerState,
    caller: Caller,
    waits: Waits,
    /// Calls under way.
    room: Arc<Semaphore>,
}

impl Handler {
    pub(super) fn new(state: ServerState, caller: Caller, waits: Waits) -> Self {
        Self { state, caller, waits, room: Arc::new(Semaphore::new(MCP_CALLS_MAX)) }
    }

    pub(super) fn state(&self) -> &ServerState {
        &self.state
    }

    fn act(&self, context: &RequestContext<RoleServer>) -> Act {
        let client = context.client_info().map(|client| client.name);
        Act {
            state: self.state.clone(),
            caller: self.caller.clone().with_meta(&context.meta),
            tool_call: tool_call(&context.meta),
            client: client.filter(|name| is_label(name)),
            waits: self.waits,
            rounds: Rounds::default(),
        }
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.state.mcp.tools().iter().find(|tool| tool.spec.name == name)
    }
}

fn not_known(method: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

/// Whether the name of a program can say who holds a message.
fn is_label(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic())
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let text = if self.caller.name().is_some() { AGENT } else { OPERATOR };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("agent-harbor", env!("CARGO_PKG_VERSION")))
            .with_instructions(text)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let may = |tool: &&Tool| tool.needs <= self.caller.powers();
        let tools = self.state.mcp.tools().iter().filter(may).map(|tool| tool.spec.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Spec> {
        self.tool(name).map(|tool| tool.spec.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tool(&request.name) else {
            let text = format!("unknown tool: {}", request.name);
            return Err(ErrorData::invalid_params(text, None));
        };
        if tool.needs > self.caller.powers() {
            let text = format!("the tool {} is not for you", request.name);
            return Ok(refused(&forbidden(text)).into());
        }
        let Ok(_room) = self.room.try_acquire() else {
            let busy = ah_store::StoreError::Busy { retry_after: RETRY_AFTER };
            return Ok(refused(&busy.into()).into());
        };
        let rounds = Rounds::of(&context, request.request_state, request.input_responses);
        let act = Act { rounds, ..self.act(&context) };
        let run = tool.run(act, request.arguments.unwrap_or_default());
        tokio::select! {
            response = run => Ok(response),
            // What the store was asked is carried through; nobody hears of it.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    /// There are none, and nobody is told that there could be.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_known("prompts/list"))
    }

    /// As there are no prompts.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_known("completion/complete"))
    }

    /// What the SDK does not know, or could not read as what it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if KNOWN.contains(&request.method.as_str()) {
            let text = format!("{} does not take these parameters", request.method);
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(not_known(request.method))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let found = resource::list(&self.act(&context), cursor).await;
        found.map_err(|failure| resource::error(&failure))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resource::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = resource::read(&self.act(&context), &request.uri).await;
        found.map(Into::into).map_err(|failure| resource::error(&failure))
    }
}
