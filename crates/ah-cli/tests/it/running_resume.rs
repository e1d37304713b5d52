//! `ah session resume`: the tool's own way to go on, one writer at a time, and other tools that are
//! told what was said; working copies of their own.

use serde_json::{Value, json};

use crate::answers::errors;
use crate::resident::{eventually, signal};
use crate::running::{detached, events, git, lives, run_file, session_of, text, with_kinds};
use crate::support::{Home, succeeded};

fn first(home: &Home, kind: &str, prompt: &str) -> String {
    let words = ["task", "create", "--prompt", prompt, "--agent", kind, "--run"];
    succeeded(&home.run(&words), "run");
    text(&session_of(home), "id").to_owned()
}

#[test]
fn a_session_goes_on_with_its_own_tool_in_its_own_directory() {
    let resume = "echo again $1 in $(pwd): $(cat)";
    let home = with_kinds(&[("shell", "echo began $1", resume)]);
    let id = first(&home, "shell", "begin");
    let mut command = home.ah(&["session", "resume", &id, "and then?"]);
    let done = command.current_dir(home.path()).output().unwrap();
    let expected = format!("again {id} in {}: and then?\n", home.work().display());
    assert_eq!(succeeded(&done, "resume"), expected);
    let session = session_of(&home);
    assert_eq!((text(&session, "id"), &session["status"]), (id.as_str(), &json!("succeeded")));
    assert_eq!(session["origin"], json!({ "source": "shell", "externalId": id }));
    let context = home.json(&["session", "context", &id]);
    let texts = context["messages"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|said| said["content"][0]["text"].as_str().unwrap()).collect();
    let began = format!("began {id}");
    assert_eq!(texts, ["begin", began.as_str(), "and then?", expected.trim()]);
}

#[test]
fn a_directory_that_is_gone_is_named_with_what_helps() {
    let home = with_kinds(&[("shell", "true", "true")]);
    let id = first(&home, "shell", "begin");
    std::fs::remove_dir_all(home.work()).unwrap();
    let mut command = home.ah(&["session", "resume", &id, "go on"]);
    let done = command.current_dir(home.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    let work = home.work();
    assert!(errors(&done).contains(&format!("{}, is not there", work.display())));
    assert!(errors(&done).contains(&format!("`ah repo relocate {} NEW`", work.display())));
}

#[test]
fn a_second_writer_is_refused_with_who_has_it_and_may_take_over() {
    let home = with_kinds(&[(
        "shell",
        "true",
        "read what; echo $what; if [ \"$what\" = wait ]; then trap '' TERM; while :; do sleep 0.1; done; fi",
    )]);
    let id = first(&home, "shell", "begin");
    home.json(&["session", "resume", &id, "wait\n", "--detach"]);
    let old = home.json(&["run", "list"])["items"][0].clone();
    let run = text(&old, "id");
    let refused = home.run(&["session", "resume", &id, "me too"]);
    assert_eq!(refused.status.code(), Some(4));
    let worker = std::fs::read_to_string(run_file(&home, run, "worker")).unwrap();
    let said = errors(&refused);
    for part in [
        format!("run {run} is running, held by {}", text(&old, "executorId")),
        format!("process {} of this machine", worker.trim()),
        format!("`ah session resume {id} PROMPT --take-over`"),
        format!("`ah run stop {run}`"),
    ] {
        assert!(said.contains(&part), "{part} in {said}");
    }
    // The program does not listen: it is killed when its time is over, and the next one goes on.
    let taken = home.run(&["session", "resume", &id, "mine\n", "--take-over"]);
    assert_eq!(succeeded(&taken, "take over"), "mine\n");
    assert_eq!(home.json(&["run", "show", run])["status"], "stopped");
    assert_eq!(session_of(&home)["status"], "succeeded");
}

#[test]
fn a_holder_that_does_not_answer_is_killed_with_its_program() {
    let resume = "read what; echo $what; [ \"$what\" = mine ] || exec sleep 1000";
    let home = with_kinds(&[("shell", "true", resume)]);
    let id = first(&home, "shell", "begin");
    home.json(&["session", "resume", &id, "wait\n", "--detach"]);
    let old = home.json(&["run", "list"])["items"][0].clone();
    let run = text(&old, "id");
    let worker = std::fs::read_to_string(run_file(&home, run, "worker")).unwrap();
    let worker: u32 = worker.trim().parse().unwrap();
    eventually(|| run_file(&home, run, "program").exists().then_some(()));
    let program = std::fs::read_to_string(run_file(&home, run, "program")).unwrap();
    let program: Value = serde_json::from_str(&program).unwrap();
    let program = u32::try_from(program["id"].as_u64().unwrap()).unwrap();
    signal("-STOP", worker);
    let taken = home.run(&["session", "resume", &id, "mine\n", "--take-over"]);
    assert_eq!(succeeded(&taken, "take over"), "mine\n");
    assert!(!lives(worker) && !lives(program));
    assert_eq!(home.json(&["run", "show", run])["status"], "stopped");
    assert_eq!(session_of(&home)["status"], "succeeded");
}

#[test]
fn a_worker_whose_run_was_ended_by_another_says_nothing_more_and_ends_its_program() {
    let home = with_kinds(&[("shell", "echo $$; while :; do sleep 0.05; echo more; done", "true")]);
    let task = detached(&home, "shell");
    let (id, run) = (json!({ "id": task["session"] }), text(&task, "run"));
    let log = run_file(&home, run, "log");
    let program = || std::fs::read_to_string(&log).ok()?.lines().next()?.parse().ok();
    let program: u32 = eventually(program);
    home.json(&["run", "finish", run, "failed", "--epoch", "1", "--error", "by another"]);
    let before = events(&home, &id);
    eventually(|| (!lives(program)).then_some(()));
    assert_eq!(events(&home, &id), before, "what a fenced worker has to say is refused");
    assert_eq!(home.json(&["run", "show", run])["error"], "by another");
}

#[test]
fn of_two_that_go_on_at_once_one_is_refused() {
    let home = with_kinds(&[("shell", "true", "while [ ! -e go ]; do sleep 0.02; done")]);
    let id = first(&home, "shell", "begin");
    let both = ["a", "b"].map(|prompt| {
        let mut command = home.ah(&["session", "resume", &id, prompt]);
        crate::support::piped(&mut command).spawn().unwrap()
    });
    let log = |home: &Home| home.json(&["run", "list", "--session", &id])["items"].clone();
    eventually(|| (log(&home).as_array().unwrap().len() == 2).then_some(()));
    // One of them cannot but be refused while the other waits.
    let [mut one, mut other] = both;
    eventually(|| {
        let ended = [one.try_wait().unwrap(), other.try_wait().unwrap()];
        ended.into_iter().flatten().next()
    });
    std::fs::write(home.work().join("go"), "").unwrap();
    let mut codes = [one.wait().unwrap().code(), other.wait().unwrap().code()];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(4)]);
}

#[test]
fn another_tool_is_told_what_was_said() {
    let home = with_kinds(&[("one", "echo blue", "true"), ("two", "cat", "true")]);
    let id = first(&home, "one", "which colour?");
    let words = ["session", "resume", &id, "why?", "--agent", "two"];
    let said = succeeded(&home.run(&words), "resume");
    for part in ["[user] which colour?", "[assistant] blue", "What is asked now:\n\nwhy?"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let session = session_of(&home);
    assert_eq!(session["agent"]["type"], "two");
    assert_eq!(session["parentSessionId"], json!(id));
    assert_eq!(home.json(&["session", "show", &id])["status"], "succeeded");
}

#[test]
fn a_worktree_leaves_the_users_checkout_alone_until_it_is_cleaned() {
    let home = with_kinds(&[("shell", "echo new > made; git status --porcelain", "pwd")]);
    std::fs::write(home.work().join("file"), "committed\n").unwrap();
    git(&home, &["add", "file"]);
    git(&home, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(home.work().join("file"), "staged\n").unwrap();
    git(&home, &["add", "file"]);
    std::fs::write(home.work().join("file"), "edited\n").unwrap();
    let status = || git(&home, &["status", "--porcelain=v2", "--branch"]);
    let before = status();
    let words = ["task", "create", "--prompt", "x", "--agent", "shell", "--run"];
    let done = home.run(&[&words[..], &["--working-copy", "worktree"]].concat());
    assert_eq!(succeeded(&done, "run"), "?? made\n");
    assert_eq!(status(), before);
    let session = session_of(&home);
    let copy = text(&session, "workspacePath");
    assert_eq!(session["projectDir"], json!(copy));
    assert!(copy.starts_with(home.state().to_str().unwrap()), "{copy}");
    let branches = git(&home, &["branch", "--format", "%(refname:short)"]);
    let own: Vec<&str> = branches.lines().filter(|name| name.starts_with("ah/")).collect();
    assert_eq!(own.len(), 1, "{branches}");
    let again = home.run(&["session", "resume", text(&session, "id"), "x"]);
    assert_eq!(succeeded(&again, "resume"), format!("{copy}\n"));

    let refused = home.run(&["task", "clean", "1"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(errors(&refused).contains("changes that are not committed"), "{}", errors(&refused));
    succeeded(&home.run(&["task", "clean", "1", "--force"]), "clean");
    assert!(!std::path::Path::new(copy).exists());
    assert_eq!(git(&home, &["branch", "--format", "%(refname:short)"]), branches);
    assert_eq!(status(), before);
}

#[test]
fn a_copy_of_a_snapshot_has_what_is_not_committed_and_leaves_it_alone() {
    let home = with_kinds(&[("shell", "cat file; echo new > made", "pwd")]);
    std::fs::write(home.work().join("file"), "committed\n").unwrap();
    git(&home, &["add", "file"]);
    git(&home, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(home.work().join("file"), "edited\n").unwrap();
    let status = || git(&home, &["status", "--porcelain=v2", "--branch"]);
    let before = status();
    let words = ["task", "create", "--prompt", "x", "--agent", "shell", "--run"];
    let done = home.run(&[&words[..], &["--working-copy", "snapshot"]].concat());
    assert_eq!(succeeded(&done, "run"), "edited\n");
    assert_eq!(status(), before);
    assert!(!home.work().join("made").exists());
    let copy = text(&session_of(&home), "workspacePath").to_owned();
    assert!(std::path::Path::new(&copy).join("made").exists(), "{copy}");
}

#[test]
fn a_session_goes_on_where_its_repository_was_moved_to() {
    let home = with_kinds(&[("shell", "true", "pwd")]);
    git(&home, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let id = first(&home, "shell", "begin");
    let moved = home.path().join("moved");
    std::fs::rename(home.work(), &moved).unwrap();
    let done = home.ah(&["session", "resume", &id, "go on"]).current_dir(&moved).output().unwrap();
    assert_eq!(succeeded(&done, "resume"), format!("{}\n", moved.display()));
    assert_eq!(session_of_in(&home, &moved, &id)["projectDir"], json!(moved));
}

/// The session, asked for from a directory that is there.
fn session_of_in(home: &Home, directory: &std::path::Path, id: &str) -> Value {
    let mut command = home.ah(&["session", "show", id, "--json"]);
    let shown = command.current_dir(directory).output().unwrap();
    serde_json::from_str(&succeeded(&shown, "show")).unwrap()
}

#[test]
fn a_live_session_is_found_by_its_task() {
    let home = with_kinds(&[("shell", "while [ ! -e go ]; do sleep 0.02; done", "true")]);
    let task = detached(&home, "shell");
    assert_eq!(home.json(&["task", "show", "1"])["status"], "running");
    std::fs::write(home.work().join("go"), "").unwrap();
    let id = text(&task, "session");
    succeeded(&home.run(&["session", "attach", id]), "attach");
    assert_eq!(home.json(&["task", "show", "1"])["status"], "succeeded");
}
