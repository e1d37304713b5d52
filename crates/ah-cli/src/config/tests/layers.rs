//! Which layer decides, and what is told of the others.

use super::*;
use crate::config::explain::Effect;

/// Every layer says something else.
fn all_layers() -> World {
    World::new()
        .flag("--log-level", "log-level", "debug")
        .file(Layer::ConfigFile, "log-level = \"info\"\n")
        .variable("AH_LOG_LEVEL", "error")
        .file(Layer::ProjectUser, "\nlog-level = \"info\"\n")
        .file(Layer::Project, "log-level = \"debug\"\n")
        .file(Layer::User, "# mine\n\nlog-level = \"info\"\n")
        .file(Layer::System, "log-level = \"error\"\n")
}

#[test]
fn without_files_every_setting_has_its_default() {
    let config = World::new().load().unwrap();
    assert_eq!(config.remote_server().unwrap(), None);
    assert_eq!(config.servers(), []);
    assert_eq!(config.default_agent(), "claude-code");
    assert_eq!(config.task_runner(), None);
    assert_eq!(config.durability(), Durability::Full);
    assert_eq!(config.database_url(), None);
    assert_eq!(config.busy_timeout().as_millis(), 10_000);
    assert_eq!(config.color(), Color::Auto);
    assert_eq!(config.log_level(), LogLevel::Info);
    assert!(!config.non_interactive());
}

#[test]
fn every_setting_can_be_set() {
    let config = World::new()
        .file(
            Layer::User,
            "non-interactive = true\n[repo]\ndefault-agent = \"codex@1\"\ntask-runner = \"just\"\n\
             [store]\ndurability = \"normal\"\ndatabase-url = \"postgres://a:b@h/d\"\n\
             busy-timeout-ms = 5\n[ui]\ncolor = \"never\"\n",
        )
        .variable("AH_LOG_LEVEL", "error")
        .load()
        .unwrap();
    assert_eq!(config.default_agent(), "codex@1");
    assert_eq!(config.task_runner(), Some("just"));
    assert_eq!(config.durability(), Durability::Normal);
    assert_eq!(config.database_url(), Some("postgres://a:b@h/d"));
    assert_eq!(config.busy_timeout().as_millis(), 5);
    assert_eq!(config.color(), Color::Never);
    assert_eq!(config.log_level(), LogLevel::Error);
    assert!(config.non_interactive());
}

#[test]
fn the_strongest_layer_wins_and_each_of_them_is_explained() {
    let world = all_layers();
    let config = world.load().unwrap();
    assert_eq!(shown(&config, "log-level"), ("debug".to_owned(), Layer::Flag));
    let rows = config.explain("log-level").unwrap();
    let rows: Vec<_> = rows.iter().map(|row| line(&world, row)).collect();
    assert_eq!(
        rows,
        [
            "flag --log-level debug wins",
            "--config named.toml:1 info hidden",
            "environment AH_LOG_LEVEL error hidden",
            "project-user repo/.agents/config.user.toml:2 info hidden",
            "project repo/.agents/config.toml:1 debug hidden",
            "user home/.config/agent-harbor/config.toml:3 info hidden",
            "system system.toml:1 error hidden",
            "default - info hidden",
        ]
    );
}

#[test]
fn an_enforced_key_is_the_systems_alone() {
    let world =
        all_layers().file(Layer::System, "enforced = [\"log-level\"]\nlog-level = \"error\"\n");
    let config = world.load().unwrap();
    assert_eq!(shown(&config, "log-level"), ("error".to_owned(), Layer::System));
    let effects: Vec<_> =
        config.explain("log-level").unwrap().iter().map(|row| row.effect).collect();
    let mut expected = vec![Effect::Masked; 6];
    expected.extend([Effect::Wins, Effect::Hidden]);
    assert_eq!(effects, expected);
}

#[test]
fn an_enforced_key_the_system_does_not_set_has_its_default() {
    let config = all_layers().file(Layer::System, "enforced = [\"log-level\"]\n").load().unwrap();
    assert_eq!(shown(&config, "log-level"), ("info".to_owned(), Layer::Default));
}

#[test]
fn layers_that_say_nothing_are_explained_with_the_place_they_could_say_it() {
    let world = World::new();
    let config = world.load().unwrap();
    let rows = config.explain("store.database-url").unwrap();
    let rows: Vec<_> = rows.iter().map(|row| line(&world, row)).collect();
    assert_eq!(
        rows,
        [
            "flag - - unset",
            "--config - - unset",
            "environment AH_STORE_DATABASE_URL - unset",
            "project-user repo/.agents/config.user.toml - unset",
            "project repo/.agents/config.toml - unset",
            "user home/.config/agent-harbor/config.toml - unset",
            "system system.toml - unset",
            "default - - unset",
        ]
    );
}

#[test]
fn tables_merge_by_key_and_lists_are_replaced() {
    let server = |name: &str| format!("[[server]]\nname = \"{name}\"\nurl = \"https://{name}\"\n");
    let config = World::new()
        .file(Layer::User, format!("repo.task-runner = \"just\"\n{}", server("mine")))
        .file(Layer::System, format!("[repo]\ndefault-agent = \"codex\"\n{}", server("ours")))
        .load()
        .unwrap();
    assert_eq!(config.task_runner(), Some("just"));
    assert_eq!(config.default_agent(), "codex");
    let names: Vec<_> = config.servers().iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn variables_are_typed_and_empty_ones_are_unset() {
    let config = World::new()
        .variable("AH_STORE_BUSY_TIMEOUT_MS", "25")
        .variable("AH_NON_INTERACTIVE", "1")
        .variable("AH_REPO_TASK_RUNNER", "make")
        .variable("AH_LOG_LEVEL", "")
        .variable("AH_OF_SOMEBODY_ELSE", "x")
        .load()
        .unwrap();
    assert_eq!(config.busy_timeout().as_millis(), 25);
    assert!(config.non_interactive());
    assert_eq!(config.task_runner(), Some("make"));
    assert_eq!(shown(&config, "log-level"), ("info".to_owned(), Layer::Default));
}

#[test]
fn ah_home_replaces_the_users_file() {
    let world = World::new().file(Layer::User, "log-level = \"info\"\n").variable("AH_HOME", "ah");
    fs::create_dir(world.dir.path().join("ah")).unwrap();
    fs::write(world.dir.path().join("ah/config.toml"), "log-level = \"debug\"\n").unwrap();
    assert_eq!(world.load().unwrap().log_level(), LogLevel::Debug);
}

#[test]
fn without_a_home_or_a_repository_those_files_do_not_count() {
    let environment = Environment::of(Os::Linux, Path::new("/"), &[("AH_SYSTEM_CONFIG", "/none")]);
    let config = Config::load(&Sources {
        environment: &environment,
        flags: Vec::new(),
        config_file: None,
        repo_root: None,
    });
    let config = config.unwrap();
    assert_eq!(config.path(Layer::User), None);
    assert_eq!(config.path(Layer::Project), None);
    assert_eq!(config.path(Layer::System), Some(Path::new("/none")));
}

#[test]
fn a_remote_server_is_a_url_or_a_known_name_or_switched_off() {
    let named = "[[server]]\nname = \"work\"\nurl = \"https://harbor\"\n";
    let remote = |value: &str| {
        let world = World::new().file(Layer::User, named).variable("AH_REMOTE_SERVER", value);
        let config = world.load().unwrap();
        let remote = config.remote_server();
        remote.map(|url| url.map(str::to_owned)).map_err(|error| error.to_string())
    };
    assert_eq!(remote("work"), Ok(Some("https://harbor".to_owned())));
    assert_eq!(remote("http://other:1"), Ok(Some("http://other:1".to_owned())));
    let error = "AH_REMOTE_SERVER: unknown server \"wrok\" (known: work)";
    assert_eq!(remote("wrok"), Err(error.to_owned()));
    let off = World::new()
        .file(Layer::User, "remote-server = \"https://h\"\n")
        .file(Layer::Project, "remote-server = \"\"\n");
    assert_eq!(off.load().unwrap().remote_server().unwrap(), None);
}

#[test]
fn a_project_chooses_a_server_by_name_or_url() {
    let named = "server = [{ name = \"work\", url = \"https://harbor\" }]\n";
    let world =
        World::new().file(Layer::User, named).file(Layer::Project, "remote-server = \"work\"\n");
    assert_eq!(world.load().unwrap().remote_server().unwrap(), Some("https://harbor"));
    let world = world.file(Layer::Project, "remote-server = \"https://elsewhere\"\n");
    assert_eq!(world.load().unwrap().remote_server().unwrap(), Some("https://elsewhere"));
}

#[test]
fn the_reference_page_names_every_key_and_variable() {
    let page = reference();
    for key in &KEYS {
        assert!(page.contains(&format!("| `{}` |", key.path)), "{}", key.path);
        assert!(key.variable().is_none_or(|variable| page.contains(&variable)));
    }
    assert!(page.contains("| `AH_SYSTEM_CONFIG` |"));
}

fn line(world: &World, row: &Explained<'_>) -> String {
    let root = format!("{}/", world.dir.path().display());
    let place = row.place.as_ref().map_or("-".to_owned(), |p| p.to_string().replace(&root, ""));
    let value = row.value.map_or("-".to_owned(), Value::to_string);
    format!("{} {place} {value} {}", row.layer, row.effect.as_str())
}
