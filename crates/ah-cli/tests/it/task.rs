//! `ah task`: what people asked agents to do.

use serde_json::{Value, json};

use crate::answers::errors;
use crate::support::{Home, succeeded};

fn task(id: u64, changed: &Value) -> Value {
    let mut task = json!({
        "id": id, "sessionId": "ID", "batchId": "ID", "prompt": "do it", "branch": null,
        "delivery": null, "instances": 1, "labels": {}, "createdAt": "TIME",
        "agent": { "type": "claude-code", "version": "latest" }, "status": "created",
    });
    for (name, value) in changed.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

#[test]
fn create_records_a_session_and_a_pending_run_for_each_agent_and_instance() {
    let home = Home::new().with_git();
    let batch = home.json(&[
        "task",
        "create",
        "--prompt",
        "do it",
        "--agent",
        "codex@1",
        "--agent",
        "other",
        "--instances",
        "2",
        "--branch",
        "b",
        "--delivery",
        "pr",
        "--label",
        "k=v",
    ]);
    let of = |id, name: &str, version: &str| {
        let agent = json!({ "type": name, "version": version });
        let labels = json!({ "k": "v" });
        task(
            id,
            &json!({
                "branch": "b", "delivery": "pr", "instances": 2, "labels": labels, "agent": agent,
            }),
        )
    };
    let tasks = [
        of(1, "codex", "1"),
        of(2, "codex", "1"),
        of(3, "other", "latest"),
        of(4, "other", "latest"),
    ];
    let ids = json!(["ID", "ID", "ID", "ID"]);
    let expected = json!({ "id": "ID", "tasks": tasks, "sessionIds": ids, "runIds": ids });
    assert_eq!(home.steady(batch.clone()), expected);

    let session = home.json(&["session", "show", batch["sessionIds"][0].as_str().unwrap()]);
    assert_eq!((&session["status"], &session["title"]), (&json!("created"), &json!("do it")));
    let runs: Vec<(String, String)> = home
        .connect()
        .prepare("SELECT kind, status FROM runs")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(runs, vec![("start".to_owned(), "pending".to_owned()); 4]);
}

#[test]
fn create_takes_the_prompt_from_a_file_or_stdin() {
    let home = Home::new().with_git();
    std::fs::write(home.work().join("prompt.md"), "do it").unwrap();
    let file = home.json(&["task", "create", "--prompt-file", "prompt.md"]);
    assert_eq!(home.steady(file["tasks"].clone()), json!([task(1, &json!({}))]));
    for (number, arguments) in [(2, &["-"][..]), (3, &["--prompt-file", "-"])] {
        let all = [&["task", "create", "--json"], arguments].concat();
        let output = home.feed(&all, b"do it");
        let batch: Value = serde_json::from_str(&succeeded(&output, &all)).unwrap();
        assert_eq!(home.steady(batch["tasks"].clone()), json!([task(number, &json!({}))]));
    }
}

#[test]
fn create_for_people_names_task_and_session() {
    let home = Home::new().with_git();
    let text = home.human(&["task", "create", "--prompt", "x", "--agent", "codex"]);
    assert_eq!(home.steady_text(&text), "task 1: session ID (codex@latest)\n");
}

#[test]
fn create_without_a_prompt_needs_somebody_to_ask() {
    let home = Home::new().with_git();
    let expected = "error: a prompt is needed and nobody can be asked for it\n\
                    hint: give it with `--prompt TEXT`, or `--prompt-file FILE` (`-` for stdin)\n";
    assert_eq!(home.refused(&["task", "create", "--non-interactive"], 10), expected);
    assert_eq!(home.refused(&["task", "create"], 10), expected);
}

#[test]
fn create_refuses_what_it_cannot_record_and_records_nothing() {
    let home = Home::new().with_git();
    let with = |arguments: &[&str], code| {
        home.detail(&[&["task", "create", "--prompt", "x"], arguments].concat(), code)
    };
    for (arguments, detail) in [
        (&["--delivery", "mail"][..], "invalid delivery: \"mail\" is none of pr, branch, patch"),
        (&["--label", "k"], "invalid label: \"k\" is not of the form key=value"),
        (&["--runtime", "vm"], "invalid runtime: \"vm\" is none of local, devcontainer, disabled"),
        (&["--agent", "a@"], "invalid agent kind: \"a@\" is not NAME or NAME@VERSION"),
        (
            &["--instances", "65"],
            "invalid instances: 1 agents × 65 instances are 65 sessions, 1 to 64 are allowed",
        ),
    ] {
        assert_eq!(with(arguments, 2), detail);
    }
    assert_eq!(home.json(&["task", "list"]), json!({ "items": [], "nextCursor": null }));
    assert_eq!(home.json(&["session", "list"]), json!({ "items": [], "nextCursor": null }));
}

#[test]
fn list_shows_the_newest_first_and_filters() {
    let home = Home::new().with_git();
    let first = home.json(&["task", "create", "--prompt", "do it", "--instances", "2"]);
    home.json(&["task", "create", "--prompt", "do it"]);
    let two = json!({ "instances": 2 });
    let all = home.steady(home.json(&["task", "list"]));
    let expected = [task(3, &json!({})), task(2, &two), task(1, &two)];
    assert_eq!(all, json!({ "items": expected, "nextCursor": null }));
    let batch = first["id"].as_str().unwrap();
    let of_batch = home.steady(home.json(&["task", "list", "--batch", batch]));
    assert_eq!(of_batch["items"], json!([task(2, &two), task(1, &two)]));
    let session = first["sessionIds"][0].as_str().unwrap();
    let of_session = home.steady(home.json(&["task", "list", "--session", session]));
    assert_eq!(of_session["items"], json!([task(1, &two)]));
}

#[test]
fn list_for_people_shows_the_first_line_of_the_prompt() {
    let home = Home::new().with_git();
    let none = home.run(&["task", "list"]);
    assert_eq!(
        (errors(&none), none.stdout),
        ("no tasks; `ah task create` records one\n".into(), vec![])
    );
    home.human(&["task", "create", "--prompt", "first\nsecond"]);
    let text = home.human(&["task", "list"]);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["ID", "STATUS", "AGENT", "SESSION", "PROMPT"]);
    assert_eq!([lines[1][0], lines[1][1], lines[1][4]], ["1", "created", "first"]);
}

#[test]
fn show_ends_with_the_whole_prompt() {
    let home = Home::new().with_git();
    let flags = ["--delivery", "patch", "--branch", "b", "--label", "k=v"];
    home.json(&[&["task", "create", "--prompt", "first\nsecond"], &flags[..]].concat());
    assert_eq!(
        home.steady_text(&home.human(&["task", "show", "1"])),
        "id:       1\n\
         status:   created\n\
         agent:    claude-code@latest\n\
         session:  ID\n\
         request:  ID\n\
         branch:   b\n\
         delivery: patch\n\
         labels:   k=v\n\
         created:  TIME\n\
         \n\
         first\nsecond\n"
    );
    let changed = json!({
        "prompt": "first\nsecond", "branch": "b", "delivery": "patch", "labels": { "k": "v" },
    });
    assert_eq!(home.steady(home.json(&["task", "show", "1"])), task(1, &changed));
}
