//! `ah token`, `ah login`: secrets are shown once, kept hashed, and found again.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::Home;

/// Makes a token; its secret, and the token itself.
pub(crate) fn create(home: &Home, arguments: &[&str]) -> (String, Value) {
    let made = home.json(&[&["token", "create"][..], arguments].concat());
    (made["secret"].as_str().unwrap().to_owned(), made["token"].clone())
}

#[test]
fn a_token_is_shown_once_and_only_its_hash_is_kept() {
    let home = Home::new();
    let (secret, token) = create(&home, &["--role", "operator", "--expires", "30d"]);
    let id = token["id"].as_str().unwrap();
    assert!(secret.starts_with(&format!("ah_{id}_")), "{secret}");
    let listed = home.run(&["token", "list", "--json"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains(id) && !text.contains("hash"), "{text}");
    let random = secret.rsplit('_').next().unwrap();
    for file in std::fs::read_dir(home.state()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        let found = bytes.windows(random.len()).any(|part| part == random.as_bytes());
        assert!(!found, "the secret is on disk");
    }
}

#[test]
fn a_token_can_be_revoked_and_an_unknown_one_is_named() {
    let home = Home::new();
    let (_, token) = create(&home, &["--role", "viewer", "--name", "wall"]);
    let id = token["id"].as_str().unwrap();
    let revoked = home.json(&["token", "revoke", id]);
    assert!(revoked["revokedAt"].is_string(), "{revoked}");
    let output = home.run(&["token", "list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("revoked") && text.contains("wall"), "{text}");
    assert_eq!(home.run(&["token", "revoke", "nope"]).status.code(), Some(3));
}

#[test]
fn roles_and_agents_must_fit() {
    let home = Home::new();
    home.create_agent("Robin");
    let (_, token) = create(&home, &["--role", "agent", "--agent", "robin"]);
    assert_eq!(token["agent"], "Robin", "as the agent is called");
    for arguments in [
        &["--role", "king"][..],
        &["--role", "agent"],
        &["--role", "admin", "--agent", "Robin"],
        &["--role", "viewer", "--expires", "soon"],
    ] {
        let output = home.run(&[&["token", "create"][..], arguments].concat());
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    let missing = home.run(&["token", "create", "--role", "agent", "--agent", "nobody"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let home = Home::new();
    home.create_session("s1");
    let file = home.state().join("served.json");
    std::fs::write(&file, "{}").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = home.run(&["session", "list", "--remote-server", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("served.json") && said.contains("600"), "{said}");
}

#[test]
fn a_login_needs_a_token_that_is_one() {
    let home = Home::new();
    let output = home.run(&["login", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    let file = home.path().join("token");
    std::fs::write(&file, "not a token").unwrap();
    let arguments = ["login", "http://127.0.0.1:1", "--token-file", file.to_str().unwrap()];
    let output = home.run(&arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("not a token"), "{output:?}");
    assert_eq!(home.run(&["logout", "http://127.0.0.1:1"]).status.code(), Some(3));
}

/// `ah up` on a port of its own; ends with the test.
pub(crate) struct Up {
    pub(crate) home: Home,
    child: std::process::Child,
    pub(crate) url: String,
}

impl Up {
    pub(crate) fn start() -> Self {
        let home = Home::new();
        let mut command = home.ah(&["up", "--port", "0", "--json"]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"].as_str().unwrap().to_owned();
        Self { home, child, url }
    }

    /// Lists sessions from a home, with a token or without.
    fn list(&self, home: &Home, token: Option<&str>) -> Option<i32> {
        let mut command = home.ah(&["session", "list", "--remote-server", &self.url]);
        if let Some(token) = token {
            command.env("AH_TOKEN", token);
        }
        command.output().unwrap().status.code()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_owner_of_a_server_needs_no_token_others_do_and_the_variable_wins() {
    let up = Up::start();
    let file = up.home.state().join("admin-token");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(up.list(&up.home, None), Some(0), "found by itself");
    assert_eq!(up.list(&up.home, Some("ah_x_y")), Some(5), "what the variable holds counts");
    let stranger = Home::new();
    assert_eq!(up.list(&stranger, None), Some(5));
    let (secret, token) = create(&up.home, &["--role", "viewer"]);
    assert_eq!(up.list(&stranger, Some(&secret)), Some(0));
    let write = ["kv", "set", "a", "b", "--remote-server", &up.url];
    let output = stranger.ah(&write).env("AH_TOKEN", &secret).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "a viewer only looks");
    let revoke = ["token", "revoke", token["id"].as_str().unwrap(), "--remote-server", &up.url];
    up.home.json(&revoke);
    assert_eq!(up.list(&stranger, Some(&secret)), Some(5), "ended at once where it was revoked");
}

#[test]
fn an_agents_token_speaks_for_the_agent_and_says_why_not_for_others() {
    let up = Up::start();
    ["alice", "bob"].iter().for_each(|name| drop(up.home.create_agent(name)));
    let (secret, _) = create(&up.home, &["--role", "agent", "--agent", "alice"]);
    let agent = Home::new();
    let run = |arguments: &[&str]| {
        let mut command = agent.ah(arguments);
        command.args(["--remote-server", &up.url, "--json"]).env("AH_TOKEN", &secret);
        command.output().unwrap()
    };
    let sent = run(&["message", "send", "bob", "hi"]);
    let message: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(message["from"], "alice");
    let forged = run(&["message", "send", "bob", "hi", "--from", "bob"]);
    assert_eq!(forged.status.code(), Some(5));
    let said = String::from_utf8(forged.stderr).unwrap();
    assert!(said.contains("may not write as bob"), "{said}");
    for arguments in [&["message", "recv", "bob"][..], &["approval", "list", "--agent", "bob"]] {
        let output = run(arguments);
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(5) || shown.contains("\"items\":[]"), "{shown}");
    }
}

#[test]
fn a_login_keeps_a_token_and_says_where() {
    let up = Up::start();
    let (secret, _) = create(&up.home, &["--role", "operator"]);
    let stranger = Home::new();
    let file = stranger.path().join("token");
    std::fs::write(&file, &secret).unwrap();
    // No keychain answers here: there is no session bus.
    let login = ["login", &up.url, "--token-file", file.to_str().unwrap()];
    let output = stranger.ah(&login).env_remove("DBUS_SESSION_BUS_ADDRESS").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no keychain can be used"), "said aloud: {said}");
    let kept = stranger.state().join("logins.json");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(up.list(&stranger, None), Some(0));
    stranger.json(&["logout", &up.url]);
    assert_eq!(up.list(&stranger, None), Some(5));
}

#[test]
fn a_project_that_names_a_server_gets_no_token() {
    let up = Up::start();
    let (secret, _) = create(&up.home, &["--role", "operator"]);
    let stranger = Home::new();
    std::fs::create_dir(stranger.work().join(".git")).unwrap();
    std::fs::create_dir(stranger.work().join(".agents")).unwrap();
    let config = format!("remote-server = \"{}\"\n", up.url);
    std::fs::write(stranger.work().join(".agents/config.toml"), config).unwrap();
    let output = stranger.ah(&["session", "list"]).env("AH_TOKEN", &secret).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "the token stays here: {output:?}");
    assert_eq!(up.list(&stranger, Some(&secret)), Some(0), "a server that is typed gets it");
}
