//! The SDK's own client, in every way it begins.

use std::future::Future;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::net::UnixStream;

use super::given::Harbor;

fn modes() -> [ClientLifecycleMode; 3] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: preferred_versions.clone() },
        ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
    ]
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().unwrap().clone())
}

#[test]
fn the_official_client_works_whichever_way_it_begins() {
    let harbor = Harbor::new();
    let socket = harbor.socket("agents/alice/mcp.sock");
    for mode in modes() {
        let sent = run(async {
            let stream = UnixStream::connect(&socket).await.unwrap();
            let client = ().serve_with_lifecycle(stream, mode.clone()).await.unwrap();
            let tools = client.list_all_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == "ask"), "{mode:?}");
            let resources = client.list_all_resources().await.unwrap();
            let read = ReadResourceRequestParams::new(resources[0].uri.clone());
            client.read_resource(read).await.unwrap();
            let send = call("send", json!({ "to": ["bob"], "body": "by the client" }));
            let sent = client.call_tool(send).await.unwrap();
            let bad = call("send", json!({ "to": ["nobody"], "body": "b" }));
            let refused = client.call_tool(bad).await.unwrap();
            assert_eq!(refused.is_error, Some(true), "{mode:?}");
            assert_eq!(refused.structured_content.unwrap()["code"], "not-found", "{mode:?}");
            client.cancel().await.unwrap();
            sent.structured_content.unwrap()
        });
        assert_eq!(sent["messages"][0]["to"], "bob", "{mode:?}");
    }
    assert!(harbor.questions().is_empty());
}

/// A program with somebody at it, who always says the same.
struct Terminal(ElicitResult);

impl ClientHandler for Terminal {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("terminal", "1"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.0.clone())
    }
}

/// What `ask` comes to for a program of the new era.
fn asked(harbor: &Harbor, socket: &str, client: impl ClientHandler, ask: Value) -> Value {
    let socket = harbor.socket(socket);
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    run(async {
        let stream = UnixStream::connect(&socket).await.unwrap();
        let mode = ClientLifecycleMode::Discover { preferred_versions };
        let client = client.serve_with_lifecycle(stream, mode).await.unwrap();
        let asked = client.call_tool(call("ask", ask)).await.unwrap();
        client.cancel().await.unwrap();
        asked.structured_content.unwrap()
    })
}

#[test]
fn the_official_client_shows_the_operator_a_form_and_goes_on_whatever_is_said() {
    let harbor = Harbor::new();
    let ask = json!({ "text": "which?", "from": "alice", "options": ["red", "blue"] });
    let yes = ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "answer": "red" }));
    let answered = asked(&harbor, "host.sock", Terminal(yes), ask.clone());
    assert_eq!(answered["outcome"], "answered");
    assert_eq!(answered["answer"]["values"], json!(["red"]));
    for action in [ElicitationAction::Decline, ElicitationAction::Cancel] {
        let left = asked(&harbor, "host.sock", Terminal(ElicitResult::new(action)), ask.clone());
        assert_eq!(left["outcome"], "open");
        assert!(left["questionId"].is_string());
    }
}

#[test]
fn the_official_client_waits_in_rounds_and_still_gets_the_handle() {
    let harbor = Harbor::with_round(Duration::from_millis(300));
    let ask = json!({ "text": "anybody?", "waitSeconds": 1 });
    let left = asked(&harbor, "agents/alice/mcp.sock", (), ask);
    assert_eq!(left["outcome"], "open");
    let kept = harbor.questions();
    assert_eq!(kept.len(), 1, "asked once, however many rounds there were");
    assert_eq!(left["questionId"], json!(kept[0].id));
}
