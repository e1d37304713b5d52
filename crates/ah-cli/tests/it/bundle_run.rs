//! `ah bundle run` with a command as pre-stage, and `ah agentcli`, which is the same in other words.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::bundle::at_s;
use crate::support::{Home, piped, succeeded};

/// A pre-stage that notes what it was given and answers with a prompt.
const PRESTAGE: &str =
    r#"cat >> calls; echo >> calls; printf '{"prompts":{"developer":"d"},"mine":1.50}'"#;

/// Variables of the original that whoever runs the tests may have set.
pub(crate) const FOREIGN: [&str; 6] = [
    "AGENTCLI_STATE_DIR",
    "AGENTCLI_STATE_SCOPE",
    "OAI_MODEL",
    "OAI_BASE_URL",
    "OAI_API_KEY",
    "OPENAI_API_KEY",
];

impl Home {
    /// The program without those variables, and without a keychain.
    pub(crate) fn ah_alone(&self, arguments: &[&str]) -> Command {
        let mut command = self.ah(arguments);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.env_remove("DBUS_SESSION_BUS_ADDRESS");
        command
    }

    /// Runs `ah bundle run` for model `m` with a line for a shell as pre-stage.
    fn staged(&self, flags: &[&str], script: &str) -> std::process::Output {
        self.ah_alone(&run_line(flags, script)).output().unwrap()
    }

    #[track_caller]
    fn staged_json(&self, flags: &[&str], script: &str) -> Value {
        let flags = [flags, &["--json"]].concat();
        serde_json::from_str(&succeeded(&self.staged(&flags, script), script)).unwrap()
    }

    /// What the pre-stage was given so far.
    fn calls(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.work().join("calls")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn run_line<'a>(flags: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let run = at_s(&["run", "--model", "m", "--base-url", "http://b"]);
    [&run[..], flags, &["--", "sh", "-c", script]].concat()
}

#[test]
fn the_pre_stage_runs_once_and_then_its_bundle_is_restored() {
    let home = Home::new();
    std::fs::write(home.work().join("tools.json"), r#"{"tools":[1.50]}"#).unwrap();
    let flags = ["--tools", "tools.json", "--prompt", "sum up"];
    let derived = home.staged_json(&flags, PRESTAGE);
    assert_eq!(derived["action"], "derived");
    assert_eq!(derived["bundle"]["prompts"], json!({ "developer": "d" }));
    let restored = home.staged_json(&flags, PRESTAGE);
    assert_eq!(restored["action"], "restored");
    assert_eq!(restored["bundle"], derived["bundle"]);
    let raw = std::fs::read_to_string(home.work().join("calls")).unwrap();
    assert!(raw.contains(r#""tools":{"tools":[1.50]}"#), "numbers stay as they are: {raw}");
    let expected = json!({
        "version": "1", "action": "derive", "model_id": "m", "base_url": "http://b",
        "tools": { "tools": [1.5] }, "prompt": "sum up", "refine_text": null, "bundle": null,
        "toolset_hash": derived["bundle"]["toolset_hash"],
        "scope_key": derived["bundle"]["scope_key"],
    });
    assert_eq!(home.calls(), [expected], "it was called once");
    let printed = home.staged(&flags, "exit 7");
    assert!(errors(&printed).ends_with(" restored\n"), "{}", errors(&printed));
    let stored = home.bundles().join(derived["name"].as_str().unwrap());
    let stored = std::fs::read_to_string(stored).unwrap();
    assert_eq!(shape(&printed), (Some(0), &*(stored.clone() + "\n")));
    assert!(stored.contains("\"mine\": 1.50"), "what is not known is kept: {stored}");
    assert!(!home.state().exists(), "nothing is made below AH_HOME");
    // Another scope is another bundle, and hides none.
    let other = home.staged_json(&["--scope", "docs"], PRESTAGE);
    assert_eq!((&other["action"], home.calls().len()), (&json!("derived"), 2));
    assert_eq!(home.staged_json(&flags, "exit 7")["sha"], derived["sha"]);
}

#[test]
fn refining_runs_the_pre_stage_with_the_bundle_and_keeps_what_it_does_not_name() {
    let home = Home::new();
    let first = home.staged_json(&[], PRESTAGE);
    let script = r#"cat >> calls; echo >> calls; echo '{"prep_settings":{"temperature":0.20}}'"#;
    let refined = home.staged_json(&["--refine-text", "cooler"], script);
    assert_eq!(refined["action"], "refined");
    assert_eq!(refined["bundle"]["prev_sha"], first["sha"]);
    assert_eq!(refined["bundle"]["prompts"], json!({ "developer": "d" }));
    assert_eq!(refined["bundle"]["mine"], 1.5);
    let call = &home.calls()[1];
    assert_eq!((&call["action"], &call["refine_text"]), (&json!("refine"), &json!("cooler")));
    assert_eq!(call["bundle"], first["bundle"]);
    // Without a pre-stage the text is added to the prompt.
    std::fs::write(home.work().join("more"), "more\n").unwrap();
    let run = at_s(&["run", "--model", "m", "--base-url", "http://b", "--refine-file", "more"]);
    let added = home.json(&run);
    assert_eq!(added["bundle"]["prompts"]["developer"], "d\n\nmore");
    assert_eq!(home.bundle(&["log"])["entries"].as_array().unwrap().len(), 3);
    for blank in [&["--refine-text", " "][..], &["--refine-text", "a", "--refine-file", "b"]] {
        assert_eq!(home.staged(blank, PRESTAGE).status.code(), Some(2));
    }
    assert_eq!(home.calls().len(), 2);
}

#[test]
fn a_dry_run_prints_the_plan_and_touches_nothing() {
    let home = Home::new();
    let plan = |flags: &[&str]| -> Value {
        let flags = [flags, &["--dry-run"]].concat();
        let output = home.staged(&flags, PRESTAGE);
        serde_json::from_str::<Value>(&succeeded(&output, "plan")).unwrap()["plan"].clone()
    };
    let mut first = plan(&["--scope", "x"]);
    let notes = first["notes"].take();
    assert!(notes[0].as_str().unwrap().contains("no state yet"), "{notes}");
    let expected = json!({
        "action": "restore_or_save", "state_dir": home.bundles(), "scope_key": "x", "refine": false,
        "has_refine_text": false, "has_refine_file": false, "runs_prestage": true, "notes": null,
    });
    assert_eq!(first, expected);
    let entries = std::fs::read_dir(home.work()).unwrap().count();
    assert_eq!((entries, home.state().exists()), (0, false), "no directory is made");
    home.staged_json(&["--scope", "x"], PRESTAGE);
    let before = home.bundle_files();
    assert_eq!(plan(&["--scope", "x"])["runs_prestage"], false);
    let refine = plan(&["--scope", "x", "--refine-file", "not-there"]);
    assert_eq!((&refine["action"], &refine["refine"]), (&json!("refine"), &json!(true)));
    assert_eq!(refine["has_refine_file"], true);
    assert_eq!(home.bundle_files(), before);
    assert_eq!(home.calls().len(), 1, "only the real run called it");
}

#[test]
fn an_answer_that_is_none_is_named_and_nothing_is_saved() {
    let home = Home::new();
    for (script, code, reason) in [
        ("echo no", 1, "no valid JSON"),
        (":", 1, "no valid JSON"),
        ("echo '[]'", 1, "no valid JSON"),
        ("echo '{}'", 1, "none of prompts, prep_settings"),
        (r#"echo '{"error":"busy"}'"#, 1, "none of prompts, prep_settings"),
        (r#"echo '{"prompts":{"a":1}}'"#, 1, "the prompt \"a\" is a number"),
        (r#"echo '{"prompts":{}} {}'"#, 1, "no valid JSON"),
        (r#"echo '{"version":"2","prompts":{}}'"#, 1, "its version is \"2\""),
        (r#"echo '{"scope_key":"x","prompts":{}}'"#, 1, "its scope_key is \"x\""),
        (r#"echo '{"model_id":"x","prompts":{}}'"#, 1, "its model_id is \"x\""),
        (r#"echo '{"prompts":{}}'; exit 3"#, 1, "ended with exit code 3"),
        ("kill -9 $$", 1, "was ended (signal: 9"),
        ("head -c 17000000 /dev/zero", 1, "printed more than 16777216 bytes"),
        ("yes", 1, "printed more than 16777216 bytes"),
    ] {
        let output = home.staged(&[], script);
        assert_eq!(shape(&output), (Some(code), ""), "{script}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{script}: {}", errors(&output));
        assert!(errors(&output).contains("nothing was"), "{script}: {}", errors(&output));
        assert!(!home.bundles().exists(), "{script}");
    }
}

#[test]
fn what_it_says_on_stderr_passes_through_and_it_need_not_read() {
    let home = Home::new();
    let large = "x".repeat(300_000);
    let script = r#"echo talk >&2; echo '{"prompts":{}}'"#;
    let prompt = home.work().join("tools.json");
    std::fs::write(&prompt, format!("\"{large}\"")).unwrap();
    let output = home.staged(&["--tools", "tools.json"], script);
    succeeded(&output, "run");
    assert!(errors(&output).starts_with("talk\n"), "{}", errors(&output));
}

#[test]
fn without_a_pre_stage_or_with_two_it_says_what_to_do() {
    let home = Home::new();
    let run = at_s(&["run", "--model", "m", "--base-url", "http://b"]);
    let said = home.refused(&run, 3);
    assert!(said.contains("no pre-stage is given"), "{said}");
    assert!(said.contains("hint: give a command after `--`, or `--prestage openai`"), "{said}");
    home.refused(&[&run[..], &["--prestage", "openai", "--", "true"]].concat(), 2);
    home.refused(&[&run[..], &["--prestage", "other"]].concat(), 2);
    home.refused(&[&run[..], &["--timeout", "0s", "--", "true"]].concat(), 2);
    let said = home.refused(&[&run[..], &["--", "no-such-program"]].concat(), 2);
    assert!(said.contains("no-such-program cannot be run"), "{said}");
    std::fs::write(home.work().join("bad"), "{").unwrap();
    let said = home.refused(&[&run[..], &["--tools", "bad", "--", "true"]].concat(), 2);
    assert!(said.contains("the manifest is no JSON"), "{said}");
    home.refused(&[&run[..], &["--tools", "missing", "--", "true"]].concat(), 1);
    assert!(!home.bundles().exists());
}

#[test]
fn a_lost_bundle_is_not_made_anew_in_silence() {
    let home = Home::new();
    let derived = home.staged_json(&[], PRESTAGE);
    let file = home.bundles().join(derived["name"].as_str().unwrap());
    std::fs::write(&file, "{").unwrap();
    let output = home.staged(&[], PRESTAGE);
    assert_eq!(shape(&output), (Some(9), ""));
    assert!(errors(&output).contains("`ah bundle quarantine --state-dir "), "{}", errors(&output));
    assert_eq!(home.calls().len(), 1);
    home.bundle(&["quarantine"]);
    assert_eq!(home.staged_json(&[], PRESTAGE)["action"], "derived");
}

/// Starts a run whose pre-stage never ends by itself, and waits until it runs.
fn endless(home: &Home, flags: &[&str]) -> (Child, BufReader<impl Read>) {
    let script = "sleep 600 & echo ready >&2; wait";
    let mut process = piped(&mut home.ah_alone(&run_line(flags, script))).spawn().unwrap();
    let mut said = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (process, said)
}

#[test]
fn a_pre_stage_that_takes_too_long_is_ended_with_all_it_started() {
    let home = Home::new();
    let (mut process, mut said) = endless(&home, &["--timeout", "1s"]);
    let mut rest = String::new();
    // Everything that holds the stream has ended when this returns.
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1));
    assert!(rest.contains("took longer than 1s; nothing was saved"), "{rest}");
    assert!(!home.bundles().exists());
}

#[test]
fn an_interruption_ends_the_pre_stage_too() {
    let home = Home::new();
    for signal in [Signal::INT, Signal::TERM] {
        let (mut process, mut said) = endless(&home, &[]);
        kill_process(Pid::from_child(&process), signal).unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(1));
        assert!(rest.contains("was interrupted; nothing was saved"), "{rest}");
    }
    assert!(!home.bundles().exists());
}

#[test]
fn two_runs_at_once_both_save_and_the_second_is_told() {
    let home = Home::new();
    // Each waits until both run, so that neither finds the bundle of the other.
    let meet = |own: &str, other: &str| {
        format!("echo > {own}; until test -e {other}; do :; done; echo '{{\"prompts\":{{}}}}'")
    };
    let (one, two) = (meet("one", "two"), meet("two", "one"));
    let spawn =
        |script: &str| piped(&mut home.ah_alone(&run_line(&["--json"], script))).spawn().unwrap();
    let running = [spawn(&one), spawn(&two)];
    let answers = running.map(|process| {
        let output = process.wait_with_output().unwrap();
        serde_json::from_str::<Value>(&succeeded(&output, "run")).unwrap()
    });
    let notes = answers.iter().map(|answer| answer["notes"].as_array().unwrap().len());
    assert_eq!(notes.sum::<usize>(), 1, "{answers:?}");
    assert_eq!(home.bundle(&["log"])["entries"].as_array().unwrap().len(), 2);
    assert_eq!(home.bundle(&["verify"])["ok"], true);
}

#[test]
fn a_named_scope_of_another_model_is_restored_with_a_word() {
    let home = Home::new();
    home.staged_json(&["--scope", "docs"], PRESTAGE);
    let run = at_s(&["run", "--model", "n", "--base-url", "http://b", "--scope", "docs"]);
    let restored = home.json(&run);
    let note = restored["notes"][0].as_str().unwrap();
    assert_eq!(note, "it was made for the model \"m\", not for \"n\"");
}

#[test]
fn agentcli_takes_the_flags_of_the_original() {
    let home = Home::new();
    let agentcli = |arguments: &[&str]| {
        let mut command = home.ah_alone(&["agentcli", "-prompt", "Say ok", "-model", "m"]);
        command.args(["-base-url=http://b"]).args(arguments);
        command
    };
    let parse = |command: &mut Command| -> Value {
        serde_json::from_str(&succeeded(&command.output().unwrap(), "agentcli")).unwrap()
    };
    let stage = ["--", "sh", "-c", PRESTAGE];
    let mut first = agentcli(&["-state-dir", "s", "--json"]);
    let derived = parse(first.args(stage));
    assert_eq!(
        (&derived["action"], &home.calls()[0]["prompt"]),
        (&json!("derived"), &json!("Say ok"))
    );
    assert_eq!(home.staged_json(&[], "exit 7")["sha"], derived["sha"], "it is the same scope");
    let mut by_variable = agentcli(&["--json", "-debug"]);
    let output = by_variable.env("AGENTCLI_STATE_DIR", "s").args(stage).output().unwrap();
    let restored: Value = serde_json::from_str(&succeeded(&output, "restore")).unwrap();
    assert_eq!(restored["sha"], derived["sha"]);
    let said = home.steady_text(&errors(&output));
    assert!(said.starts_with("debug: state directory DIR/work/s, scope "), "{said}");
    std::fs::write(home.work().join("refine"), "from the file").unwrap();
    let flags = ["-state-refine", "-state-refine-text", "no", "--state-refine-file", "refine"];
    let mut refine = agentcli(&flags);
    let refined = parse(refine.args(["-state-dir=s", "--json"]).args(stage));
    assert_eq!(
        (&refined["action"], home.calls()[1]["refine_text"].as_str()),
        (&json!("refined"), Some("from the file"))
    );
    let mut scoped = agentcli(&["-state-dir", "s", "--json"]);
    let scoped = parse(scoped.env("AGENTCLI_STATE_SCOPE", "docs-demo").args(stage));
    assert_eq!(scoped["bundle"]["scope_key"], "docs-demo");
    let mut tilde = agentcli(&["-state-dir", "~/t", "-dry-run"]);
    let plan = parse(&mut tilde)["plan"].take();
    assert_eq!(plan["state_dir"], json!(home.path().join("home/t")));
    assert!(!home.path().join("home/t").exists());
}

#[test]
fn agentcli_refuses_as_the_original_does() {
    let home = Home::new();
    let refused = |arguments: &[&str]| {
        let output = home.ah_alone(&[&["agentcli"], arguments].concat()).output().unwrap();
        assert_eq!(shape(&output), (Some(2), ""), "{arguments:?}: {}", errors(&output));
        errors(&output)
    };
    for flags in [
        &["-state-refine"][..],
        &["-state-refine-text", "x"],
        &["-state-refine-file", "x"],
        &["-state-refine", "-dry-run"],
    ] {
        let said = refused(flags);
        assert!(said.contains("need a state directory") && said.contains("-state-dir"), "{said}");
    }
    assert!(refused(&["-prompt", "x"]).contains("nothing to do"));
    assert!(refused(&["-state-dir", "s", "-state-refine"]).contains("nothing to refine with"));
    let said = refused(&["-state-dir", "s", "-temp", "0.2"]);
    assert!(said.contains("-temp is not supported") && said.contains("-state-scope"), "{said}");
    assert!(refused(&["--api-key", "x"]).contains("OPENAI_API_KEY"));
    assert!(refused(&["-state-dir"]).contains("-state-dir needs a value"));
    let problem = home.ah_alone(&["agentcli", "--json", "-temp", "1"]).output().unwrap();
    let problem: Value = serde_json::from_slice(&problem.stderr).unwrap();
    assert!(problem["detail"].as_str().unwrap().starts_with("-temp is not supported"));
    let none = home.ah_alone(&["agentcli", "-dry-run"]).output().unwrap();
    let plan: Value = serde_json::from_str(&succeeded(&none, "plan")).unwrap();
    assert_eq!((&plan["plan"]["action"], &plan["plan"]["state_dir"]), (&json!("none"), &json!("")));
    let entries: Vec<PathBuf> =
        std::fs::read_dir(home.work()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries, Vec::<PathBuf>::new());
}
