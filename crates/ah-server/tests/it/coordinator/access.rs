//! Who may use the interface where callers prove who they are.

use ah_model::{NewToken, TokenRole, TokenSecret};
use ah_server::AuthMode;
use ah_store::{Tokens, block_on};
use serde_json::{Value, json};

use super::given::{Coordinator, registration, said, text};

/// A token of that role, made by hand.
fn token(at: &Coordinator, role: TokenRole) -> String {
    let secret = TokenSecret::new(format!("t-{role}").parse().unwrap(), [7; 32]);
    let (id, hash) = (secret.id().clone(), secret.hash());
    let agent = (role == TokenRole::Agent).then(|| "a".to_owned());
    let new = NewToken { id, hash, role, agent, name: None, expires_at: None };
    block_on(at.store().create_token(new)).unwrap();
    secret.reveal()
}

/// The roles that may look, that may run agents, and that may decide about them.
const LOOK: &[TokenRole] = &[TokenRole::Viewer, TokenRole::Executor, TokenRole::Operator];
const EXECUTE: &[TokenRole] = &[TokenRole::Executor, TokenRole::Operator];
const OPERATE: &[TokenRole] = &[TokenRole::Operator];

const ROUTES: [(&str, &str, &[TokenRole]); 35] = [
    ("GET", "/health", LOOK),
    ("GET", "/sessions", LOOK),
    ("GET", "/sessions/s", LOOK),
    ("DELETE", "/sessions/s", OPERATE),
    ("GET", "/sessions/s/status", LOOK),
    ("GET", "/sessions/s/result", LOOK),
    ("GET", "/sessions/s/affinity", LOOK),
    ("POST", "/sessions/s/bind", EXECUTE),
    ("POST", "/sessions/s/stop", OPERATE),
    ("GET", "/sessions/s/events", LOOK),
    ("POST", "/sessions/s/events", EXECUTE),
    ("PATCH", "/sessions/s/metadata", EXECUTE),
    ("GET", "/runs", LOOK),
    ("POST", "/runs", EXECUTE),
    ("GET", "/runs/r", LOOK),
    ("POST", "/runs/r/stop", OPERATE),
    ("POST", "/runner/register", EXECUTE),
    ("GET", "/runner/runs", EXECUTE),
    ("POST", "/runner/runs/r/started", EXECUTE),
    ("POST", "/runner/runs/r/completed", EXECUTE),
    ("POST", "/runner/runs/r/failed", EXECUTE),
    ("POST", "/runner/runs/r/stopped", EXECUTE),
    ("POST", "/runner/sessions/s/status", EXECUTE),
    ("POST", "/runner/heartbeat", EXECUTE),
    ("GET", "/runners", LOOK),
    ("DELETE", "/runners/r", OPERATE),
    ("DELETE", "/runners/r?self=true", EXECUTE),
    ("GET", "/agents", LOOK),
    ("POST", "/agents", OPERATE),
    ("GET", "/agents/a", LOOK),
    ("PATCH", "/agents/a", OPERATE),
    ("DELETE", "/agents/a", OPERATE),
    ("PATCH", "/agents/a/status", OPERATE),
    ("GET", "/none", LOOK),
    ("PUT", "/sessions", LOOK),
];

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}

#[test]
fn every_route_is_for_the_roles_that_its_meaning_asks_for() {
    let at = Coordinator::asking(AuthMode::Tokens);
    let ask = |method: &str, path: &str, token: Option<&str>| {
        let header = token.map(bearer);
        let headers: Vec<&str> = header.iter().map(String::as_str).collect();
        at.reply(method, path, &headers, &json!({})).status
    };
    let roles = [TokenRole::Viewer, TokenRole::Executor, TokenRole::Operator, TokenRole::Agent];
    let tokens = roles.map(|role| (role, token(&at, role)));
    let mut wrong = tokens[2].1.clone();
    wrong.replace_range(wrong.len() - 1.., "0");
    for (method, path, allowed) in ROUTES {
        assert_eq!(ask(method, path, None), 401, "{method} {path}");
        assert_eq!(ask(method, path, Some(&wrong)), 401, "{method} {path}");
        for (role, token) in &tokens {
            let status = ask(method, path, Some(token));
            assert_ne!(status, 401, "{role}: {method} {path}");
            assert_eq!(status != 403, allowed.contains(role), "{role}: {method} {path} {status}");
        }
    }
}

#[test]
fn a_runner_leaves_by_itself_and_only_people_send_it_away() {
    let at = Coordinator::asking(AuthMode::Tokens);
    let [executor, operator] =
        [TokenRole::Executor, TokenRole::Operator].map(|role| bearer(&token(&at, role)));
    let ask = |method: &str, path: &str, caller: &str, body: &Value| {
        said(&at.reply(method, path, &[caller], body))
    };
    let register = || {
        let (status, body) = ask("POST", "/runner/register", &executor, &registration("h"));
        assert_eq!(status, 200, "{body}");
        format!("/runners/{}", text(&body["runner_id"]))
    };
    let path = register();
    let (status, refusal) = ask("DELETE", &path, &executor, &Value::Null);
    assert_eq!(status, 403, "{refusal}");
    assert!(text(&refusal["detail"]).contains("self=true"), "{refusal}");
    let gone = ask("DELETE", &format!("{path}?self=true"), &executor, &Value::Null);
    assert_eq!((gone.0, &gone.1["initiated_by"]), (200, &json!("self")));
    let sent = ask("DELETE", &register(), &operator, &Value::Null);
    assert_eq!((sent.0, &sent.1["initiated_by"]), (200, &json!("external")));
}

#[test]
fn only_the_stream_takes_its_token_from_the_address_as_browsers_need_it() {
    let at = Coordinator::asking(AuthMode::Tokens);
    let [viewer, operator] = [TokenRole::Viewer, TokenRole::Operator].map(|role| token(&at, role));
    let accept = ["accept: text/event-stream"];
    for token in [&viewer, &operator] {
        let path = format!("/sse/sessions?api_key={token}");
        assert_eq!(at.stream(&path, &accept).frame().name, "init");
    }
    assert_eq!(at.reply("GET", "/sse/sessions", &accept, &Value::Null).status, 401);
    for (method, path, _) in ROUTES {
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}api_key={operator}");
        assert_eq!(at.reply(method, &path, &accept, &json!({})).status, 401, "{method} {path}");
    }
}
