//! What is wrong with a file or variable is said with its place.

use super::*;

const USER: &str = "home/.config/agent-harbor/config.toml";

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = World::new().file(Layer::User, text).error();
    assert_eq!(error, format!("{USER}:{expected}"));
}

#[test]
fn unknown_keys_are_named_with_the_key_that_was_meant() {
    check(
        "# one\n\nremote-sever = \"x\"\n",
        "3: unknown key \"remote-sever\" (did you mean \"remote-server\"?)",
    );
    check(
        "[repo]\ntask-runer = \"x\"\n",
        "2: unknown key \"repo.task-runer\" (did you mean \"repo.task-runner\"?)",
    );
    check("\n[stor]\nx = 1\n", "2: unknown key \"stor\" (did you mean \"store\"?)");
    check("weather = 1\n", "1: unknown key \"weather\"");
    check("repo = { wind = 1 }\n", "1: unknown key \"repo.wind\"");
}

#[test]
fn a_quoted_dot_does_not_make_a_path() {
    check(
        "\"repo.task-runner\" = \"x\"\n",
        "1: unknown key \"\\\"repo.task-runner\\\"\" (did you mean \"repo.task-runner\"?)",
    );
}

#[test]
fn values_of_another_type_are_refused() {
    check("\nlog-level = 3\n", "2: log-level must be text, not an integer");
    check("log-level = \"loud\"\n", "1: log-level must be one of error, info, debug, not \"loud\"");
    check(
        "[store]\nbusy-timeout-ms = \"5\"\n",
        "2: store.busy-timeout-ms must be a whole number from 0 to 600000, not a string",
    );
    check(
        "[store]\nbusy-timeout-ms = -5\n",
        "2: store.busy-timeout-ms must be a whole number from 0 to 600000, not -5",
    );
    check("non-interactive = \"yes\"\n", "1: non-interactive must be true or false, not a string");
    check("repo = 3\n", "1: repo must be a table, not an integer");
    check("[log-level]\n", "1: log-level must be text, not a table");
    check(
        "[repo]\ndefault-agent = \"no such\"\n",
        "2: repo.default-agent must be an agent kind, NAME or NAME@VERSION, not \"no such\"",
    );
}

#[test]
fn a_text_in_the_wrong_place_may_be_a_secret_and_is_not_shown() {
    let error = World::new().file(Layer::User, "[store]\ndatabase-url = [\"s3cret\"]\n").error();
    assert_eq!(error, format!("{USER}:2: store.database-url must be text, not an array"));
}

#[test]
fn servers_are_checked_one_by_one() {
    let good = "[[server]]\nname = \"a\"\nurl = \"https://a\"\n";
    check(
        &format!("{good}[[server]]\nname = \"b\"\nulr = \"https://b\"\n"),
        "4: server must be tables with name and url only, without \"ulr\"",
    );
    check(
        &format!("{good}{good}"),
        "4: server must be tables with different names (\"a\" is there twice)",
    );
    check(
        "server = [{ name = \"a\" }]\n",
        "1: server must be tables with a name and a url like https://host",
    );
    check("server = \"a\"\n", "1: server must be a list of [[server]] tables");
}

#[test]
fn text_that_is_not_toml_is_refused_with_line_and_column() {
    let error = World::new().file(Layer::User, "a = 1\nlog-level = = 3\n").error();
    assert!(error.starts_with(&format!("{USER}:2:13: ")), "{error}");
    assert!(!error.contains('\n'), "{error}");
    let error = World::new().file(Layer::User, b"# \xc3\xa4\n# \xff\n").error();
    assert_eq!(error, format!("{USER}:2:3: not valid UTF-8"));
}

#[test]
fn a_huge_file_is_refused() {
    let error = World::new().file(Layer::User, "#".repeat(1024 * 1024 + 1)).error();
    assert_eq!(error, format!("{USER} is larger than 1048576 bytes"));
}

#[test]
fn a_directory_in_place_of_a_file_is_unreadable() {
    let world = World::new();
    fs::create_dir_all(world.path(Layer::User)).unwrap();
    assert_eq!(world.error(), format!("{USER} cannot be read"));
}

#[test]
fn a_file_in_place_of_a_directory_counts_as_absent() {
    let world = World::new();
    fs::create_dir_all(world.dir.path().join("home")).unwrap();
    fs::write(world.dir.path().join("home/.config"), "").unwrap();
    world.load().unwrap();
}

#[test]
fn a_named_file_must_exist() {
    let mut world = World::new();
    world.config_file = Some(PathBuf::from("nowhere.toml"));
    assert_eq!(world.error(), "--config file nowhere.toml does not exist");
}

#[test]
fn variables_and_flags_are_named_with_their_value() {
    assert_eq!(
        World::new().variable("AH_STORE_BUSY_TIMEOUT_MS", "soon").error(),
        "AH_STORE_BUSY_TIMEOUT_MS: store.busy-timeout-ms must be a whole number from 0 to 600000, \
         not \"soon\""
    );
    assert_eq!(
        World::new().flag("--color", "ui.color", "pink").error(),
        "--color: ui.color must be one of auto, always, never, not \"pink\""
    );
}

#[test]
fn keys_stand_only_in_the_files_they_may() {
    assert_eq!(
        World::new().file(Layer::User, "enforced = [\"log-level\"]\n").error(),
        format!("{USER}:1: enforced is not allowed in the user file")
    );
    assert_eq!(
        World::new().file(Layer::ProjectUser, "[store]\ndatabase-url = \"x\"\n").error(),
        "repo/.agents/config.user.toml:2: store.database-url is not allowed in the project-user \
         file"
    );
}

#[test]
fn an_enforced_key_must_exist() {
    let world = World::new().file(Layer::System, "\nenforced = [\"log-levle\"]\n");
    let expected = "system.toml:2: unknown key \"log-levle\" (did you mean \"log-level\"?)";
    assert_eq!(world.error(), expected);
}

#[test]
fn asking_for_an_unknown_key_suggests_one() {
    let config = World::new().load().unwrap();
    let expected = "unknown key \"log-levl\" (did you mean \"log-level\"?)";
    assert_eq!(config.get("log-levl").unwrap_err().to_string(), expected);
    assert_eq!(config.explain("log-levl").unwrap_err().to_string(), expected);
}
