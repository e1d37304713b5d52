//! `ah tui` in a real terminal, that of tmux.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::resident::eventually;
use crate::support::{Home, succeeded};

/// A pane in which a shell runs `ah tui` and tells how it ended.
struct Pane {
    directory: std::path::PathBuf,
}

impl Pane {
    fn open(home: &Home, arguments: &[&str]) -> Self {
        let directory = home.path().join("tmux");
        std::fs::create_dir(&directory).unwrap();
        let ah = env!("CARGO_BIN_EXE_ah");
        let sane = "stty -a | tr ';' '\\n' | grep -ow -e '-*icanon' -e '-*echo'";
        let words = arguments.join(" ");
        let script = format!("{ah} tui {words}; echo ended with $?; {sane}; exec sleep 600");
        let mut tmux = home.clean("tmux");
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "100", "-y", "24"]);
        let tmux = tmux.arg(script).env("TMUX_TMPDIR", &directory).env_remove("TMUX");
        succeeded(&tmux.output().unwrap(), "tmux");
        Self { directory }
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        let tmux = tmux.args(words).env("TMUX_TMPDIR", &self.directory).env_remove("TMUX");
        succeeded(&tmux.output().unwrap(), words)
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "t"])
    }

    /// Keys by their names in tmux.
    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "t"], keys].concat());
    }

    fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t", "-l", text]);
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        eventually(|| self.screen().contains(text).then_some(()));
    }

    /// The process of `ah tui`, a child of the shell.
    fn pid(&self) -> String {
        let shell = self.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = format!("/proc/{shell}/task/{shell}/children");
        std::fs::read_to_string(children).unwrap().trim().to_owned()
    }

    /// It ended, and a shell can be used again.
    #[track_caller]
    fn ended_well(&self) {
        self.shows("ended with 0");
        self.shows("icanon");
        let screen = self.screen();
        assert!(!screen.contains("-icanon") && !screen.contains("-echo"), "{screen}");
        assert!(!screen.contains("Needs me"), "the screen of before is back:\n{screen}");
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        let _ = tmux.arg("kill-server").env("TMUX_TMPDIR", &self.directory).output();
    }
}

#[test]
fn a_question_is_answered_in_a_terminal_that_is_given_back() {
    let home = Home::new();
    home.create_agent("alice");
    let words = ["question", "ask", "Which pier?", "--from", "alice"];
    let options = ["--option", "North", "--option", "South"];
    let asked = home.json(&[&words[..], &options].concat());
    let pane = Pane::open(&home, &["--mouse"]);
    pane.shows("Which pier?");
    pane.press(&["Enter"]);
    pane.shows("○ South");
    pane.press(&["Down", "Enter"]);
    pane.shows("answered alice: South");
    let id = asked["id"].as_str().unwrap();
    assert_eq!(home.json(&["question", "show", id])["answer"]["values"][0], "South");
    // What another program does shows up by itself.
    home.json(&["approval", "request", "--agent", "alice", "--kind", "travel"]);
    pane.shows("alice asks for travel");
    pane.press(&["4", "Enter"]);
    pane.type_text("half a tho");
    pane.shows("half a tho");
    pane.press(&["Escape"]);
    pane.shows("take up draft");
    pane.press(&["q"]);
    pane.ended_well();
    let drafts = home.json(&["draft", "list"]);
    assert_eq!(drafts["items"][0]["description"], "half a tho");
}

#[test]
fn a_terminal_is_given_back_when_the_window_is_asked_to_end() {
    let home = Home::new();
    let pane = Pane::open(&home, &[]);
    pane.shows("Nothing needs you");
    succeeded(&Command::new("kill").args(["-TERM", &pane.pid()]).output().unwrap(), "kill");
    pane.ended_well();
}

/// A server at an address that it gets again.
struct Server(Child);

impl Server {
    fn start(home: &Home, bind: &str) -> Self {
        let mut command = home.ah(&["agent", "access-point", "--no-auth", "--bind", bind]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_window_outlives_its_server_and_catches_up() {
    let (served, home) = (Home::new(), Home::new());
    served.create_agent("alice");
    served.json(&["approval", "request", "--agent", "alice", "--kind", "travel"]);
    let bind = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut server = Server::start(&served, &bind);
    let pane = Pane::open(&home, &["--remote-server", &format!("http://{bind}")]);
    pane.shows("alice asks for travel");
    pane.press(&["d"]);
    pane.type_text("not on a Fri");
    pane.shows("> not on a Fri");
    server.kill();
    pane.shows("server gone - trying again");
    pane.type_text("day");
    pane.press(&["Enter"]);
    pane.shows("Enter tries again");
    served.json(&["approval", "request", "--agent", "alice", "--kind", "holiday"]);
    let _server = Server::start(&served, &bind);
    pane.shows("holiday");
    pane.shows("> not on a Friday");
    pane.press(&["Enter"]);
    pane.shows("travel of alice is denied: not on a Friday");
    pane.press(&["q"]);
    pane.ended_well();
}

#[test]
fn without_a_terminal_other_commands_are_named() {
    let home = Home::new();
    for more in [&[][..], &["--json"]] {
        let output = home.run(&[&["tui"], more].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("needs a terminal") && said.contains("ah status"), "{said}");
    }
}

#[test]
fn a_task_is_queued_from_the_window_as_the_command_would() {
    let home = Home::new();
    std::fs::create_dir(home.work().join(".git")).unwrap();
    let pane = Pane::open(&home, &[]);
    pane.shows("Nothing needs you");
    pane.press(&["4", "Enter"]);
    pane.type_text("say hello");
    pane.press(&["Tab", "C-u"]);
    pane.type_text("scripted");
    pane.press(&["C-s"]);
    pane.shows("is recorded; 3 shows its session");
    pane.press(&["q"]);
    pane.ended_well();
    assert_eq!(home.json(&["draft", "list"])["items"], serde_json::json!([]));
    let of = |home: &Home| {
        let run = home.json(&["run", "list"])["items"][0].clone();
        let task = home.json(&["task", "list"])["items"][0].clone();
        let session = home.json(&["session", "show", task["sessionId"].as_str().unwrap()]);
        let parts = [&run["demands"], &run["parameters"], &run["status"], &task["prompt"]];
        let parts = parts.map(Clone::clone);
        (parts, session["title"].clone(), session["repo"].clone(), session["projectDir"].clone())
    };
    let sent = of(&home);
    home.json(&["task", "create", "--prompt", "say hello", "--agent", "scripted", "--queue"]);
    assert_eq!(home.json(&["task", "list"])["items"].as_array().unwrap().len(), 2);
    assert_eq!(sent, of(&home));
}
