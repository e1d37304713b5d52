//! The description of the interface is what the server serves, and what is checked in.

use std::collections::BTreeSet;
use std::path::Path;

use ah_server::{Scope, openapi_document, table};
use serde_json::Value;

use crate::harness::SqliteServer;
use crate::http::{Connection, request};

#[test]
fn the_description_that_is_checked_in_is_the_one_that_is_served() {
    let server = SqliteServer::new();
    let mut connection = Connection::open(server.address());
    connection.send(request("GET", "/openapi.json", &[], ""));
    let reply = connection.reply();
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json(), openapi_document());
    let pretty = serde_json::to_string_pretty(&openapi_document()).unwrap();
    check("openapi.json", &format!("{pretty}\n"));
}

#[test]
fn the_table_of_routes_that_is_checked_in_is_the_one_that_is_served() {
    let document = openapi_document();
    let mut page = "# Routes\n\nMade from the table of routes in `crates/ah-server`; \
                    `docs/openapi.json` has all of them in full.\n\n\
                    | request | for | what |\n|---|---|---|\n"
        .to_owned();
    for row in table() {
        let operation = &document["paths"][&row.path][row.method.to_ascii_lowercase()];
        let mut roles: Vec<_> = row.access.roles().iter().map(|role| role.as_str()).collect();
        match row.access.scope() {
            Scope::Nothing => {}
            Scope::Anything if row.access.is_open() => roles.push("everybody"),
            Scope::Anything => roles.push("agent"),
            Scope::Agent | Scope::AgentName | Scope::Session | Scope::Party => {
                roles.push("agent (its own)");
            }
        }
        let roles = roles.join(", ");
        let summary = operation["summary"].as_str().unwrap();
        page.push_str(&format!("| {} `{}` | {roles} | {summary} |\n", row.method, row.path));
    }
    check("routes.md", &page);
}

#[test]
fn every_reference_of_the_description_leads_somewhere_and_every_value_is_referred_to() {
    let document = openapi_document();
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    for reference in &references {
        let target = document.pointer(reference.strip_prefix('#').unwrap());
        assert!(target.is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(references.contains(&format!("#/components/schemas/{name}")), "{name}");
        // Two types of one name would be told apart by a number.
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = openapi_document();
    let mut names = BTreeSet::new();
    for row in table() {
        let operation = &document["paths"][&row.path][row.method.to_ascii_lowercase()];
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{row:?}");
        // A path with an id has one, and no other has.
        let parameters = operation["parameters"].as_array().unwrap();
        let ids = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(ids, row.path.matches('{').count(), "{row:?}");
    }
}

#[test]
fn the_page_is_whole_in_itself_and_may_do_nothing_else() {
    let server = SqliteServer::new();
    let mut connection = Connection::open(server.address());
    connection.send(request("GET", "/docs", &[], ""));
    let reply = connection.reply();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                references.insert(reference.to_owned());
            }
            fields.values().for_each(|field| collect(field, references));
        }
        _ => {}
    }
}

/// Compares a page with the file in `docs/`, or writes it there when `AH_UPDATE_DOCS` asks for it.
#[track_caller]
fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    #[expect(clippy::disallowed_methods, reason = "asks the person who runs the tests")]
    let update = std::env::var_os("AH_UPDATE_DOCS").is_some_and(|value| value == "1");
    if update {
        std::fs::write(&path, page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let different = stored.lines().zip(page.lines()).position(|(old, new)| old != new);
    assert!(
        stored == page,
        "docs/{name} differs from the program (first at line {:?}); \
         `AH_UPDATE_DOCS=1 cargo test -p ah-server document` writes it anew",
        different.map(|at| at + 1)
    );
}
