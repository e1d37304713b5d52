//! `ah agent`: who agents are, how they are called, and whether they take part.

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::Home;

/// An agent as `--json` prints it.
fn agent(name: &str, changed: Value) -> Value {
    let mut agent = json!({
        "id": "ID", "name": name, "type": "permanent",
        "kind": { "type": "tester", "version": "latest" },
        "lifecycle": "active", "model": null,
        "descriptor": { "name": name, "type": "permanent" },
        "permissions": {}, "tokens": null, "stats": {}, "metadata": {}, "origin": null,
        "activeSessionId": "ID", "sessionCount": 1,
        "usage": {
            "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0,
            "reasoningTokens": 0,
        },
        "protected": false, "destroyedAt": null,
        "revision": 1, "createdAt": "TIME", "updatedAt": "TIME",
    });
    for (name, value) in changed.as_object().unwrap() {
        agent[name] = value.clone();
    }
    agent
}

fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn create_makes_an_agent_with_its_first_session() {
    let home = Home::new();
    let made = home.create_agent("bob");
    let session = home.json(&["session", "show", made["activeSessionId"].as_str().unwrap()]);
    assert_eq!(session["ofAgent"], json!({ "id": made["id"], "number": 1, "cause": "created" }));
    assert_eq!(session["status"], "created");
    assert_eq!(session["projectDir"], home.work().to_str().unwrap());
    assert_eq!(home.steady(made), agent("bob", json!({})));
}

#[test]
fn create_prints_the_id_and_takes_the_kind_of_the_configuration() {
    let home = Home::new();
    let printed = home.human(&["agent", "create", "bob"]);
    assert_eq!(home.steady_text(&printed), "ID\n");
    let shown = home.json(&["agent", "show", printed.trim()]);
    assert_eq!(shown["kind"], json!({ "type": "claude-code", "version": "latest" }));
    let mut command = home.ah(&["agent", "create", "joe", "--json"]);
    let output = command.env("AH_REPO_DEFAULT_AGENT", "codex@2").output().unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["kind"], json!({ "type": "codex", "version": "2" }));
}

#[test]
fn create_keeps_everything_it_is_given() {
    let home = Home::new();
    let descriptor = r#"{"connector":"chat","userId":"u","channelId":"c","extra":1.00}"#;
    let arguments = [
        &["agent", "create", "Bob.2", "--kind", "codex@1", "--type", "user", "--id", "agent-1"][..],
        &["--descriptor", descriptor, "--permissions", r#"{"shell":true}"#, "--model", "m"],
        &["--metadata", r#"{"team":"x"}"#, "--title", "t", "--label", "a=b"],
        &["--project-dir", "sub", "--runtime", "disabled"],
    ]
    .concat();
    let made = home.json(&arguments);
    let session = home.steady(home.json(&["session", "show", &home.active_session("agent-1")]));
    assert_eq!(
        [&session["title"], &session["labels"], &session["projectDir"], &session["runtime"]],
        [&json!("t"), &json!({ "a": "b" }), &json!("DIR/work/sub"), &json!({ "type": "disabled" })]
    );
    let expected = json!({
        "id": "agent-1", "type": "user", "kind": { "type": "codex", "version": "1" },
        "descriptor": serde_json::from_str::<Value>(descriptor).unwrap(),
        "permissions": { "shell": true }, "model": "m", "metadata": { "team": "x" },
    });
    assert_eq!(home.steady(made), agent("Bob.2", expected));
    let text = home.human(&["agent", "show", "agent-1", "--json"]);
    assert!(text.contains(descriptor), "as it was written: {text}");
}

#[test]
fn create_binds_to_the_repository_around_the_directory() {
    let home = Home::new().with_git();
    home.create_agent("bob");
    let session = home.json(&["session", "show", &home.active_session("bob")]);
    assert_eq!(session["repo"]["vcs"], "git");
}

#[test]
fn a_name_is_taken_in_any_case_of_its_letters() {
    let home = Home::new();
    home.json(&["agent", "create", "Bob", "--id", "agent-1"]);
    assert_eq!(
        home.refused(&["agent", "create", "bOB"], 4),
        "error: agent bOB: exists already\nhint: `ah agent show bOB` shows how it stands now\n"
    );
    home.refused(&["agent", "create", "joe", "--id", "agent-1"], 4);
    assert_eq!(names(&home.json(&["agent", "list"])), ["Bob"]);
}

#[test]
fn names_that_are_no_names_are_refused() {
    let home = Home::new();
    for name in ["", "a b", "-a", ".a", "a/b", "é", "Operator", &"x".repeat(65)] {
        let said = home.refused(&["agent", "create", "--", name], 2);
        assert!(said.starts_with("error: invalid agent name: "), "{name}: {said}");
    }
    assert_eq!(home.json(&["agent", "list"])["items"], json!([]));
}

#[test]
fn an_agent_is_called_by_name_id_or_the_beginning_of_its_id() {
    let home = Home::new();
    for (name, id) in [("Bob", "agent-1"), ("joe", "agent-22"), ("agent-2", "third")] {
        home.json(&["agent", "create", name, "--id", id]);
    }
    let called = |text: &str| home.json(&["agent", "show", text])["name"].clone();
    assert_eq!(called("bob"), "Bob");
    assert_eq!(called("BOB"), "Bob");
    assert_eq!(called("agent-1"), "Bob");
    assert_eq!(called("agent-22"), "joe");
    assert_eq!(called("agent-2"), "agent-2", "a name wins over the beginning of an id");
    assert_eq!(called("thi"), "agent-2");
    assert_eq!(
        home.detail(&["agent", "show", "agent"], 4),
        "agent agent is ambiguous: agent-1 and agent-22 begin with it"
    );
}

#[test]
fn a_whole_id_is_its_agent_whatever_others_are_called() {
    let home = Home::new();
    for (name, id) in [("bob", "agent-1"), ("joe", "agent-2")] {
        home.json(&["agent", "create", name, "--id", id]);
    }
    assert_eq!(
        home.refused(&["agent", "create", "agent-1"], 4),
        "error: agent agent-1: is the id of another agent\n\
         hint: `ah agent show agent-1` shows how it stands now\n"
    );
    home.refused(&["agent", "create", "carl", "--id", "BOB"], 4);
    // A database from before that rule.
    home.damage("UPDATE agent_instances SET name = 'agent-1' WHERE id = 'agent-2'");
    let called = |text: &str| home.json(&["agent", "show", text])["id"].clone();
    assert_eq!([called("agent-1"), called("AGENT-1")], ["agent-1", "agent-2"]);
}

#[test]
fn an_unknown_agent_is_not_found_by_any_verb() {
    let home = Home::new();
    home.create_agent("bob");
    for arguments in [
        &["show", "nope"][..],
        &["update", "nope", "--model", "m"],
        &["sleep", "nope"],
        &["wake", "nope"],
        &["retire", "nope"],
        &["reset", "nope"],
        &["compact", "nope", "--summary", "s"],
        &["fork", "nope"],
        &["context", "nope"],
        &["repair", "nope"],
        &["restore", "nope"],
        &["restore", "bob", "nope"],
        &["say", "nope", "x"],
        &["append", "nope", "--type", "n"],
        &["append", "nope", "--stdin-jsonl"],
        &["sessions", "nope"],
        &["history", "nope"],
        &["stats", "nope"],
    ] {
        let arguments = [&["agent"], arguments].concat();
        let expected = "error: agent nope not found\n\
                        hint: `ah agent list` shows the agents there are\n";
        assert_eq!(home.refused(&arguments, 3), expected, "{arguments:?}");
    }
    assert_eq!(
        home.detail(&["agent", "show", "a b"], 2),
        "invalid agent id: ` ` in \"a b\"",
        "neither a name nor an id"
    );
}

#[test]
fn values_that_are_not_json_are_refused_with_the_flag() {
    let home = Home::new();
    home.create_agent("bob");
    let said = |arguments: &[&str]| home.refused(&[&["agent"], arguments].concat(), 2);
    assert_eq!(
        said(&["create", "joe", "--descriptor", "{"]),
        "error: invalid descriptor: EOF while parsing an object at line 1 column 1\n\
         hint: give one JSON value in quotes: --descriptor '{\"key\": 1}'\n"
    );
    for flag in ["descriptor", "permissions", "stats", "metadata"] {
        let said = said(&["update", "bob", &format!("--{flag}"), "[]"]);
        assert!(
            said.starts_with(&format!("error: invalid {flag}: must be a JSON object")),
            "{said}"
        );
        assert!(said.contains(&format!("--{flag} '")), "{said}");
    }
    for (arguments, part) in [
        (&["create", "joe", "--type", "user"][..], "a user agent needs one with connector, userId"),
        (&["create", "joe", "--type", "cron", "--descriptor", "{}"], "missing field `id`"),
        (&["create", "joe", "--type", "a b"], "invalid agent type: \"a b\""),
        (&["create", "joe", "--kind", "a b"], "invalid agent kind"),
        (&["create", "joe", "--id", "a/b"], "invalid agent id"),
        (&["update", "bob", "--descriptor", r#"{"type":"cron","id":"x"}"#], "its type is \"cron\""),
        (&["list", "--lifecycle", "gone"], "\"gone\" is none of active, sleeping, dead"),
        (&["list", "--kind", "codex@1"], "\"codex@1\" has a version"),
    ] {
        let said = said(arguments);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
    assert_eq!(names(&home.json(&["agent", "list"])), ["bob"]);
    assert_eq!(home.json(&["agent", "show", "bob"])["revision"], 1);
}

#[test]
fn list_is_by_name_filtered_and_paged() {
    let home = Home::new();
    for (name, kind, word) in
        [("carl", "codex@1", "cron"), ("bob", "codex", "permanent"), ("anna", "tester", "system")]
    {
        home.json(&["agent", "create", name, "--kind", kind, "--type", word]);
    }
    home.json(&["agent", "sleep", "bob"]);
    home.json(&["agent", "retire", "anna"]);
    let listed = |arguments: &[&str]| -> Vec<String> {
        let page = home.json(&[&["agent", "list"], arguments].concat());
        assert_eq!(page["nextCursor"], Value::Null);
        names(&page).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(listed(&[]), ["anna", "bob", "carl"]);
    assert_eq!(listed(&["--lifecycle", "active"]), ["carl"]);
    assert_eq!(listed(&["--lifecycle", "dead", "--lifecycle", "sleeping"]), ["anna", "bob"]);
    assert_eq!(listed(&["--type", "cron"]), ["carl"]);
    assert_eq!(listed(&["--kind", "codex"]), ["bob", "carl"]);
    assert_eq!(listed(&["--name", "B"]), ["bob"]);
    assert_eq!(listed(&["--name", "zz"]), [""; 0]);
    let first = home.json(&["agent", "list", "--limit", "2"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = home.json(&["agent", "list", "--limit", "2", "--cursor", cursor]);
    assert_eq!((names(&first), names(&second)), (vec!["anna", "bob"], vec!["carl"]));
    assert_eq!(names(&home.json(&["agent", "list", "--all"])), ["anna", "bob", "carl"]);
}

#[test]
fn list_for_people_is_a_table() {
    let home = Home::new();
    let empty = home.run(&["agent", "list"]);
    assert_eq!(shape(&empty), (Some(0), ""));
    assert_eq!(errors(&empty), "no agents; `ah agent create NAME` makes one\n");
    home.json(&["agent", "create", "bob", "--kind", "tester", "--model", "m1"]);
    let spent = r#"{"usage":{"inputTokens":7,"outputTokens":2}}"#;
    home.json(&["agent", "append", "bob", "--type", "assistant_message", "--data", spent]);
    assert_eq!(
        home.human(&["agent", "list"]),
        "NAME  LIFECYCLE  TYPE       KIND           MODEL  SESSIONS  TOKENS       CHANGED\n\
         bob   active     permanent  tester@latest  m1     1         7 in, 2 out  now\n"
    );
    let none = home.run(&["agent", "list", "--name", "zz"]);
    assert_eq!(errors(&none), "no such agents; `ah agent list` without flags shows all\n");
}

#[test]
fn show_leaves_out_what_says_nothing_and_cuts_what_is_long() {
    let home = Home::new();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(500));
    home.json(&["agent", "create", "bob", "--kind", "tester", "--metadata", &long]);
    let cut = format!("{{\"a\":\"{}…", "x".repeat(394));
    assert_eq!(
        home.steady_text(&home.human(&["agent", "show", "bob"])),
        format!(
            "id:         ID\n\
             name:       bob\n\
             lifecycle:  active\n\
             type:       permanent\n\
             kind:       tester@latest\n\
             descriptor: {{\"name\":\"bob\",\"type\":\"permanent\"}}\n\
             metadata:   {cut}\n\
             session:    ID\n\
             sessions:   1\n\
             revision:   1\n\
             created:    TIME\n\
             changed:    TIME\n"
        )
    );
}

#[test]
fn update_changes_what_is_given_and_counts() {
    let home = Home::new();
    home.create_agent("bob");
    assert_eq!(home.human(&["agent", "update", "bob", "--model", "m"]), "revision 2\n");
    let arguments = [
        &["agent", "update", "bob", "--descriptor", r#"{"name":"Bobby","more":[1]}"#][..],
        &["--permissions", r#"{"a":1}"#, "--tokens", r#"{"size":{"input":1}}"#],
        &["--stats", r#"{"m":{"input":12345678901234567890123}}"#, "--metadata", r#"{"b":2}"#],
    ]
    .concat();
    home.json(&arguments);
    let text = home.human(&["agent", "stats", "bob", "--json"]);
    assert!(text.contains(r#""stats":{"m":{"input":12345678901234567890123}}"#), "{text}");
    let changed = home.json(&["agent", "update", "bob", "--model", "", "--stats", "{}"]);
    let expected = json!({
        "descriptor": { "name": "Bobby", "more": [1] }, "permissions": { "a": 1 },
        "tokens": { "size": { "input": 1 } }, "metadata": { "b": 2 }, "revision": 4,
    });
    assert_eq!(home.steady(changed), agent("bob", expected));
}

#[test]
fn update_needs_a_change_and_the_revision_that_was_read() {
    let home = Home::new();
    home.create_agent("bob");
    for nothing in
        [&["agent", "update", "bob"][..], &["agent", "update", "bob", "--if-revision", "1"]]
    {
        assert!(home.detail(nothing, 2).starts_with("the following required arguments"));
    }
    let update = |revision, model| {
        home.run(&["agent", "update", "bob", "--model", model, "--if-revision", revision])
    };
    assert_eq!(shape(&update("1", "a")), (Some(0), "revision 2\n"));
    let late = update("1", "b");
    assert_eq!(shape(&late), (Some(4), ""));
    assert_eq!(
        errors(&late),
        "error: agent bob: is at revision 2, 1 was expected\n\
         hint: `ah agent show bob` shows how it stands now\n"
    );
    assert_eq!(home.json(&["agent", "show", "bob"])["model"], "a");
}

#[test]
fn an_agent_sleeps_wakes_and_dies_once() {
    let home = Home::new();
    home.create_agent("bob");
    assert_eq!(home.human(&["agent", "sleep", "bob"]), "sleeping\n");
    assert_eq!(home.json(&["agent", "sleep", "bob"])["revision"], 2, "staying changes nothing");
    assert_eq!(home.human(&["agent", "wake", "BOB"]), "active\n");
    let retired = home.run(&["agent", "retire", "bob"]);
    assert_eq!(shape(&retired), (Some(0), "dead\n"));
    assert_eq!(
        errors(&retired),
        "bob stays listed with its history; `ah agent list --lifecycle dead` shows it\n"
    );
    let again = home.ah(&["agent", "retire", "bob", "--json"]).output().unwrap();
    assert_eq!(errors(&again), "", "people are talked to");
    let dead: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(home.steady(dead), agent("bob", json!({ "lifecycle": "dead", "revision": 4 })));
    let session = home.json(&["session", "show", &home.active_session("bob")]);
    assert_eq!([&session["status"], &session["exit"]["reason"]], ["cancelled", "retired"]);
}

#[test]
fn nothing_happens_to_a_dead_agent() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "hello"]);
    let before = home.json(&["agent", "retire", "bob"]);
    let session = home.active_session("bob");
    let late =
        format!("`ah session append {session} --type T --data JSON` still takes a late record");
    for arguments in [
        &["update", "bob", "--model", "m"][..],
        &["sleep", "bob"],
        &["wake", "bob"],
        &["reset", "bob"],
        &["compact", "bob", "--summary", "s"],
        &["fork", "bob"],
        &["repair", "bob"],
        &["say", "bob", "x"],
        &["append", "bob", "--type", "n"],
    ] {
        let problem = home.problem(&[&["agent"], arguments].concat(), 4);
        let expected = json!({
            "code": "conflict", "title": "not possible in this state", "status": 409,
            "detail": "agent bob: is dead and changes no more", "kind": "agent", "id": "bob",
            "reason": "is dead and changes no more",
            "hints": [
                "`ah agent create NEWNAME` makes another, `ah agent list` shows those there are",
                home.steady_text(&late),
            ],
        });
        assert_eq!(problem, expected, "{arguments:?}");
    }
    let lines = home.feed(&["agent", "append", "bob", "--stdin-jsonl"], b"{\"type\":\"n\"}\n");
    assert_eq!(shape(&lines), (Some(4), ""));
    assert_eq!(
        home.detail(&["agent", "restore", "bob"], 4),
        "agent bob: is dead and is not restored"
    );
    assert_eq!(home.json(&["agent", "show", "bob"]), before);
    assert_eq!(home.json(&["agent", "context", "bob"])["messages"].as_array().unwrap().len(), 1);
    // What the hints say works.
    let taken = home.json(&["session", "append", &session, "--type", "T", "--data", "1"]);
    assert_eq!(taken["appended"], 1);
    home.create_agent("NEWNAME");
}

#[test]
fn people_are_asked_before_an_agent_dies() {
    let home = Home::new();
    home.create_agent("bob");
    let question = "Retire agent bob? It cannot be woken again. [y/N] ";
    let refused = home.on_terminal("agent retire bob", &[("NO_COLOR", "1")], "n\n");
    assert!(refused.contains(&format!("{question}error: not confirmed")), "{refused:?}");
    assert_eq!(home.json(&["agent", "show", "bob"])["lifecycle"], "active");
    let asked = home.on_terminal("agent retire bob", &[], "y\n");
    assert!(asked.contains(question) && asked.contains("dead"), "{asked:?}");
    let again = home.on_terminal("agent retire bob", &[], "");
    assert!(!again.contains(question), "nothing is left to be lost: {again:?}");
}

#[test]
fn kinds_are_listed_as_they_came_and_may_be_added() {
    let home = Home::new();
    let empty = home.run(&["agent", "kinds", "list"]);
    assert_eq!(errors(&empty), "no agent kinds; `ah agent kinds add KIND` records one\n");
    home.create_agent("bob");
    assert_eq!(home.human(&["agent", "kinds", "add", "codex@2"]), "2\n");
    let with_more = ["agent", "kinds", "add", "codex@2", "--metadata", r#"{"a":1}"#];
    let codex = json!({ "id": 2, "type": "codex", "version": "2", "metadata": { "a": 1 } });
    assert_eq!(home.json(&with_more), codex);
    assert_eq!(home.json(&["agent", "kinds", "add", "codex@2"]), codex, "what was known stays");
    let tester = json!({ "id": 1, "type": "tester", "version": "latest" });
    let expected = json!({ "items": [tester, codex], "nextCursor": null });
    assert_eq!(home.json(&["agent", "kinds", "list"]), expected);
    assert_eq!(
        home.human(&["agent", "kinds", "list"]),
        "ID  KIND           METADATA\n1   tester@latest\n2   codex@2        {\"a\":1}\n"
    );
    home.refused(&["agent", "kinds", "add", "a b"], 2);
    home.refused(&["agent", "kinds", "add", "a", "--metadata", "nope"], 2);
}
