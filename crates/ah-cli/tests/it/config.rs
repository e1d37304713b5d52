//! `ah config` and the layers behind every setting, through the program.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::{Home, succeeded};

/// Where each layer's file is, strongest first.
const FILES: [(&str, &str); 5] = [
    ("--config", "work/named.toml"),
    ("project-user", "work/.agents/config.user.toml"),
    ("project", "work/.agents/config.toml"),
    ("user", "state/config.toml"),
    ("system", "no-system-config.toml"),
];

fn write(home: &Home, layer: &str, text: &str) -> PathBuf {
    let (_, name) = FILES.iter().find(|(name, _)| *name == layer).unwrap();
    let path = home.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

fn get(home: &Home, arguments: &[&str], variable: Option<&str>) -> Value {
    let mut command = home.ah(&["config", "get", "repo.task-runner", "--json"]);
    command.args(arguments).envs(variable.map(|value| ("AH_REPO_TASK_RUNNER", value)));
    let output = command.output().unwrap();
    home.steady(serde_json::from_str(&succeeded(&output, "get")).unwrap())
}

#[test]
fn every_layer_beats_the_next_and_says_where_it_is() {
    let home = Home::new().with_git();
    for (layer, _) in FILES {
        write(&home, layer, &format!("[repo]\ntask-runner = \"{layer}\"\n"));
    }
    let found = |layer: &str, place: &str, value: &str| json!({ "key": "repo.task-runner", "value": value, "layer": layer, "place": place });
    let named = ["--config", "named.toml"];
    let first = get(&home, &named, Some("set"));
    assert_eq!(first, found("--config", "DIR/work/named.toml:2", "--config"));
    let variable = get(&home, &[], Some("set"));
    assert_eq!(variable, found("environment", "AH_REPO_TASK_RUNNER", "set"));
    for (layer, name) in &FILES[1..] {
        let place = format!("DIR/{name}:2");
        assert_eq!(get(&home, &[], Some("")), found(layer, &place, layer), "empty is unset");
        std::fs::remove_file(home.path().join(name)).unwrap();
    }
    let detail = home.detail(&["config", "get", "repo.task-runner"], 3);
    assert_eq!(detail, "repo.task-runner is not set and has no default");
}

#[test]
fn flags_beat_every_file_and_are_explained_with_the_rest() {
    let home = Home::new().with_git();
    write(&home, "user", "log-level = \"debug\"\n");
    let text = home.human(&["config", "explain", "log-level", "--quiet"]);
    let rows: Vec<String> = text
        .lines()
        .skip(3)
        .map(|line| home.steady_text(&line.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    let expected = [
        "flag wins error --quiet",
        "--config unset",
        "environment unset AH_LOG_LEVEL",
        "project-user unset DIR/work/.agents/config.user.toml",
        "project unset DIR/work/.agents/config.toml",
        "user hidden debug DIR/state/config.toml:1",
        "system unset DIR/no-system-config.toml",
        "default hidden info",
    ];
    assert_eq!(rows, expected);
    let answer = home.json(&["config", "explain", "ui.color", "--no-color"]);
    assert_eq!(answer["meaning"], "When to colour output; `--no-color` and `NO_COLOR` win.");
    let flag = json!({
        "layer": "flag", "place": "--no-color", "value": "never", "effect": "wins",
    });
    assert_eq!(answer["layers"][0], flag);
}

#[test]
fn the_system_file_may_enforce_a_key() {
    let home = Home::new().with_git();
    write(&home, "system", "enforced = [\"ui.color\"]\n[ui]\ncolor = \"never\"\n");
    write(&home, "user", "[ui]\ncolor = \"always\"\n");
    assert_eq!(home.human(&["config", "get", "ui.color"]), "never\n");
    let answer = home.json(&["config", "explain", "ui.color"]);
    let effects: Vec<_> = answer["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| (layer["layer"].as_str().unwrap(), layer["effect"].as_str().unwrap()))
        .filter(|(_, effect)| *effect != "unset")
        .collect();
    assert_eq!(effects, [("user", "masked"), ("system", "wins"), ("default", "hidden")]);
    let detail = home.detail(&["config", "set", "ui.color", "always"], 7);
    assert_eq!(detail, "ui.color is enforced by DIR/no-system-config.toml:1");
}

#[test]
fn set_changes_a_file_says_where_and_who_is_stronger() {
    let home = Home::new().with_git();
    let done = home.steady(home.json(&["config", "set", "ui.color", "never"]));
    let expected = json!({ "key": "ui.color", "value": "never", "path": "DIR/state/config.toml" });
    assert_eq!(done, expected);
    let output = home
        .ah(&["config", "set", "--project", "ui.color", "auto"])
        .env("AH_UI_COLOR", "always")
        .output()
        .unwrap();
    let said = "ui.color is set in DIR/work/.agents/config.toml\n\
                but AH_UI_COLOR sets it too and wins\n";
    assert_eq!(
        (shape(&output), home.steady_text(&errors(&output))),
        ((Some(0), ""), said.to_owned())
    );
    assert_eq!(home.human(&["config", "get", "ui.color"]), "auto\n");
    assert_eq!(home.human(&["config", "unset", "--project", "ui.color"]), "");
    assert_eq!(home.human(&["config", "get", "ui.color"]), "never\n");
    let gone = home.json(&["config", "unset", "ui.color"]);
    assert_eq!(gone, json!({ "key": "ui.color", "removed": true }));
    let detail = home.detail(&["config", "unset", "ui.color"], 3);
    assert_eq!(detail, "ui.color is not set in the user file");
}

#[test]
fn show_lists_every_key_with_its_origin() {
    let home = Home::new();
    write(&home, "user", "[store]\ndurability = \"normal\"\n");
    let shown = home.steady(home.json(&["config", "show"]));
    let of = |key: &str| shown[key].clone();
    let durability = json!({
        "value": "normal", "layer": "user", "place": "DIR/state/config.toml:2",
    });
    assert_eq!(of("store.durability"), durability);
    let timeout = json!({ "value": 10_000, "layer": "default", "place": null });
    assert_eq!(of("store.busy-timeout-ms"), timeout);
    assert_eq!(of("remote-server"), json!({ "value": null, "layer": null, "place": null }));
    let text = home.human(&["config", "show"]);
    let keys: Vec<_> = text.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(keys.len(), shown.as_object().unwrap().len());
    let explained = home.json(&["config", "explain"]);
    let known: Vec<_> =
        explained["items"].as_array().unwrap().iter().filter_map(|i| i["key"].as_str()).collect();
    assert_eq!(keys, known);
}

#[test]
fn path_lists_the_files_even_when_one_is_broken() {
    let home = Home::new().with_git();
    write(&home, "user", "this is not TOML");
    let answer = home.steady(home.json(&["config", "path", "--config", "named.toml"]));
    let item = |(layer, name): (&str, &str)| json!({ "layer": layer, "path": format!("DIR/{name}"), "exists": layer == "user" });
    assert_eq!(answer, json!({ "items": FILES.map(item), "nextCursor": null }));
}

#[test]
fn a_remote_server_counts_wherever_it_is_named() {
    let home = Home::new().with_git();
    let refused = |output: &std::process::Output| {
        let problem: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(shape(output), (Some(6), ""));
        assert_eq!((&problem["code"], &problem["status"]), (&json!("unreachable"), &json!(503)));
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("cannot reach https://127.0.0.1:1: "), "{detail}");
        assert!(problem["hints"][0].as_str().unwrap().contains("ah config explain remote-server"));
    };
    let list = ["session", "list", "--json"];
    let url = "https://127.0.0.1:1";
    refused(&home.ah(&list).args(["--remote-server", url]).output().unwrap());
    refused(&home.ah(&list).env("AH_REMOTE_SERVER", url).output().unwrap());
    let server = format!("[[server]]\nname = \"work\"\nurl = \"{url}\"\n");
    for layer in ["user", "system"] {
        let path = write(&home, layer, &format!("remote-server = \"work\"\n{server}"));
        refused(&home.run(&list));
        std::fs::remove_file(path).unwrap();
    }
    write(&home, "user", &server);
    for layer in ["project-user", "project", "--config"] {
        let path = write(&home, layer, "remote-server = \"work\"\n");
        let named = if layer == "--config" { &["--config", "named.toml"][..] } else { &[] };
        refused(&home.ah(&list).args(named).output().unwrap());
        std::fs::remove_file(path).unwrap();
    }
    assert!(!home.database().exists());
    succeeded(&home.ah(&list).env("AH_REMOTE_SERVER", "").output().unwrap(), "empty is unset");
}

#[test]
fn bad_configuration_is_named_with_file_and_line() {
    let home = Home::new().with_git();
    for (text, detail) in [
        ("a = 1\n", "DIR/state/config.toml:1: unknown key \"a\""),
        (
            "\n[ui]\ncolr = \"auto\"\n",
            "DIR/state/config.toml:3: unknown key \"ui.colr\" (did you mean \"ui.color\"?)",
        ),
        ("[ui]\ncolor = 3\n", "DIR/state/config.toml:2: ui.color must be text, not an integer"),
        (
            "[store]\nbusy-timeout-ms = -1\n",
            "DIR/state/config.toml:2: store.busy-timeout-ms must be a whole number from 0 to 600000, not -1",
        ),
    ] {
        write(&home, "user", text);
        assert_eq!(home.detail(&["session", "list"], 7), detail);
    }
    write(&home, "user", "a = = 1\n");
    let detail = home.detail(&["session", "list"], 7);
    assert!(detail.starts_with("DIR/state/config.toml:1:5: "), "{detail}");
    write(&home, "user", "");
    let detail = home.detail(&["session", "list", "--config", "none.toml"], 7);
    assert_eq!(detail, "--config file DIR/work/none.toml does not exist");
    let output = home.ah(&["session", "list"]).env("AH_UI_COLOR", "purple").output().unwrap();
    assert_eq!(shape(&output), (Some(7), ""));
    let said = "error: AH_UI_COLOR: ui.color must be one of auto, always, never, not \"purple\"\n\
                hint: `ah config path` lists the files that count\n";
    assert_eq!(errors(&output), said);
    assert!(!home.database().exists());
}

#[test]
fn wrong_keys_and_values_are_refused_and_the_file_stays() {
    let home = Home::new();
    let path = write(&home, "user", "# mine\n[ui]\ncolor = \"auto\"\n");
    for (arguments, detail) in [
        (
            &["set", "ui.colour", "auto"][..],
            "unknown key \"ui.colour\" (did you mean \"ui.color\"?)",
        ),
        (&["set", "ui.color", "red"], "ui.color must be one of auto, always, never, not \"red\""),
        (&["get", "nope"], "unknown key \"nope\""),
        (&["explain", "nope"], "unknown key \"nope\""),
        (&["unset", "nope"], "unknown key \"nope\""),
        (
            &["set", "--project", "ui.color", "auto"],
            "there is no project file to change: not in a repository",
        ),
    ] {
        assert_eq!(home.detail(&[&["config"], arguments].concat(), 7), detail);
    }
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text, "# mine\n[ui]\ncolor = \"auto\"\n");
}

#[test]
fn a_password_is_never_shown() {
    let home = Home::new();
    write(&home, "user", "[store]\ndatabase-url = \"postgres://me:hunter22@db/x\"\n");
    for arguments in [
        &["config", "show"][..],
        &["config", "get", "store.database-url"],
        &["config", "explain", "store.database-url"],
        &["config", "show", "--json"],
    ] {
        let text = home.human(arguments);
        assert!(text.contains("postgres://me:***@db/x") && !text.contains("hunter22"), "{text}");
    }
    let detail = home.detail(&["db", "restore", "x"], 4);
    assert_eq!(detail, "the database is a PostgreSQL server's, not a file");
}

#[test]
fn the_non_interactive_key_counts_like_the_flag() {
    let home = Home::new().with_git();
    write(&home, "user", "non-interactive = true\n");
    let program = env!("CARGO_BIN_EXE_ah");
    let output = home
        .clean("script")
        .args(["-qec", &format!("{program} task create"), "/dev/null"])
        .env("SHELL", "/bin/sh")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(10));
}

#[test]
fn a_database_server_that_nobody_runs_is_exit_6_and_names_no_password() {
    let home = Home::new();
    let url = "postgres://me:secret@127.0.0.1:1/harbor";
    let said = home.refused(&["--database-url", url, "session", "list"], 6);
    assert!(said.starts_with("error: cannot reach the PostgreSQL server at 127.0.0.1:1"), "{said}");
    assert!(said.contains("hint: `ah config explain"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
