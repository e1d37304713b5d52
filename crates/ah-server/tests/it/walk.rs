//! Every route of the table with every kind of token: none is forgotten, because the table is the
//! only way to declare one.

use ah_model::TokenRole;
use ah_server::{Scope, TableRow, table};
use ah_store::block_on;

use crate::guarded::{Guarded, secret};
use crate::http::{Connection, Reply, ask_as};

/// Where MCP is spoken.
pub(crate) const MCP: &str = "/mcp";
/// Where a browser is let in.
const LOGIN: &str = "/login";

/// The path of a row, for things that are not there: nothing is harmed by who may.
fn path(row: &TableRow) -> String {
    let id = match row.path.split('/').nth(3) {
        Some("repos" | "tasks") => "999999",
        _ => "none",
    };
    row.path.replace("{id}", id)
}

fn ask(connection: &mut Connection, row: &TableRow, token: Option<&str>) -> Reply {
    let body = if ["GET", "DELETE"].contains(&row.method.as_str()) { "" } else { "{}" };
    ask_as(connection, (&row.method, &path(row)), token, body)
}

/// What is said of a refusal.
fn detail(reply: &Reply) -> String {
    reply.json()["detail"].as_str().unwrap().to_owned()
}

#[test]
fn no_route_is_open_but_those_that_tell_nothing() {
    let open: Vec<String> =
        table().into_iter().filter(|row| row.access.is_open()).map(|row| row.path).collect();
    assert_eq!(open, ["/healthz", "/readyz", "/version", "/openapi.json", "/docs", LOGIN]);
    let server = Guarded::new();
    let mut connection = server.connect();
    for row in table().iter().filter(|row| row.access.is_open()) {
        for token in [None, Some("nonsense")] {
            // Who proves nothing is let in nowhere.
            let expected = if row.path == LOGIN { 422 } else { 200 };
            assert_eq!(ask(&mut connection, row, token).status, expected, "{row:?}");
        }
    }
}

#[test]
fn every_route_refuses_who_has_no_good_token() {
    let server = Guarded::new();
    let good = server.token("good", TokenRole::Admin);
    let expired = server.short_token("expired", TokenRole::Admin, 1_000);
    let revoked = server.token("revoked", TokenRole::Admin);
    block_on(server.store.revoke_token("revoked".parse().unwrap())).unwrap();
    server.clock.advance_ms(1_000);
    let (unknown, wrong) = (secret("unknown", 7).reveal(), secret("good", 8).reveal());
    let mut connection = server.connect();
    for row in table().iter().filter(|row| !row.access.is_open()) {
        let mut refused = |token: Option<&str>| {
            let reply = ask(&mut connection, row, token);
            assert_eq!(reply.problem(), "401 unauthorized", "{row:?} {token:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
            detail(&reply)
        };
        for token in [None, Some(""), Some("nonsense"), Some(&good[..good.len() - 1])] {
            refused(token);
        }
        assert_eq!(refused(Some(&unknown)), refused(Some(&wrong)), "which ids there are is told");
        assert!(refused(Some(&expired)).ends_with("has expired"));
        assert!(refused(Some(&revoked)).ends_with("was revoked"));
    }
}

#[test]
fn every_route_refuses_a_role_that_is_too_small_and_takes_one_that_is_not() {
    let server = Guarded::new();
    let tokens = TokenRole::ALL.map(|role| match role {
        TokenRole::Agent => (role, server.agent_token("agent", "somebody")),
        _ => (role, server.token(role.as_str(), role)),
    });
    let admin = &tokens[0].1;
    server.done("POST", "/agent-instances", admin, &crate::guarded::agent("a1", "somebody", "s1"));
    let mut connection = server.connect();
    for row in table().iter().filter(|row| !row.access.is_open()) {
        for (role, token) in &tokens {
            let reply = ask(&mut connection, row, Some(token));
            if row.access.allows(*role) {
                assert!(![401, 403].contains(&reply.status), "{row:?} {role}: {}", reply.status);
                assert!(reply.status < 500, "{row:?} {role}: {}", reply.status);
                continue;
            }
            let scope = row.access.scope();
            let expected: &[&str] = match (*role, scope) {
                // It speaks a protocol of its own, and this is none of its messages.
                (TokenRole::Agent, Scope::Anything) if row.path == MCP => {
                    assert_eq!(reply.status, 406, "{row:?}");
                    continue;
                }
                (TokenRole::Agent, Scope::Anything) => {
                    assert_eq!(reply.status, 200, "{row:?}");
                    continue;
                }
                // Its own lists, things that are not there, and nothing said: what is there, and what
                // is said as somebody else, is tested elsewhere.
                (TokenRole::Agent, Scope::Party) => {
                    assert!([200, 404, 422].contains(&reply.status), "{row:?}: {}", reply.status);
                    continue;
                }
                // A session that is not there is nobody's; what is there is tested elsewhere.
                (TokenRole::Agent, Scope::Session) => &["404 not-found"],
                _ => &["403 forbidden"],
            };
            assert!(expected.contains(&reply.problem().as_str()), "{row:?} {role}");
            if scope == Scope::Nothing || *role != TokenRole::Agent {
                assert!(detail(&reply).starts_with("this needs the role admin"), "{row:?}");
            }
        }
    }
}

#[test]
fn the_coordinators_interface_asks_for_a_token_as_a_whole() {
    let server = Guarded::new();
    let (viewer, executor) =
        (server.token("viewer", TokenRole::Viewer), server.token("executor", TokenRole::Executor));
    let agent = server.agent_token("agent", "somebody");
    let mut connection = server.connect();
    for path in ["/coordinator/sessions", "/coordinator/runners", "/coordinator/agents"] {
        for (token, status) in
            [(None, 401), (Some(&viewer), 200), (Some(&agent), 403), (Some(&executor), 200)]
        {
            let token = token.map(String::as_str);
            let reply = ask_as(&mut connection, ("GET", path), token, "");
            assert_eq!(reply.status, status, "{path} {token:?}");
        }
    }
}
