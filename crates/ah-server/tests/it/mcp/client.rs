//! The SDK's own client, in every way it begins.

use std::future::Future;

use ah_store::{Questions, block_on};
use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::{ClientLifecycleMode, ClientServiceExt};
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
    let filter = ah_model::QuestionFilter::default();
    assert!(
        block_on(harbor.store.list_questions(filter, Default::default())).unwrap().items.is_empty()
    );
}
