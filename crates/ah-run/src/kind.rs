//! The programs of agent kinds: what is run for a prompt, and to go on with a session.

use std::collections::BTreeMap;

use ah_import::stream::StreamFormat;

use crate::RunError;

/// The kind that needs no model: our own program, which does what the lines of the prompt say.
pub const SCRIPTED: &str = "scripted";

/// The program of one agent kind. In commands `{external}` is the tool's own id of the session,
/// `{session}` and `{run}` are ours, `{prompt}` is the prompt: where no argument holds it, the
/// program reads it from its input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentProgram {
    /// Program and arguments for a prompt.
    pub command: Vec<String>,
    /// Those that go on with a session; none if the program cannot.
    pub resume: Vec<String>,
    /// What it writes.
    pub stream: StreamFormat,
}

impl AgentProgram {
    fn new(command: &[&str], resume: &[&str], stream: StreamFormat) -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { command: owned(command), resume: owned(resume), stream }
    }

    /// Whether the tool takes the id that we give it: then it is known before the program begins.
    pub(crate) fn takes_id(&self) -> bool {
        self.command.iter().any(|word| word.contains("{external}"))
    }
}

/// The programs of this machine, by agent kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrograms(BTreeMap<String, AgentProgram>);

impl AgentPrograms {
    /// Those that are known without configuration; `own` is the command that is our own program as
    /// the scripted kind.
    pub fn known(own: &[String]) -> Self {
        use StreamFormat::{ClaudeCode, Codex, Text};
        let claude = ["claude", "-p", "--output-format", "stream-json", "--verbose"];
        let claude_of = |flag| [&claude[..], &[flag, "{external}"]].concat();
        let scripted =
            AgentProgram { command: own.to_owned(), resume: own.to_owned(), stream: Text };
        Self(BTreeMap::from([
            (
                "claude-code".to_owned(),
                AgentProgram::new(&claude_of("--session-id"), &claude_of("--resume"), ClaudeCode),
            ),
            (
                "codex".to_owned(),
                AgentProgram::new(
                    &["codex", "exec", "--json", "-"],
                    &["codex", "exec", "resume", "{external}", "--json", "-"],
                    Codex,
                ),
            ),
            (
                "gemini".to_owned(),
                AgentProgram::new(
                    &["gemini", "--session-id", "{external}"],
                    &["gemini", "--resume", "{external}"],
                    Text,
                ),
            ),
            (
                "opencode".to_owned(),
                AgentProgram::new(
                    &["opencode", "run", "--", "{prompt}"],
                    &["opencode", "run", "-s", "{external}", "--", "{prompt}"],
                    Text,
                ),
            ),
            (
                "goose".to_owned(),
                AgentProgram::new(
                    &["goose", "run", "--name", "{external}", "-i", "-"],
                    &["goose", "run", "-r", "--name", "{external}", "-i", "-"],
                    Text,
                ),
            ),
            (SCRIPTED.to_owned(), scripted),
        ]))
    }

    /// The same, and `program` for `kind`.
    #[must_use]
    pub fn with(mut self, kind: impl Into<String>, program: AgentProgram) -> Self {
        self.0.insert(kind.into(), program);
        self
    }

    /// The program of a kind.
    pub fn of(&self, kind: &str) -> Result<&AgentProgram, RunError> {
        self.0.get(kind).ok_or_else(|| RunError::NoProgram {
            kind: kind.to_owned(),
            known: self.0.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// All kinds with their programs.
    pub fn all(&self) -> impl Iterator<Item = (&str, &AgentProgram)> {
        self.0.iter().map(|(kind, program)| (kind.as_str(), program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_take_an_id_are_given_ours_and_a_table_replaces_one() {
        let known = AgentPrograms::known(&["own".to_owned()]);
        let ours: Vec<&str> =
            known.all().filter(|(_, program)| program.takes_id()).map(|(kind, _)| kind).collect();
        assert_eq!(ours, ["claude-code", "gemini", "goose"]);
        let mine = AgentProgram::new(&["mine"], &[], StreamFormat::Text);
        let changed = known.with("codex", mine.clone());
        assert_eq!(changed.of("codex").unwrap(), &mine);
        let missing = changed.of("x").unwrap_err().to_string();
        assert!(
            missing.ends_with("known are claude-code, codex, gemini, goose, opencode, scripted")
        );
    }
}
