//! Names that lead somewhere else, or look like another: refused wherever a name is taken.

use serde_json::{Value, json};

use super::Hive;

const BAD: [&str; 8] =
    ["../x", "a/b", "", ".hidden", "al\u{456}ce", "a b", "mira\u{0}", "operat\u{43e}r"];

#[test]
fn a_name_that_is_none_is_refused_and_nothing_is_kept_of_it() {
    let hive = Hive::new();
    let long = "x".repeat(300);
    for name in BAD.into_iter().chain([long.as_str()]) {
        for (path, body) in [
            ("/messages", json!({ "from": name, "to": ["nils"], "body": "b" })),
            ("/messages", json!({ "from": "operator", "to": ["nils", name], "body": "b" })),
            ("/mail/receive", json!({ "to": name, "holder": "h", "leaseMs": 1_000 })),
            ("/mail/dismiss", json!({ "to": name, "about": "x" })),
            ("/questions", json!({ "from": name, "to": "nils", "text": "t" })),
            ("/questions", json!({ "from": "operator", "to": name, "text": "t" })),
            ("/approvals", json!({ "agent": name, "kind": "spawn" })),
            ("/approvals", json!({ "agent": name, "kind": "deploy" })),
            ("/agent-instances", crate::guarded::agent("a9", name, "s9")),
        ] {
            for token in [&hive.operator, &hive.admin] {
                let refused = hive.refused(token, ("POST", path), &body);
                assert!(refused.starts_with("422 "), "{path} {name:?}: {refused}");
            }
        }
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for path in ["/messages?to=", "/questions?from=", "/hive/wait?mail="] {
            let refused =
                hive.refused(&hive.admin, ("GET", &format!("{path}{encoded}")), &json!({}));
            assert!(refused.starts_with("422 "), "{path} {name:?}: {refused}");
        }
        // An agent is told that it is not this one, or that this is no name: never let through.
        let body = json!({ "from": name, "to": ["nils"], "body": "b" });
        let refused = hive.refused(&hive.mira, ("POST", "/messages"), &body);
        assert!(refused.starts_with("422 ") || refused.starts_with("403 "), "{refused}");
    }
    for path in ["/messages", "/questions", "/approvals"] {
        let list = hive.done(&hive.admin, "GET", path, Value::Null);
        assert_eq!(list["items"], json!([]), "{path}");
    }
}

#[test]
fn a_name_that_nobody_has_is_not_found() {
    let hive = Hive::new();
    for (path, body) in [
        ("/messages", json!({ "from": "nobody", "to": ["nils"], "body": "b" })),
        ("/messages", json!({ "from": "nils", "to": ["mira", "nobody"], "body": "b" })),
        ("/mail/receive", json!({ "to": "nobody", "holder": "h", "leaseMs": 1_000 })),
        ("/questions", json!({ "from": "nils", "to": "nobody", "text": "t" })),
        ("/approvals", json!({ "agent": "nobody", "kind": "deploy" })),
    ] {
        let refused = hive.refused(&hive.operator, ("POST", path), &body);
        assert_eq!(refused, "404 agent nobody not found", "{path}");
    }
    let refused = hive.refused(&hive.operator, ("GET", "/hive/wait?mail=nobody"), &json!({}));
    assert_eq!(refused, "404 agent nobody not found");
    assert_eq!(hive.done(&hive.admin, "GET", "/messages", Value::Null)["items"], json!([]));
}
