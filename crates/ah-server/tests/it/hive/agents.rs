//! Agents that are destroyed, come back, and are purged; and what they see of it all.

use ah_hive::Homes;
use ah_model::TokenRole;
use serde_json::{Value, json};

use super::{Hive, id};
use crate::guarded::Guarded;
use crate::stream::Stream;

#[test]
fn a_destroyed_agent_is_kept_and_comes_back_with_an_approval() {
    let hive = Hive::new();
    let pending = hive.request("nils");
    let destroyed = hive.done(&hive.operator, "POST", "/agent-instances/a2/destroy", json!({}));
    assert_eq!(destroyed["lifecycle"], "dead");
    assert!(destroyed["destroyedAt"].is_string(), "{destroyed}");
    let failed = hive.done(&hive.admin, "GET", &format!("/approvals/{pending}"), Value::Null);
    assert_eq!(failed["status"], "failed");
    let kept = hive.done(&hive.admin, "GET", "/agent-instances?destroyed=true", Value::Null);
    assert_eq!(super::ids(&kept), ["a2"]);
    let message = json!({ "from": "mira", "to": ["nils"], "body": "b" });
    let refused = hive.refused(&hive.mira, ("POST", "/messages"), &message);
    assert!(refused.starts_with("409 "), "{refused}");

    let approval = hive.done(&hive.operator, "POST", "/agent-instances/a2/revive", json!({}));
    let again = hive.done(&hive.operator, "POST", "/agent-instances/a2/revive", json!({}));
    assert_eq!((&approval["kind"], &approval), (&json!("spawn"), &again));
    let path = format!("/approvals/{}/decision", id(&approval));
    let decision = json!({ "verdict": "approved", "by": "operator" });
    let decided = hive.done(&hive.operator, "POST", &path, decision);
    assert!(decided["carriedOutAt"].is_string(), "{decided}");
    let back = hive.done(&hive.admin, "GET", "/agent-instances/a2", Value::Null);
    assert_eq!(back["lifecycle"], "active");
    hive.done(&hive.mira, "POST", "/messages", message);
}

#[test]
fn a_purged_agent_leaves_a_receipt_and_its_token_opens_nothing_any_more() {
    let hive = Hive::new();
    hive.send("mira", "nils", "b");
    hive.done(&hive.nils, "GET", "/messages", Value::Null);
    let refused = hive.refused(&hive.operator, ("POST", "/agent-instances/a2/purge"), &json!({}));
    assert!(refused.starts_with("409 "), "{refused}");
    hive.done(&hive.operator, "POST", "/agent-instances/a2/destroy", json!({}));
    loop {
        let step = hive.done(&hive.operator, "POST", "/agent-instances/a2/purge", json!({}));
        if step["more"] == false {
            assert_eq!(step["receipt"]["subject"], "nils");
            assert_eq!(step["receipt"]["removed"]["agents"]["rows"], 1);
            break;
        }
    }
    let receipts = hive.done(&hive.admin, "GET", "/retention/receipts", Value::Null);
    assert_eq!(receipts["items"][0]["kind"], "purge");
    // A name that is free again is not the old token's.
    let nils = crate::guarded::agent("a3", "nils", "s3");
    hive.done(&hive.operator, "POST", "/agent-instances", nils);
    let refused = hive.refused(&hive.nils, ("GET", "/messages"), &json!({}));
    assert!(refused.starts_with("401 "), "{refused}");
}

#[test]
fn a_protected_agent_is_not_destroyed() {
    let hive = Hive::new();
    let update = json!({ "protected": true });
    hive.done(&hive.operator, "PATCH", "/agent-instances/a2", update);
    let refused = hive.refused(&hive.operator, ("POST", "/agent-instances/a2/destroy"), &json!({}));
    assert!(refused.starts_with("409 "), "{refused}");
}

#[test]
fn an_agent_hears_of_what_concerns_it_and_of_nothing_else() {
    let hive = Hive::new();
    let end = hive.done(&hive.admin, "GET", "/feed/end", Value::Null)["cursor"].take();
    let end = end.as_str().unwrap();
    let header = format!("authorization: Bearer {}", hive.mira);
    let path = format!("/feed?after={end}");
    let mut stream = Stream::open(hive.server.address(), &path, &[&header]);
    hive.send("operator", "nils", "not for mira");
    let message = hive.send("nils", "MIRA", "for mira");
    let others = hive.request("nils");
    let approval = hive.request("mira");
    let question = hive.ask("mira", "operator");
    let expected = [
        ("message-queued", message),
        ("approval-updated", approval),
        ("question-updated", question),
    ];
    for (kind, subject) in &expected {
        let frame = stream.frame();
        let change = &frame.data["change"];
        assert_eq!(frame.name, *kind);
        assert_eq!((&change["party"], &change["subject"]), (&json!("Mira"), &json!(subject)));
        assert_ne!(change["subject"], others);
    }
    let page = hive.done(&hive.mira, "GET", &path, Value::Null);
    let subjects: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|item| &item["change"]["subject"]).collect();
    assert_eq!(subjects, expected.iter().map(|(_, subject)| subject.as_str()).collect::<Vec<_>>());
}

#[test]
fn a_server_that_has_the_homes_keeps_them_in_step_with_the_agents() {
    let state = tempfile::tempdir().unwrap();
    let homes = Homes::new(state.path());
    let server = Guarded::with(|options| options.homes = Some(homes));
    let operator = server.token("operator", TokenRole::Operator);
    let done = |method: &str, path: &str, body: Value| server.done(method, path, &operator, &body);
    done("POST", "/agent-instances", crate::guarded::agent("a1", "mira", "s1"));
    let home = state.path().join("agents/mira");
    let model = || std::fs::read_to_string(home.join("state/model")).ok();
    assert!(home.join("config").is_dir());
    let changed = done("PATCH", "/agent-instances/a1", json!({ "model": "large" }));
    assert_eq!((&changed["model"], model().as_deref()), (&json!("large"), Some("large\n")));
    let lines = json!({ "model": "two\nlines" }).to_string();
    let refused = server.ask("PATCH", "/agent-instances/a1", Some(&operator), &lines);
    assert_eq!(refused.problem(), "422 invalid model");
    let kept = done("GET", "/agent-instances/a1", Value::Null);
    assert_eq!((&kept["model"], model().as_deref()), (&json!("large"), Some("large\n")));
    done("PATCH", "/agent-instances/a1", json!({ "model": "" }));
    assert_eq!(model(), None);
    while done("POST", "/agent-instances/a1/purge", json!({}))["more"] == true {}
    assert!(!home.exists());
    assert_eq!(server.ask("GET", "/agent-instances/a1", Some(&operator), "").status, 404);
}
