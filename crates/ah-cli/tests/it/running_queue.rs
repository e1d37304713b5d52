//! Tasks that wait for `ah up`, and agents in panes of multiplexers.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};

use serde_json::json;

use crate::resident::{eventually, signal};
use crate::running::{session_of, text, with_kinds};
use crate::support::{Home, piped, succeeded};

/// `ah up`, ended with the test.
struct Up(Child);

impl Up {
    fn new(home: &Home, more: &[&str]) -> Self {
        let words = [&["up", "--port", "0"][..], more].concat();
        Self(piped(&mut home.ah(&words)).spawn().unwrap())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        signal("-TERM", self.0.id());
        self.0.wait().unwrap();
    }
}

fn queue(home: &Home, kind: &str) -> String {
    let words = ["task", "create", "--prompt", "x", "--agent", kind, "--queue"];
    home.json(&words)["sessionIds"][0].as_str().unwrap().to_owned()
}

fn status(home: &Home, session: &str) -> String {
    text(&home.json(&["session", "show", session]), "status").to_owned()
}

#[test]
fn the_harbor_takes_what_is_queued_and_leaves_what_is_only_recorded() {
    let home =
        with_kinds(&[("shell", "while [ ! -e go ]; do sleep 0.02; done; echo did it", "true")]);
    let recorded = home.json(&["task", "create", "--prompt", "x", "--agent", "shell"]);
    let recorded = recorded["sessionIds"][0].as_str().unwrap();
    let ids: Vec<String> = (0..3).map(|_| queue(&home, "shell")).collect();
    let elsewhere = queue(&home, "not-here");
    let up = Up::new(&home, &[]);
    eventually(|| (status(&home, &ids[1]) == "running").then_some(()));
    assert_eq!(
        [status(&home, &ids[0]), status(&home, &ids[2])],
        ["running", "created"],
        "two at once"
    );
    // Workers outlive the harbor; the next one takes what is left.
    drop(up);
    assert_eq!(status(&home, &ids[0]), "running");
    std::fs::write(home.work().join("go"), "").unwrap();
    let _up = Up::new(&home, &[]);
    for id in &ids {
        eventually(|| (status(&home, id) == "succeeded").then_some(()));
    }
    assert_eq!([status(&home, recorded), status(&home, &elsewhere)], ["created", "created"]);
}

#[test]
fn an_agent_runs_in_a_pane_of_tmux_with_the_environment_of_who_asked() {
    let home = with_kinds(&[(
        "shell",
        "echo in $TMUX_PANE, $COLOUR; while [ ! -e go ]; do sleep 0.02; done",
        "true",
    )]);
    let socket = home.path().join("tmux");
    std::fs::create_dir(&socket).unwrap();
    let tmux = |words: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(words).env("TMUX_TMPDIR", &socket).env_remove("TMUX").output().unwrap()
    };
    let words = ["task", "create", "--prompt", "x", "--agent", "shell", "--detach"];
    let mut command = home.ah(&[&words[..], &["--multiplexer", "tmux"]].concat());
    let command = command.env("TMUX_TMPDIR", &socket).env_remove("TMUX").env("COLOUR", "blue");
    succeeded(&command.output().unwrap(), "pane");
    let session = session_of(&home);
    let id = text(&session, "id");
    let pane = text(&session, "paneLeft");
    assert_eq!(session["multiplexerKind"], "tmux");
    let panes = tmux(&["list-panes", "-a", "-F", "#{session_name} #{pane_id}"]);
    let expected = format!("{} {pane}\n", text(&session, "muxSession"));
    assert_eq!(succeeded(&panes, "panes"), expected);
    let said = format!("in {pane}, blue");
    eventually(|| {
        let shown = succeeded(&tmux(&["capture-pane", "-p", "-t", pane]), "capture");
        shown.contains(&said).then_some(())
    });
    std::fs::write(home.work().join("go"), "").unwrap();
    let logged = succeeded(&home.run(&["session", "logs", id, "--follow"]), "logs");
    assert_eq!(logged, format!("{said}\n"));
    assert_eq!(status(&home, id), "succeeded");
    let events = home.json(&["session", "events", id, "--type", "hostPane"]);
    assert_eq!(events["items"][0]["data"]["paneLeft"], json!(pane));
}

#[test]
fn zellij_and_screen_are_told_what_to_open() {
    for (tool, expected) in [
        ("zellij", "attach --create-background NAME\n--session NAME run --name NAME --cwd DIR -- "),
        ("screen", "-dmS NAME "),
    ] {
        let home = with_kinds(&[("shell", "echo hello", "true")]);
        let (bin, record) = (home.path().join("bin"), home.path().join("argv"));
        std::fs::create_dir(&bin).unwrap();
        // Does what such a tool does: runs what comes after its own words.
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{}'\nwhile [ $# -gt 0 ]; do case \"$1\" in */ah) \
             exec \"$@\" > /dev/null 2>&1;; esac; shift; done\n",
            record.display()
        );
        std::fs::write(bin.join(tool), script).unwrap();
        std::fs::set_permissions(bin.join(tool), PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::vars().find(|(name, _)| name == "PATH").unwrap().1;
        let path = format!("{}:{path}", bin.display());
        let words = ["task", "create", "--prompt", "x", "--agent", "shell", "--detach"];
        let mut command = home.ah(&[&words[..], &["--multiplexer", tool]].concat());
        let done = command.env("PATH", path).env_remove("ZELLIJ").env_remove("STY").output();
        succeeded(&done.unwrap(), tool);
        let session = session_of(&home);
        let name = text(&session, "muxSession");
        let work = home.work();
        let expected = expected.replace("NAME", name).replace("DIR", work.to_str().unwrap());
        let said = std::fs::read_to_string(&record).unwrap();
        assert!(said.starts_with(&expected), "{said} begins with {expected}");
        assert!(!said.contains("HOME="), "no environment in arguments: {said}");
        assert_eq!(status(&home, text(&session, "id")), "succeeded");
    }
}
