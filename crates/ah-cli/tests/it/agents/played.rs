//! A turn of a real program with our hooks in its settings, or what was recorded of one where the
//! program is not installed.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::model::{Model, Script, Step};
use crate::support::{Home, piped, succeeded};

/// Far more than a turn takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whose program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ClaudeCode,
    Codex,
}

impl Tool {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The program that `cargo xtask agents` names; nothing, said aloud, where there is none.
    #[expect(
        clippy::disallowed_methods,
        clippy::print_stderr,
        reason = "who starts the tests names the program, and is told where it is not used"
    )]
    fn program(self) -> Option<PathBuf> {
        let variable = match self {
            Self::ClaudeCode => "AH_TEST_CLAUDE",
            Self::Codex => "AH_TEST_CODEX",
        };
        let program = std::env::var_os(variable).filter(|path| !path.is_empty());
        if program.is_none() {
            eprintln!("{variable} names no program: what was recorded of one is tested instead");
        }
        program.map(PathBuf::from)
    }

    /// Where its transcripts are, below its home.
    fn place(self) -> &'static str {
        match self {
            Self::ClaudeCode => ".claude/projects",
            Self::Codex => ".codex/sessions",
        }
    }

    /// A call of its shell.
    fn shell(self, step: Step, command: &str) -> Step {
        match self {
            Self::ClaudeCode => {
                step.call("Bash", &serde_json::json!({ "command": command }).to_string())
            }
            Self::Codex => {
                step.call("exec_command", &serde_json::json!({ "cmd": command }).to_string())
            }
        }
    }

    /// The program, about to do what it is asked for.
    fn command(self, home: &Home, program: &Path, model: &Model, prompt: &str) -> Command {
        let mut command = home.clean(program);
        match self {
            Self::ClaudeCode => {
                let settings = ["--model", "claude-test-1", "--allowedTools", "Bash,Task"];
                command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
                command.args(settings).env("ANTHROPIC_BASE_URL", model.url());
                command.env("ANTHROPIC_API_KEY", "test").env("DISABLE_TELEMETRY", "1");
                command.env("DISABLE_AUTOUPDATER", "1").env("DISABLE_ERROR_REPORTING", "1");
                command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
                command.env_remove("CLAUDE_CONFIG_DIR").env_remove("CLAUDECODE");
            }
            Self::Codex => {
                let config = format!(
                    "model = \"gpt-test-1\"\nmodel_provider = \"test\"\n[model_providers.test]\nname = \"test\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"TEST_KEY\"\n",
                    model.url()
                );
                let place = home.path().join("home/.codex");
                std::fs::create_dir_all(&place).unwrap();
                std::fs::write(place.join("config.toml"), config).unwrap();
                command.args(["exec", "--json", "--skip-git-repo-check"]);
                command.args(["--dangerously-bypass-hook-trust"]);
                command.args(["--dangerously-bypass-approvals-and-sandbox", prompt]);
                command.env("TEST_KEY", "test").env_remove("CODEX_HOME");
            }
        }
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    fn script(self) -> Vec<Script> {
        let pair =
            self.shell(self.shell(Step::say("first a pair"), "echo one"), "echo two; exit 3");
        let mut steps = vec![pair];
        if self == Self::ClaudeCode {
            let task = r#"{"description":"look","prompt":"CHILDTASK","subagent_type":"general-purpose","run_in_background":false}"#;
            steps.push(Step::default().call("Task", task));
        }
        steps.push(Step::say("all done"));
        let child = vec![self.shell(Step::default(), "echo below"), Step::say("child done")];
        let (main, child) =
            (Script { word: "MAINTASK", steps }, Script { word: "CHILDTASK", steps: child });
        vec![main, child]
    }
}

/// A turn that was recorded through hooks, with its stream and transcript.
pub(crate) struct Played {
    pub(crate) home: Home,
    pub(crate) tool: Tool,
    /// The id of its session there.
    pub(crate) session: String,
    pub(crate) stream: Vec<u8>,
    pub(crate) transcripts: PathBuf,
    /// Whether a real program did it: then it is known what was said.
    pub(crate) real: bool,
}

impl Played {
    /// A turn with two calls at once, one of which fails, and an end.
    pub(crate) fn whole(tool: Tool) -> Self {
        let home = Home::new();
        match tool.program() {
            Some(program) => {
                home.json(&["hooks", "install", tool.kind(), "--user"]);
                let model = Model::start(tool.script());
                let mut command = tool.command(&home, &program, &model, "MAINTASK please");
                let output = command.output().unwrap();
                succeeded(&output, (tool, model.requests()));
                let transcripts = home.path().join("home").join(tool.place());
                Self::of(home, tool, output.stdout, transcripts, true)
            }
            None => {
                tell(&home, tool, &read(&recorded(tool, "hooks/tools.jsonl")));
                let stream = read(&recorded(tool, "stream/tools.jsonl"));
                let version = match tool {
                    Tool::ClaudeCode => "2.1.325",
                    Tool::Codex => "0.166.0",
                };
                Self::of(home, tool, stream, recorded(tool, version), false)
            }
        }
    }

    /// A turn whose program is killed while its tool runs.
    pub(crate) fn killed(tool: Tool) -> Self {
        let home = Home::new();
        let Some(program) = tool.program() else { return Self::cut(home, tool) };
        home.json(&["hooks", "install", tool.kind(), "--user"]);
        let begun = home.work().join("begun");
        let steps = vec![tool.shell(Step::say("a long one"), "touch begun; sleep 20")];
        let model = Model::start(vec![Script { word: "MAINTASK", steps }]);
        let stream = home.path().join("stream");
        let mut child = tool
            .command(&home, &program, &model, "MAINTASK please")
            .stdout(std::fs::File::create(&stream).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while !begun.exists() {
            assert!(began.elapsed() < PATIENCE, "{tool:?} never called: {:?}", model.requests());
            assert!(child.try_wait().unwrap().is_none(), "{tool:?} ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
        child.wait().unwrap();
        let transcripts = home.path().join("home").join(tool.place());
        Self::of(home, tool, read(&stream), transcripts, true)
    }

    /// What was recorded, up to the first call.
    fn cut(home: Home, tool: Tool) -> Self {
        let mark = match tool {
            Tool::ClaudeCode => "\"type\":\"tool_use\"",
            Tool::Codex => "\"type\":\"function_call\"",
        };
        let until = |text: &str, mark: &str| {
            let count = text.lines().position(|line| line.contains(mark)).unwrap() + 1;
            text.split_inclusive('\n').take(count).collect::<String>()
        };
        let hooks = String::from_utf8(read(&recorded(tool, "hooks/basic.jsonl"))).unwrap();
        tell(&home, tool, until(&hooks, "\"PreToolUse\"").as_bytes());
        let stream = read(&recorded(tool, "stream/basic.jsonl"));
        let stream: Vec<_> = stream.split_inclusive(|byte| *byte == b'\n').take(6).collect();
        let name = match tool {
            Tool::ClaudeCode => {
                "2.1.325/-home-dev-project/10000000-0000-4000-8000-000000000001.jsonl"
            }
            Tool::Codex => {
                "0.166.0/2026/11/15/rollout-2026-11-15T07-26-00-01a1de19-4430-7be1-ae55-5bf887926e62.jsonl"
            }
        };
        let whole = String::from_utf8(read(&recorded(tool, name))).unwrap();
        let place = home.path().join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, until(&whole, mark)).unwrap();
        let root = home.path().join(name.split('/').next().unwrap());
        Self::of(home, tool, stream.concat(), root, false)
    }

    fn of(home: Home, tool: Tool, stream: Vec<u8>, transcripts: PathBuf, real: bool) -> Self {
        // A busy machine keeps calls in files.
        home.json(&["hooks", "drain"]);
        let name = match tool {
            Tool::ClaudeCode => "session_id",
            Tool::Codex => "thread_id",
        };
        let lines = stream.split(|byte| *byte == b'\n');
        let mut said = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let session = said.find_map(|line| Some(line[name].as_str()?.to_owned())).unwrap();
        Self { home, tool, session, stream, transcripts, real }
    }

    /// Imports the transcript into the store of `home`; what the import reports.
    pub(crate) fn import(&self, home: &Home) -> Value {
        home.json(&["import", self.tool.kind(), self.transcripts.to_str().unwrap()])
    }
}

/// What was recorded of a real program.
fn recorded(tool: Tool, name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-import/tests/it/fixtures");
    fixtures.join(tool.kind()).join(name)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Calls the hook with each payload.
fn tell(home: &Home, tool: Tool, payloads: &[u8]) {
    for payload in payloads.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut child = piped(&mut home.ah(&["hook", tool.kind()])).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload).unwrap();
        succeeded(&child.wait_with_output().unwrap(), "hook");
    }
}
