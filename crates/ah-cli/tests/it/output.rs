//! What a command prints, where, and what it leaves out.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::answers::{errors, shape};
use crate::support::Home;

#[test]
fn the_program_alone_shows_what_there_is() {
    let home = Home::new();
    let alone = home.human(&[]);
    assert!(alone.starts_with("The durable memory of AI coding agents\n\nUsage: ah"), "{alone}");
    for arguments in [&["help"][..], &["--help"], &["-h"]] {
        let text = home.human(arguments);
        assert!(text.contains("Usage: ah [OPTIONS] <COMMAND>"), "{text}");
    }
    assert!(!home.state().exists(), "nothing was made");
}

#[test]
fn every_command_has_help() {
    let home = Home::new();
    for arguments in [
        &["session", "-h"][..],
        &["session", "append", "--help"],
        &["help", "session", "append"],
        &["task", "help", "create"],
        &["db", "restore", "-h"],
        &["upgrade", "-h"],
        &["agent", "-h"],
        &["agent", "kinds", "-h"],
        &["help", "agent", "kinds", "add"],
        &["import", "daycare", "--help"],
    ] {
        assert!(home.human(arguments).contains("Usage: ah "), "{arguments:?}");
    }
    let noun = home.run(&["session"]);
    assert_eq!(shape(&noun), (Some(2), ""));
    assert!(errors(&noun).contains("Commands:\n  create "));
}

#[test]
fn version_is_the_programs() {
    let expected = concat!("ah ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(Home::new().human(&["--version"]), expected);
}

#[test]
fn usage_errors_are_problems_with_json() {
    let home = Home::new();
    let problem = |detail: &str| {
        json!({
            "code": "invalid", "title": "a value must be corrected", "status": 422,
            "detail": detail,
        })
    };
    for (arguments, detail) in [
        (&["session", "show"][..], "the following required arguments were not provided: <ID>"),
        (&["sesion"], "unrecognized subcommand 'sesion'"),
        (&["session", "list", "--nope"], "unexpected argument '--nope' found"),
        (&["task", "show", "x"], "invalid value 'x' for '<ID>': invalid digit found in string"),
    ] {
        assert_eq!(home.problem(arguments, 2), problem(detail));
    }
    assert!(home.refused(&["sessio"], 2).contains("tip: a similar subcommand exists: 'session'"));
}

#[test]
fn an_error_names_thing_and_value_and_hints_at_a_command() {
    let home = Home::new();
    assert_eq!(
        home.refused(&["session", "show", "nope"], 3),
        "error: session nope not found\nhint: `ah session list` shows the sessions there are\n"
    );
    let expected = json!({
        "code": "not-found", "title": "not found", "status": 404,
        "detail": "session nope not found", "kind": "session", "id": "nope",
        "hints": ["`ah session list` shows the sessions there are"],
    });
    assert_eq!(home.problem(&["session", "show", "nope"], 3), expected);
}

#[test]
fn up_shows_where_things_are() {
    let home = Home::new();
    let version = env!("CARGO_PKG_VERSION");
    let text = home.steady_text(&home.human(&["status"]));
    let head =
        format!("The harbor is ready.\n\nversion:  {version}\ndatabase: DIR/state/state.db\n");
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains("No sessions yet. Begin one:\n  ah session create"), "{text}");
    home.create_session("s1");
    let mut answer = home.steady(home.json(&["status"]));
    let recent = answer["recent"].take();
    let bytes = answer["bytes"].take();
    let expected = json!({
        "version": version, "database": "DIR/state/state.db", "schemaVersion": ah_store_sql::SCHEMA_VERSION, "bytes": null,
        "recent": null,
    });
    assert_eq!((answer, &recent[0]["id"]), (expected, &json!("s1")));
    assert!(bytes.as_u64().unwrap() > 0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    home.session_with_events("s1", 3_000);
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", &"long ".repeat(20_000)]);
    for arguments in [
        &["agent", "history", "bob", "--all", "--json"][..],
        &["agent", "context", "bob", "--json"],
        &["agent", "restore", "--json"],
        &["session", "events", "s1"],
        &["session", "events", "s1", "--json"],
        &["session", "export", "s1"],
        &["session", "follow", "s1"],
        &["completions", "bash"],
    ] {
        let mut child = home.spawn(arguments);
        let mut first = String::new();
        let mut stdout = BufReader::with_capacity(64, child.stdout.take().unwrap());
        stdout.by_ref().take(64).read_line(&mut first).unwrap();
        drop(stdout);
        // Something more to write for who only waits.
        home.json(&["session", "append", "s1", "--type", "n"]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (errors(&output), output.status.code()),
            (String::new(), Some(0)),
            "{arguments:?}"
        );
    }
}

#[test]
fn nothing_stored_moves_the_terminal() {
    let home = Home::new().with_git();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}";
    home.json(&["session", "create", "--id", "s1", "--title", evil]);
    let data = serde_json::to_string(&format!("{evil}\u{9b}")).unwrap();
    home.json(&["session", "append", "s1", "--type", evil, "--data", &data]);
    home.json(&["task", "create", "--prompt", evil, "--label", &format!("k={evil}")]);
    home.json(&["draft", "save", "--id", "d1", "--prompt", evil]);
    home.json(&["kv", "set", "k", evil]);
    for arguments in [
        "session list",
        "session show s1",
        "session events s1",
        "task list",
        "task show 1",
        "draft list",
        "draft show d1",
        "kv list",
        "kv get k",
        "status",
    ] {
        let shown = home.on_terminal(arguments, &[], "");
        assert!(shown.contains('\u{fffd}'), "{arguments}: {shown:?}");
        let acts = |c: char| c.is_control() && !"\r\n\t".contains(c) || c == '\u{202e}';
        assert!(!shown.contains(acts), "{arguments}: {shown:?}");
    }
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let home = Home::new();
    let red = "\u{1b}[31merror:\u{1b}[0m";
    let missing = "session show nope";
    assert!(home.on_terminal(missing, &[], "").starts_with(red));
    for (arguments, variables) in [
        (missing, &[("NO_COLOR", "1")][..]),
        (missing, &[("TERM", "dumb")]),
        (missing, &[("AH_UI_COLOR", "never")]),
        (missing, &[("AH_UI_COLOR", "always"), ("NO_COLOR", "1")]),
        ("--no-color session show nope", &[("AH_UI_COLOR", "always")]),
    ] {
        let shown = home.on_terminal(arguments, variables, "");
        assert!(shown.starts_with("error:"), "{arguments} {variables:?}: {shown:?}");
    }
    let bold = '\u{1b}';
    assert!(home.on_terminal("session -h", &[], "").contains(bold));
    assert!(!home.on_terminal("session -h --no-color", &[], "").contains(bold));
    let mut piped = home.ah(&["session", "show", "nope"]);
    piped.env_remove("NO_COLOR").env("AH_UI_COLOR", "always");
    assert!(errors(&piped.output().unwrap()).starts_with(red));
    piped.env_remove("AH_UI_COLOR");
    assert!(errors(&piped.output().unwrap()).starts_with("error:"));
}

#[test]
fn what_is_said_beside_results_follows_the_log_level() {
    let home = Home::new();
    let said = |arguments: &[&str], level: &str| {
        let output = home.ah(arguments).env("AH_LOG_LEVEL", level).output().unwrap();
        home.steady_text(&errors(&output))
    };
    let list = ["session", "list"];
    let empty = "no sessions; `ah session create` begins one\n";
    assert_eq!(said(&list, ""), empty);
    assert_eq!(said(&list, "error"), "");
    assert_eq!(said(&["session", "list", "--quiet"], "debug"), "");
    assert_eq!(said(&list, "debug"), format!("debug: database DIR/state/state.db\n{empty}"));
}

#[test]
fn completions_and_manual_pages_are_made_for_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.human(&["completions", shell]).contains("set-status"), "{shell}");
    }
    home.refused(&["completions", "tcsh"], 2);
    assert!(home.human(&["man"]).contains(".TH ah 1"));
    home.human(&["man", "--dir", "man"]);
    let names =
        ["ah.1", "ah-session.1", "ah-session-append.1", "ah-upgrade.1", "ah-agent-kinds-add.1"];
    let pages = names.map(|name| home.work().join("man").join(name).exists());
    assert_eq!(pages, [true; 5]);
    assert!(!home.work().join("man/ah-help.1").exists());
}

#[test]
fn the_completion_script_is_one_bash_can_read() {
    let home = Home::new();
    let script = home.human(&["completions", "bash"]);
    let path = home.work().join("ah.bash");
    std::fs::write(&path, script).unwrap();
    let status = Command::new("bash").arg("-n").arg(&path).stdin(Stdio::null()).status().unwrap();
    assert!(status.success());
}
