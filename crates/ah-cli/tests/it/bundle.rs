//! `ah bundle`: every verb as people use it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::{Home, piped, succeeded};

/// The scope of model `m` at `http://b` without tools.
const SCOPE: &str = "2fd1b66e9af3558369250fc5904d7208a55c5a9d839ee07603106c2dc653b43c";

/// The verbs that only read, with what they need.
const READERS: [&[&str]; 6] = [
    &["show", "--scope", "x"],
    &["list"],
    &["log", "--scope", "x"],
    &["diff", "aaaaaaaa", "bbbbbbbb"],
    &["verify"],
    &["export"],
];

impl Home {
    /// The state directory `s` of the working directory.
    pub(crate) fn bundles(&self) -> PathBuf {
        self.work().join("s")
    }

    /// `ah bundle VERB --state-dir s …`.
    pub(crate) fn bundle(&self, arguments: &[&str]) -> Value {
        self.json(&at_s(arguments))
    }

    /// Saves a bundle of model `m` with one prompt; what is answered.
    fn saved(&self, prompt: &str) -> Value {
        let prompt = format!("developer={prompt}");
        self.bundle(&["save", "--model", "m", "--base-url", "http://b", "--prompt", &prompt])
    }

    /// Names and bytes of all files of the state directory, with their modes.
    pub(crate) fn bundle_files(&self) -> Vec<(String, u32, Vec<u8>)> {
        let entries = std::fs::read_dir(self.bundles()).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                let name = entry.file_name().into_string().unwrap();
                (name, mode, std::fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

pub(crate) fn at_s<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let (verb, rest) = arguments.split_first().unwrap();
    [&["bundle", verb, "--state-dir", "s"], rest].concat()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Changes a byte of a stored prompt.
fn damage(path: &Path) {
    let bytes = std::fs::read_to_string(path).unwrap().replace("\"developer\"", "\"devel0per\"");
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_saved_bundle_is_shown_listed_and_verified_without_any_store() {
    let home = Home::new();
    let saved = home.saved("Be brief.");
    assert_eq!(saved["bundle"]["scope_key"], SCOPE);
    assert_eq!(saved["bundle"]["prompts"], json!({ "developer": "Be brief." }));
    let shown = home.bundle(&["show", "--model", "m", "--base-url", "http://b"]);
    assert_eq!(shown["sha"], saved["sha"]);
    assert_eq!(shown["bundle"], saved["bundle"]);
    assert_eq!(shown["damage"], json!([]));
    let printed = home.human(&at_s(&["show"]));
    let stored = std::fs::read_to_string(home.bundles().join(text(&saved, "name"))).unwrap();
    assert_eq!(printed, stored + "\n", "for people it is the stored text");
    let listed = home.bundle(&["list"]);
    assert_eq!(listed["items"][0]["name"], saved["name"]);
    assert_eq!(listed["items"][0]["head"], true);
    let verified = home.bundle(&["verify"]);
    assert_eq!((&verified["ok"], &verified["snapshots"]), (&json!(true), &json!(1)));
    assert!(!home.state().exists(), "nothing is made below AH_HOME");
    let modes: Vec<u32> = home.bundle_files().iter().map(|(_, mode, _)| *mode).collect();
    assert!(modes.iter().all(|mode| *mode == 0o600), "{modes:?}");
}

#[test]
fn a_bundle_is_taken_from_a_file_or_stdin_and_flags_win() {
    let home = Home::new();
    let given = r#"{"Model_ID":"m","base_url":"http://b","custom":{"big":9007199254740993},
        "mine":1.50,"prompts":{"system":"s"}}"#;
    let save = at_s(&["save", "-", "--json"]);
    let output = succeeded(&home.feed(&save, given.as_bytes()), "save");
    assert!(output.contains(r#""big":9007199254740993"#), "{output}");
    assert!(output.contains(r#""mine":1.50"#), "{output}");
    assert!(output.contains(SCOPE), "{output}");
    std::fs::write(home.work().join("b.json"), given).unwrap();
    let flags = ["save", "b.json", "--model", "n", "--set", "prep_settings.temperature=0.20"];
    let other = home.bundle(&flags);
    assert_ne!(text(&other["bundle"], "scope_key"), SCOPE, "the scope follows the model");
    assert_eq!(other["bundle"]["prep_settings"]["temperature"], 0.2);
    assert_eq!(other["bundle"]["prompts"], json!({ "system": "s" }));
    std::fs::write(home.work().join("tools.json"), "[]").unwrap();
    let named = home.bundle(&["save", "b.json", "--tools", "tools.json", "--scope", "docs"]);
    assert_eq!(named["bundle"]["scope_key"], "docs");
    assert_eq!(text(&named["bundle"], "toolset_hash").len(), 64);
    // What was printed can be saved again, and stays in its scope.
    let shown = home.human(&at_s(&["show", "--scope", "docs"]));
    let again = home.feed(&at_s(&["save", "-", "--model", "z", "--json"]), shown.as_bytes());
    let again: Value = serde_json::from_str(&succeeded(&again, "again")).unwrap();
    assert_eq!(again["bundle"]["scope_key"], "docs");
    assert_eq!(again["bundle"]["prev_sha"], named["sha"]);
}

#[test]
fn a_snapshot_is_found_by_name_and_by_the_beginning_of_its_hash() {
    let home = Home::new();
    let (first, second) = (home.saved("one"), home.saved("two"));
    let (name, sha) = (text(&first, "name"), text(&first, "sha"));
    for wanted in [name, sha, &sha[..8], &sha[..6]] {
        assert_eq!(home.bundle(&["show", wanted])["sha"], first["sha"], "{wanted}");
    }
    for wanted in ["ffffffff", "x", "../s/latest.json", "latest.json", ""] {
        home.problem(&at_s(&["show", wanted]), 3);
    }
    let changes = home.bundle(&["diff", &sha[..8], &text(&second, "sha")[..8]]);
    let changes = changes["changes"].as_array().unwrap();
    let prompt = changes.iter().find(|change| change["path"] == "prompts.developer").unwrap();
    assert_eq!(*prompt, json!({ "path": "prompts.developer", "before": "one", "after": "two" }));
    let lines = home.human(&at_s(&["diff", name, text(&second, "name")]));
    assert!(
        lines.contains("- prompts.developer: \"one\"\n+ prompts.developer: \"two\"\n"),
        "{lines}"
    );
    let same = home.run(&at_s(&["diff", name, name]));
    assert_eq!((shape(&same), errors(&same).as_str()), ((Some(0), ""), "no difference\n"));
}

#[test]
fn refining_adds_text_and_values_as_a_child() {
    let home = Home::new();
    let first = home.saved("one");
    let refined =
        home.bundle(&["refine", "--text", "two", "--set", "prep_settings.temperature=0.2"]);
    assert_eq!(refined["bundle"]["prev_sha"], first["sha"]);
    assert_eq!(refined["bundle"]["prompts"]["developer"], "one\n\ntwo");
    assert_eq!(refined["bundle"]["prep_settings"], json!({ "temperature": 0.2 }));
    let output = home.feed(&at_s(&["refine", "--file", "-", "--json"]), b"three\n");
    let third: Value = serde_json::from_str(&succeeded(&output, "refine")).unwrap();
    assert_eq!(third["bundle"]["prompts"]["developer"], "one\n\ntwo\n\nthree");
    let log = home.bundle(&["log"]);
    let changed: Vec<&Value> =
        log["entries"].as_array().unwrap().iter().map(|entry| &entry["changed"]).collect();
    let expected =
        [json!(["prompts.developer"]), json!(["prep_settings", "prompts.developer"]), json!([])];
    assert_eq!(changed, expected.iter().collect::<Vec<_>>());
    assert_eq!(log["end"], json!({ "kind": "root" }));
    let before = home.bundle_files();
    for (arguments, code) in [
        (&["refine"][..], 2),
        (&["refine", "--text", " \n"], 2),
        (&["refine", "--text", "a", "--file", "b"], 2),
        (&["refine", "--file", "missing"], 1),
        (&["refine", "--set", "scope_key=x"], 2),
        (&["refine", "--set", "prev_sha=x"], 2),
        (&["refine", "--set", "prompts.a.b=x"], 2),
        (&["refine", "--set", "noequals"], 2),
        (&["refine", "--scope", "other", "--text", "x"], 3),
    ] {
        home.problem(&at_s(arguments), code);
    }
    assert_eq!(home.bundle_files(), before, "what is refused changes nothing");
}

#[test]
fn a_damaged_head_falls_back_and_says_so_and_nothing_is_moved_unasked() {
    let home = Home::new();
    let (first, second) = (home.saved("one"), home.saved("two"));
    damage(&home.bundles().join(text(&second, "name")));
    let before = home.bundle_files();
    let output = home.run(&at_s(&["show"]));
    let said = home.steady_text(&errors(&output));
    assert!(succeeded(&output, "show").contains("\"one\""));
    for part in [
        &format!("warning: {}: its sha256 is ", text(&second, "name")),
        &format!("{} is used", text(&first, "name")),
        "`ah bundle quarantine --state-dir DIR/work/s`",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let shown = home.bundle(&["show"]);
    assert_eq!(shown["sha"], first["sha"]);
    assert_eq!(shown["damage"][0]["file"], second["name"]);
    assert_eq!(shown["damage"][0]["problem"]["kind"], "wrongSha");
    home.refused(&at_s(&["show", text(&second, "name")]), 9);
    let verified = home.run(&at_s(&["verify"]));
    assert_eq!(verified.status.code(), Some(9));
    assert!(shape(&verified).1.contains("DAMAGED"), "{verified:?}");
    assert!(errors(&verified).contains("hint: `ah bundle verify"), "{}", errors(&verified));
    let planned = home.bundle(&["quarantine", "--dry-run"]);
    let moved = planned["moved"].as_array().unwrap();
    assert!(moved.iter().any(|one| one["from"] == second["name"]), "{moved:?}");
    assert_eq!(home.bundle_files(), before, "so far nothing was changed");
    let done = home.bundle(&["quarantine"]);
    assert_eq!(done["moved"], planned["moved"]);
    assert_eq!(home.bundle(&["verify"])["ok"], true);
    assert_eq!(home.bundle(&["show"])["damage"], json!([]));
    for one in moved {
        assert!(home.bundles().join(text(one, "to")).exists(), "what was put aside is kept");
    }
}

#[test]
fn nothing_valid_left_is_not_the_same_as_nothing() {
    let home = Home::new();
    home.bundle(&["save", "--model", "m", "--base-url", "http://b", "--scope", "docs"]);
    let only = home.saved("one");
    damage(&home.bundles().join(text(&only, "name")));
    let detail = home.detail(&at_s(&["show", "--scope", SCOPE]), 9);
    assert!(detail.contains("no valid bundle of scope"), "{detail}");
    let detail = home.detail(&at_s(&["show", "--scope", "other"]), 3);
    assert!(detail.contains("holds nothing for scope \"other\""), "{detail}");
    // Nor when nothing at all can be read of it: its head says whose it is.
    std::fs::write(home.bundles().join(text(&only, "name")), "{").unwrap();
    home.problem(&at_s(&["show", "--scope", SCOPE]), 9);
    home.problem(&at_s(&["show", "--scope", "other"]), 3);
}

#[test]
fn unsafe_places_are_refused_and_mended_on_request_only() {
    let home = Home::new();
    let saved = home.saved("one");
    set_mode(&home.bundles(), 0o755);
    let said = home.refused(&at_s(&["show"]), 5);
    assert!(said.contains("its mode is 0755"), "{said}");
    assert!(said.contains("`ah bundle fix-permissions --state-dir DIR/work/s`"), "{said}");
    home.problem(&at_s(&["save", "--model", "m", "--base-url", "http://b"]), 5);
    let file = home.bundles().join(text(&saved, "name"));
    set_mode(&file, 0o644);
    let planned = home.bundle(&["fix-permissions", "--dry-run"]);
    let mode = std::fs::metadata(home.bundles()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755, "a dry run changes nothing");
    let fixed = home.bundle(&["fix-permissions"]);
    assert_eq!(fixed, planned);
    let expected = json!([
        { "name": ".", "from": "0755", "to": "0700" },
        { "name": text(&saved, "name"), "from": "0644", "to": "0600" },
    ]);
    assert_eq!(fixed["changed"], expected);
    assert_eq!(home.bundle(&["show"])["sha"], saved["sha"]);
    std::os::unix::fs::symlink("s", home.work().join("link")).unwrap();
    for link in ["link", "link/", "link//."] {
        home.problem(&["bundle", "show", "--state-dir", link], 5);
    }
    std::fs::write(home.work().join("file"), "").unwrap();
    home.problem(&["bundle", "list", "--state-dir", "file"], 5);
}

#[test]
fn a_snapshot_others_may_read_is_passed_over_with_the_command_that_helps() {
    let home = Home::new();
    let (first, second) = (home.saved("one"), home.saved("two"));
    set_mode(&home.bundles().join(text(&second, "name")), 0o644);
    let output = home.run(&at_s(&["show"]));
    assert!(errors(&output).contains("`ah bundle fix-permissions --state-dir "), "{output:?}");
    assert_eq!(home.bundle(&["show"])["sha"], first["sha"]);
}

#[test]
fn pruning_keeps_the_newest_and_the_chain_whole() {
    let home = Home::new();
    let all: Vec<Value> = ["a", "b", "c", "d"].iter().map(|text| home.saved(text)).collect();
    let before = home.bundle_files();
    let planned = home.bundle(&["prune", "--keep", "2", "--dry-run"]);
    let removed: Vec<&str> =
        planned["removed"].as_array().unwrap().iter().map(|file| text(file, "name")).collect();
    assert_eq!(removed, [text(&all[1], "name"), text(&all[0], "name")]);
    assert_eq!(home.bundle_files(), before);
    assert_eq!(home.bundle(&["prune", "--keep", "2"]), planned);
    assert_eq!(home.bundle(&["verify"])["ok"], true);
    let log = home.bundle(&["log"]);
    assert_eq!(log["entries"].as_array().unwrap().len(), 2);
    assert_eq!(log["end"]["kind"], "pruned");
    home.problem(&at_s(&["prune", "--keep", "0"]), 2);
    home.problem(&at_s(&["prune"]), 2);
}

#[test]
fn an_export_is_imported_once_and_conflicts_are_told() {
    let home = Home::new();
    home.saved("one");
    home.saved("two");
    let document = home.human(&at_s(&["export"]));
    let done = home.bundle(&["export", "--output", "out.json"]);
    assert_eq!((&done["snapshots"], &done["path"]), (&json!(2), &json!("out.json")));
    let file = home.work().join("out.json");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), document);
    let import = ["bundle", "import", "--state-dir", "t"];
    let imported = home.json(&[&import[..], &["out.json"]].concat());
    assert_eq!((imported["added"].as_array().unwrap().len(), &imported["present"]), (2, &json!(0)));
    let again = home.feed(&[&import[..], &["-", "--json"]].concat(), document.as_bytes());
    let again: Value = serde_json::from_str(&succeeded(&again, "again")).unwrap();
    assert_eq!((&again["added"], &again["present"]), (&json!([]), &json!(2)));
    let shown = |dir: &str| home.json(&["bundle", "show", "--state-dir", dir])["sha"].clone();
    assert_eq!(shown("s"), shown("t"));
    // Both go on by themselves.
    home.saved("three");
    home.json(&["bundle", "refine", "--state-dir", "t", "--text", "other"]);
    let newer = home.human(&at_s(&["export"]));
    let output = home.feed(&[&import[..], &["-"]].concat(), newer.as_bytes());
    assert_eq!(output.status.code(), Some(4), "{}", errors(&output));
    assert!(errors(&output).contains("`ah bundle diff --state-dir "), "{}", errors(&output));
    let damaged = document.replace("one", "0ne");
    for (text, what) in [(damaged.as_str(), "sha256"), ("{}", "missing field"), ("[", "EOF")] {
        let refused = home.feed(&["bundle", "import", "--state-dir", "u", "-"], text.as_bytes());
        assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
        assert!(errors(&refused).contains(what), "{what}: {}", errors(&refused));
    }
    assert!(!home.work().join("u").exists(), "nothing of a bad export is written");
}

#[test]
fn a_scope_is_needed_only_where_there_are_several() {
    let home = Home::new();
    home.saved("one");
    home.bundle(&["save", "--model", "m", "--base-url", "http://b", "--scope", "docs"]);
    let detail = home.detail(&at_s(&["show"]), 2);
    assert!(detail.contains("holds 2 scopes: ") && detail.contains("docs"), "{detail}");
    assert_eq!(home.bundle(&["show", "--scope", "docs"])["bundle"]["scope_key"], "docs");
    let listed = home.bundle(&["list", "--scope", "docs"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    home.problem(&at_s(&["show", "--model", "m"]), 2);
    home.problem(&at_s(&["show", "--scope", " "]), 2);
    let exported = home.bundle(&["export", "--scope", "docs", "--output", "o"]);
    assert_eq!(exported["scopes"], json!(["docs"]));
}

#[test]
fn the_directory_comes_from_flag_variable_or_configuration() {
    let home = Home::new();
    home.saved("one");
    let said = home.refused(&["bundle", "list"], 2);
    assert!(said.contains("AH_BUNDLE_STATE_DIR"), "{said}");
    home.problem(&["bundle", "list", "--state-dir", ""], 2);
    let mut command = home.ah(&["bundle", "list", "--json"]);
    let output = command.env("AH_BUNDLE_STATE_DIR", "s").output().unwrap();
    assert!(succeeded(&output, "list").contains("state-"));
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("config.toml"), "[bundle]\nstate-dir = \"s\"\n").unwrap();
    assert!(home.human(&["bundle", "list"]).contains("state-"));
}

#[test]
fn a_directory_that_is_not_there_is_an_answer_and_is_not_made() {
    let home = Home::new();
    for reader in READERS {
        let detail = home.detail(&at_s(reader), 3);
        assert!(detail.contains("no state yet"), "{reader:?}: {detail}");
    }
    for writer in [&["refine", "--text", "x"][..], &["prune", "--keep", "1"], &["quarantine"]] {
        home.problem(&at_s(writer), 3);
    }
    assert!(!home.bundles().exists());
}

#[test]
fn reading_changes_nothing() {
    let home = Home::new();
    home.saved("one");
    std::fs::remove_file(home.bundles().join(".lock")).unwrap();
    let before = home.bundle_files();
    for reader in READERS {
        home.run(&at_s(reader));
    }
    home.human(&at_s(&["show"]));
    assert_eq!(home.bundle_files(), before);
}

#[test]
fn hostile_input_is_refused_by_name_and_nothing_is_made() {
    let home = Home::new();
    let deep = format!(r#"{{"custom":{{"a":{}}}}}"#, "[".repeat(100_000));
    for (given, reason) in [
        ("", "no valid JSON"),
        ("[]", "no valid JSON"),
        ("{\"custom\":\u{1}}", "no valid JSON"),
        (&deep, "no valid JSON"),
        (r#"{"version":"2"}"#, "its version is \"2\""),
        (r#"{"prompts":{"a":1}}"#, "the prompt \"a\" is a number"),
        (r#"{"prompts":[]}"#, "invalid prompts"),
        (r#"{"model_id":7}"#, "invalid model_id"),
        (r#"{"base_url":"http://b"}"#, "has no model"),
    ] {
        let output = home.feed(&at_s(&["save", "-"]), given.as_bytes());
        assert_eq!(shape(&output), (Some(2), ""), "{given:.40}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{reason} in {}", errors(&output));
    }
    let output = home.feed(&at_s(&["save", "-"]), b"{\"custom\":{\"a\":\"\xff\"}}");
    assert!(errors(&output).contains("not UTF-8"), "{}", errors(&output));
    home.problem(&at_s(&["save", "missing.json"]), 1);
    home.problem(&at_s(&["save", "--model", "m", "--base-url", "b", "--prompt", "=x"]), 2);
    assert!(!home.bundles().exists());
}

#[test]
fn names_that_a_terminal_would_act_on_are_shown_harmless() {
    let home = Home::new();
    let scope = "a\u{1b}[31mb\u{202e}";
    home.bundle(&["save", "--model", "m\u{7}", "--base-url", "http://b", "--scope", scope]);
    for verb in ["list", "verify", "log"] {
        let text = home.human(&at_s(&[verb]));
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{verb}: {text:?}");
    }
    assert_eq!(home.bundle(&["show"])["bundle"]["scope_key"], scope, "programs get it as it is");
}

#[test]
fn secrets_are_neither_stored_nor_shown() {
    let home = Home::new();
    let secret = "kJ83hfKQ02mdLsPq71xZ";
    let set = format!("custom.api_key={secret}");
    let url = format!("http://user:{secret}@b/v1");
    let output = home.run(&at_s(&["save", "--model", "m", "--base-url", &url, "--set", &set]));
    let said = errors(&output) + &succeeded(&output, "save");
    assert!(said.contains("custom.api_key was taken out"), "{said}");
    let stored = home.bundle_files().into_iter().map(|(_, _, bytes)| bytes);
    let stored: String = stored.map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    assert!(!stored.contains(secret) && !said.contains(secret), "{said}{stored}");
    let shown = home.bundle(&["refine", "--set", &set]);
    let redacted: Vec<&Value> =
        shown["redacted"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(redacted, ["custom.api_key"]);
}

#[test]
fn many_processes_save_and_refine_at_once_and_one_chain_holds_them_all() {
    let home = Home::new();
    home.saved("begin");
    let arguments = at_s(&["refine", "--text", "more"]);
    let running: Vec<_> =
        (0..8).map(|_| piped(&mut home.ah(&arguments)).spawn().unwrap()).collect();
    for process in running {
        succeeded(&process.wait_with_output().unwrap(), "refine");
    }
    assert_eq!(home.bundle(&["log"])["entries"].as_array().unwrap().len(), 9);
    let prompt = &home.bundle(&["show"])["bundle"]["prompts"]["developer"];
    assert_eq!(prompt.as_str().unwrap().matches("more").count(), 8, "no refinement is lost");
    assert_eq!(home.bundle(&["verify"])["notes"], json!([]));
}
