//! `ah draft`: tasks not sent yet.

use serde_json::{Value, json};

use crate::support::Home;

fn draft(changed: &Value) -> Value {
    let mut draft = json!({
        "id": "d1", "description": "later", "repository": "DIR/work", "branch": null, "models": [],
        "createdAt": "TIME", "updatedAt": "TIME",
    });
    for (name, value) in changed.as_object().unwrap() {
        draft[name] = value.clone();
    }
    draft
}

#[test]
fn save_prints_the_id_and_saving_again_overwrites() {
    let home = Home::new().with_git();
    assert_eq!(home.human(&["draft", "save", "--id", "d1", "--prompt", "later"]), "d1\n");
    assert_eq!(home.steady(home.json(&["draft", "show", "d1"])), draft(&json!({})));
    let flags = ["--branch", "b", "--agent", "codex", "--agent", "other@2"];
    let saved =
        home.json(&[&["draft", "save", "--id", "d1", "--prompt", "more"], &flags[..]].concat());
    let expected = draft(&json!({
        "description": "more", "branch": "b", "models": ["codex", "other@2"],
    }));
    assert_eq!(home.steady(saved.clone()), expected);
    assert_eq!(home.json(&["draft", "list"]), json!({ "items": [saved], "nextCursor": null }));
    let fresh = home.human(&["draft", "save", "--prompt", "x"]);
    assert_eq!(home.steady_text(&fresh), "ID\n");
}

#[test]
fn show_for_people_ends_with_the_prompt() {
    let home = Home::new().with_git();
    home.human(&["draft", "save", "--id", "draft-1", "--prompt", "a\nb", "--agent", "codex"]);
    assert_eq!(
        home.steady_text(&home.human(&["draft", "show", "dra"])),
        "id:         draft-1\n\
         repository: DIR/work\n\
         agents:     codex\n\
         saved:      TIME\n\
         \n\
         a\nb\n"
    );
    let text = home.human(&["draft", "list"]);
    assert!(text.starts_with("ID       SAVED  REPOSITORY"), "{text}");
}

#[test]
fn launch_records_the_task_and_removes_the_draft() {
    let home = Home::new().with_git();
    home.human(&["draft", "save", "--id", "d1", "--prompt", "later", "--agent", "codex"]);
    let batch = home.steady(home.json(&["draft", "launch", "d1", "--delivery", "branch"]));
    let task = json!({
        "id": 1, "sessionId": "ID", "batchId": "ID", "prompt": "later", "branch": null,
        "delivery": "branch", "instances": 1, "labels": {}, "createdAt": "TIME",
        "agent": { "type": "codex", "version": "latest" }, "status": "created",
    });
    let expected = json!({ "id": "ID", "tasks": [task], "sessionIds": ["ID"], "runIds": ["ID"] });
    assert_eq!(batch, expected);
    assert_eq!(home.json(&["draft", "list"]), json!({ "items": [], "nextCursor": null }));
    let problem = home.problem(&["draft", "launch", "d1"], 3);
    let expected = json!({
        "code": "not-found", "title": "not found", "status": 404, "detail": "draft d1 not found",
        "kind": "draft", "id": "d1", "hints": ["`ah draft list` shows the drafts there are"],
    });
    assert_eq!(problem, expected);
}

#[test]
fn the_beginning_of_an_id_is_enough_while_it_is_unique() {
    let home = Home::new().with_git();
    for id in ["one", "once", "two"] {
        home.human(&["draft", "save", "--id", id, "--prompt", "x"]);
    }
    assert_eq!(home.json(&["draft", "delete", "t"]), json!({ "id": "two", "deleted": true }));
    let detail = home.detail(&["draft", "delete", "on"], 4);
    assert!(detail.starts_with("draft on is ambiguous: on"), "{detail}");
    assert_eq!(home.human(&["draft", "delete", "one"]), "");
    assert_eq!(home.json(&["draft", "list"])["items"][0]["id"], "once");
}
