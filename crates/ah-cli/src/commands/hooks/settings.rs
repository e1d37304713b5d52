//! Where coding agents keep their hooks, which of them we take, and how long each may take.

use std::path::{Path, PathBuf};

use ah_import::HookTool;
use ah_model::to_hex;
use serde_json::{Value, json};

use super::edit;
use crate::app::App;
use crate::commands::hook::TIMEOUT_SECONDS;
use crate::config::{Access, write, write_private};
use crate::detect;
use crate::error::{CommandError, Exit};

/// Largest settings that are read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a hook may take in seconds: far more than it does.
const SECONDS: u64 = 10;
/// Codex allows no more at the end of a session.
const CODEX_END_SECONDS: u64 = 3;

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    User,
    Project,
}

impl Scope {
    pub(super) const ALL: [Self; 2] = [Self::User, Self::Project];
}

/// One hook to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    pub(super) event: &'static str,
    command: String,
    timeout: u64,
}

impl Hook {
    /// As it stands in settings.
    pub(super) fn handler(&self) -> Value {
        json!({ "type": "command", "command": self.command, "timeout": self.timeout })
    }
}

/// The settings of one coding agent.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) tool: HookTool,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    /// What they were before our hooks came.
    backup: PathBuf,
}

impl Settings {
    pub(super) fn of(app: &App, tool: HookTool, scope: Scope) -> Result<Self, CommandError> {
        let (variable, directory, file) = place(tool);
        let path = match scope {
            Scope::User => app.environment.program_dir(variable, directory)?.join(file),
            Scope::Project => project(app)?.join(directory).join(file),
        };
        let hash = to_hex(path.as_os_str().as_encoded_bytes());
        let hash = hash.get(hash.len().saturating_sub(120)..).unwrap_or(&hash);
        let backups = app.environment.state_dir()?.join("hooks").join("settings");
        Ok(Self { tool, scope, path, backup: backups.join(hash).with_extension("before") })
    }

    /// The text; nothing when there is no file.
    pub(super) fn read(&self) -> Result<Option<String>, CommandError> {
        read(&self.path)
    }

    pub(super) fn write(&self, text: &str) -> Result<(), CommandError> {
        let access = match self.scope {
            Scope::User => Access::Private,
            Scope::Project => Access::Shared,
        };
        write(&self.path, access, text).map_err(|error| self.failed("write", &error))
    }

    pub(super) fn delete(&self) -> Result<(), CommandError> {
        std::fs::remove_file(&self.path).map_err(|error| self.failed("remove", &error))
    }

    /// Keeps what was there before; where.
    pub(super) fn keep(&self, before: &str) -> Result<&Path, CommandError> {
        write_private(&self.backup, before)
            .map_err(|error| CommandError::file("write", &self.backup, &error))?;
        Ok(&self.backup)
    }

    pub(super) fn kept(&self) -> Option<String> {
        read(&self.backup).ok().flatten()
    }

    pub(super) fn forget(&self) {
        // One that stays is not used: it does not fit what comes later.
        let _ = std::fs::remove_file(&self.backup);
    }

    /// Settings that cannot be edited stay as they are.
    pub(super) fn refused(&self, reason: &str) -> CommandError {
        let path = self.path.display();
        CommandError::new(Exit::Conflict, format!("{path} {reason}; nothing was changed"))
            .hint(format!("correct {path}, or move it away, and try again"))
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> CommandError {
        CommandError::file(what, &self.path, error)
    }

    /// Our hooks that are in it.
    pub(super) fn ours(&self, text: &str) -> Result<Vec<(String, Value)>, CommandError> {
        edit::ours(text, |command| is_ours(command, self.tool))
            .map_err(|reason| self.refused(&reason))
    }

    /// The text without our hooks.
    pub(super) fn without(&self, text: &str) -> Result<String, CommandError> {
        edit::remove(text, |command| is_ours(command, self.tool))
            .map_err(|reason| self.refused(&reason))
    }

    /// The text with our hooks.
    pub(super) fn with(&self, text: &str, hooks: &[Hook]) -> Result<String, CommandError> {
        edit::install(text, hooks).map_err(|reason| self.refused(&reason))
    }
}

fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let failed = |error: &std::io::Error| CommandError::file("read", path, error);
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
        Ok(found) if found.len() > BYTES_MAX => {
            let message = format!("{} is larger than {BYTES_MAX} bytes", path.display());
            return Err(CommandError::new(Exit::Conflict, message));
        }
        Ok(_) => {}
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| failed(&error))
}

/// The variable that names an agent's directory, that directory below the home or project, and the
/// file in it that hooks are in.
fn place(tool: HookTool) -> (Option<&'static str>, &'static str, &'static str) {
    match tool {
        HookTool::ClaudeCode => (Some("CLAUDE_CONFIG_DIR"), ".claude", "settings.json"),
        HookTool::Codex => (Some("CODEX_HOME"), ".codex", "hooks.json"),
        HookTool::Gemini => (None, ".gemini", "settings.json"),
        HookTool::Goose => (None, ".agents", "plugins/agent-harbor/hooks/hooks.json"),
    }
}

fn project(app: &App) -> Result<PathBuf, CommandError> {
    let current = app.current_dir()?;
    let root = detect::find_root(current).ok().flatten();
    Ok(root.map_or_else(|| current.to_owned(), |root| root.path))
}

/// The events that an agent tells of; not those that repeat what others tell.
fn events(tool: HookTool) -> &'static [&'static str] {
    match tool {
        HookTool::ClaudeCode => &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PermissionRequest",
            "Notification",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
        ],
        HookTool::Codex => &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PermissionRequest",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
        ],
        HookTool::Gemini => &[
            "SessionStart",
            "SessionEnd",
            "BeforeAgent",
            "AfterAgent",
            "BeforeTool",
            "AfterTool",
            "Notification",
        ],
        HookTool::Goose => &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
        ],
    }
}

/// The hooks to install, with this program and these words behind it.
pub(super) fn hooks(tool: HookTool, program: &str, words: &str, approvals: bool) -> Vec<Hook> {
    let hook = |event: &&'static str| {
        let seconds = match (tool, *event) {
            (HookTool::Codex, "SessionEnd") => CODEX_END_SECONDS,
            (_, "PermissionRequest") if approvals => TIMEOUT_SECONDS,
            _ => SECONDS,
        };
        // Gemini CLI counts in milliseconds.
        let timeout = if tool == HookTool::Gemini { seconds * 1_000 } else { seconds };
        Hook { event, command: format!("{program} hook {tool}{words}"), timeout }
    };
    events(tool).iter().map(hook).collect()
}

/// Whether a command is one that we installed, wherever this program was then.
fn is_ours(command: &str, tool: HookTool) -> bool {
    let hook = format!(" hook {tool}");
    let Some((program, rest)) = command.split_once(&hook) else { return false };
    let program = program.trim_matches(['\'', '"']);
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    matches!(name, "ah" | "ah.exe") && (rest.is_empty() || rest.starts_with(' '))
}

/// A word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    match word.chars().all(plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: HookTool = HookTool::ClaudeCode;

    fn ours(text: &str) -> String {
        edit::remove(text, |command| is_ours(command, CLAUDE)).unwrap()
    }

    #[test]
    fn what_was_there_is_there_again_byte_for_byte() {
        let before = [
            "{}",
            "{ }\n",
            "{\"model\":\"opus\"}",
            "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls:*)\"\n    ]\n  }\n}\n",
            "{\r\n\t\"hooks\" : {\r\n\t\t\"Stop\" : [ { \"hooks\" : [ { \"type\" : \"command\", \"command\" : \"say done\" } ] } ]\r\n\t},\r\n\t\"zeta\": [1.0, \"\\\"}\\u00e9\"]\r\n}",
            "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"guard\"},{\"type\":\"command\",\"command\":\"log\"}]}],\"Other\":[]}}",
        ];
        for text in before {
            let hooks = hooks(CLAUDE, "/opt/ah", "", false);
            let with = edit::install(text, &hooks).unwrap();
            let read: Value = serde_json::from_str(&with).unwrap();
            let (was, events): (Value, _) = (serde_json::from_str(text).unwrap(), events(CLAUDE));
            for event in events {
                let groups = read["hooks"][event].as_array().unwrap();
                let others = was["hooks"][event].as_array().map_or(0, Vec::len);
                assert_eq!(groups.len(), others + 1, "{event} of {with}");
            }
            let after = ours(&with);
            let blank = text.trim_matches(|c: char| "{} \n".contains(c)).is_empty();
            assert_eq!(
                if blank { after.replace([' ', '\n'], "") } else { after.clone() },
                if blank { "{}".to_owned() } else { text.to_owned() }
            );
        }
    }

    #[test]
    fn only_ours_goes_from_a_group_that_somebody_else_shares() {
        let text = r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"/x/ah hook claude-code"},{"command":"b"}]}]}}"#;
        let after = r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"b"}]}]}}"#;
        assert_eq!(ours(text), after);
    }

    #[test]
    fn ours_is_known_wherever_it_was_installed_and_nothing_else_is() {
        for command in [
            "ah hook claude-code",
            "/a b/ah hook claude-code --agent x",
            "'/a b/ah' hook claude-code",
        ] {
            assert!(is_ours(command, CLAUDE), "{command}");
        }
        for command in [
            "hook claude-code",
            "/x/oah hook claude-code",
            "ah hook claude-codex",
            "ah hook codex",
            "echo ah",
        ] {
            assert!(!is_ours(command, CLAUDE), "{command}");
        }
    }

    #[test]
    fn settings_that_are_no_object_are_refused() {
        for text in
            ["[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{,}", "// comment\n{}"]
        {
            let hooks = hooks(CLAUDE, "ah", "", false);
            assert!(edit::install(text, &hooks).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_with_blanks_is_one_word_of_a_shell() {
        assert_eq!(quoted("/usr/bin/ah"), "/usr/bin/ah");
        assert_eq!(quoted("/it's here/ah"), r"'/it'\''s here/ah'");
    }
}
