//! Setting and removing keys in files.

use super::*;

#[track_caller]
fn check_set(before: &str, key: &str, value: &str, after: &str) {
    let world = World::new().file(Layer::User, before);
    let config = world.load().unwrap();
    assert_eq!(config.set(Layer::User, key, value).unwrap(), world.path(Layer::User));
    assert_eq!(world.text(Layer::User), after);
    let layer = Layer::User;
    assert_eq!(shown(&world.load().unwrap(), key), (value.to_owned(), layer));
}

#[track_caller]
fn check_unset(before: &str, key: &str, after: &str) {
    let world = World::new().file(Layer::User, before);
    let config = world.load().unwrap();
    assert_eq!(config.unset(Layer::User, key).unwrap(), Removed::Yes);
    assert_eq!(world.text(Layer::User), after);
    assert_eq!(config.unset(Layer::User, key).unwrap(), Removed::WasNotSet);
}

#[test]
fn setting_keeps_comments_and_layout() {
    check_set(
        "# mine\nlog-level   =  'info' # for now\n\n[ui] # looks\ncolor = \"auto\"\n",
        "log-level",
        "debug",
        "# mine\nlog-level   =  \"debug\" # for now\n\n[ui] # looks\ncolor = \"auto\"\n",
    );
}

#[test]
fn a_key_joins_its_table_however_that_is_written() {
    check_set(
        "[repo]\n# agent\ndefault-agent = \"codex\"\n",
        "repo.task-runner",
        "just",
        "[repo]\n# agent\ndefault-agent = \"codex\"\ntask-runner = \"just\"\n",
    );
    check_set(
        "repo.default-agent = \"codex\"\n",
        "repo.task-runner",
        "just",
        "repo.default-agent = \"codex\"\nrepo.task-runner = \"just\"\n",
    );
    check_set(
        "repo = { default-agent = \"codex\" }\n",
        "repo.task-runner",
        "just",
        "repo = { default-agent = \"codex\" , task-runner = \"just\" }\n",
    );
    check_set(
        "log-level = \"info\"\n",
        "store.busy-timeout-ms",
        "7",
        "log-level = \"info\"\n\n[store]\nbusy-timeout-ms = 7\n",
    );
}

#[test]
fn the_first_key_goes_below_the_comments_of_an_empty_file() {
    check_set("# mine", "log-level", "debug", "# mine\nlog-level = \"debug\"\n");
}

#[test]
fn texts_are_written_as_valid_toml() {
    let world = World::new();
    let odd = "a \"b\" \\ \n é # x";
    world.load().unwrap().set(Layer::User, "repo.task-runner", odd).unwrap();
    assert_eq!(world.load().unwrap().task_runner(), Some(odd));
}

#[test]
fn removing_takes_the_line_and_leaves_the_comments() {
    check_unset(
        "# my settings\n\nlog-level = \"info\" # loud\n# below\n[repo]\n",
        "log-level",
        "# my settings\n\n# below\n[repo]\n",
    );
    check_unset(
        "repo.task-runner = \"\"\"\nmany\nlines\"\"\"\nlog-level = \"info\"",
        "repo.task-runner",
        "log-level = \"info\"",
    );
    check_unset("log-level = \"info\"", "log-level", "");
    check_unset(
        "repo = { task-runner = \"x\", default-agent = \"codex\" }\n",
        "repo.task-runner",
        "repo = { default-agent = \"codex\" }\n",
    );
    check_unset(
        "log-level = \"info\"\n[[server]]\nname = \"a\"\nurl = \"https://a\"\n",
        "server",
        "log-level = \"info\"\n",
    );
}

#[test]
fn removing_from_an_absent_file_creates_none() {
    let world = World::new();
    let config = world.load().unwrap();
    assert_eq!(config.unset(Layer::User, "log-level").unwrap(), Removed::WasNotSet);
    assert!(!world.path(Layer::User).exists());
}

#[test]
fn an_unfit_value_changes_nothing() {
    let world = World::new().file(Layer::User, "log-level = \"info\"\n");
    let config = world.load().unwrap();
    let error = config.set(Layer::User, "store.busy-timeout-ms", "soon").unwrap_err();
    let expected = "store.busy-timeout-ms must be a whole number from 0 to 600000, not \"soon\"";
    assert_eq!(error.to_string(), expected);
    let error = config.set(Layer::User, "server", "a=b").unwrap_err();
    let expected = "server must be edited in the file, as [[server]] tables, not \"a=b\"";
    assert_eq!(error.to_string(), expected);
    assert_eq!(world.text(Layer::User), "log-level = \"info\"\n");
}

#[test]
fn a_file_that_was_broken_meanwhile_is_left_as_it_is() {
    let world = World::new();
    let config = world.load().unwrap();
    let world = world.file(Layer::User, "repo = 3\n");
    let error = config.set(Layer::User, "repo.task-runner", "just").unwrap_err();
    let expected = "home/.config/agent-harbor/config.toml:1: repo must be a table, not an integer";
    assert_eq!(world.cut(&error), expected);
    assert_eq!(world.text(Layer::User), "repo = 3\n");
}

#[test]
fn an_enforced_key_is_set_in_the_system_file_only() {
    let world = World::new().file(Layer::System, "enforced = [\"log-level\"]\n");
    let config = world.load().unwrap();
    let error = config.set(Layer::User, "log-level", "debug").unwrap_err();
    assert_eq!(world.cut(&error), "log-level is enforced by system.toml:1");
    assert!(config.unset(Layer::User, "log-level").is_err());
    config.set(Layer::System, "log-level", "debug").unwrap();
    assert_eq!(shown(&world.load().unwrap(), "log-level"), ("debug".to_owned(), Layer::System));
}

#[test]
fn keys_are_not_set_where_they_may_not_stand() {
    let world = World::new();
    let config = world.load().unwrap();
    let error = config.set(Layer::Project, "store.database-url", "x").unwrap_err();
    let expected =
        "repo/.agents/config.toml: store.database-url is not allowed in the project file";
    assert_eq!(world.cut(&error), expected);
    config.set(Layer::System, "enforced", "log-level, ui.color").unwrap();
    assert_eq!(world.text(Layer::System), "enforced = [\"log-level\", \"ui.color\"]\n");
    assert!(config.set(Layer::System, "enforced", "log-levle").is_err());
}

#[test]
fn layers_without_a_file_cannot_be_changed() {
    let config = World::new().load().unwrap();
    let error = config.set(Layer::Environment, "log-level", "debug").unwrap_err();
    assert_eq!(error.to_string(), "there is no environment file to change");
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_user_file_is_private_and_a_project_file_is_shared() {
        let world = World::new();
        let config = world.load().unwrap();
        config.set(Layer::User, "log-level", "debug").unwrap();
        let path = world.path(Layer::User);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        config.set(Layer::Project, "log-level", "debug").unwrap();
        assert_eq!(mode(&world.path(Layer::Project)), 0o644);
    }

    #[test]
    fn an_existing_file_keeps_its_mode_and_leaves_nothing_beside_it() {
        let world = World::new().file(Layer::User, "");
        let path = world.path(Layer::User);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        world.load().unwrap().set(Layer::User, "log-level", "debug").unwrap();
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_symbolic_link_stays_one() {
        let world = World::new().file(Layer::User, "");
        let path = world.path(Layer::User);
        let dotfile = world.dir.path().join("dotfile.toml");
        fs::rename(&path, &dotfile).unwrap();
        symlink(&dotfile, &path).unwrap();
        world.load().unwrap().set(Layer::User, "log-level", "debug").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&dotfile).unwrap(), "log-level = \"debug\"\n");
    }
}
