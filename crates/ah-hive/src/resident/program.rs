//! The programs of agent kinds: what is run once per turn.

use std::collections::BTreeMap;

use super::script::Script;

/// The kind whose program is a script that this process runs itself.
pub const SCRIPTED: &str = "scripted";

/// How a program is told what to do, on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputForm {
    /// A prompt: the conversation so far, then the message.
    Text,
    /// One JSON object: agent, session, message, context.
    Json,
}

impl InputForm {
    /// Every one, the usual first.
    pub const ALL: [Self; 2] = [Self::Text, Self::Json];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// What a program writes on its standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// What it says.
    Text,
    /// JSON lines of which some say something: those of `claude` and `codex`.
    JsonLines,
}

impl OutputForm {
    /// Every one, the usual first.
    pub const ALL: [Self; 2] = [Self::Text, Self::JsonLines];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::JsonLines => "json-lines",
        }
    }
}

/// A program that is run once per turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandProgram {
    /// The program and its arguments. `{agent}`, `{session}`, `{message}`, `{model}` and `{home}`
    /// stand for what they say.
    pub command: Vec<String>,
    /// More arguments where the agent has a model.
    pub model_args: Vec<String>,
    /// What it reads.
    pub input: InputForm,
    /// What it writes.
    pub output: OutputForm,
}

impl CommandProgram {
    /// A program that reads and writes plain text.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            model_args: Vec::new(),
            input: InputForm::Text,
            output: OutputForm::Text,
        }
    }

    fn json_lines(command: &[&str]) -> Self {
        let model_args = vec!["--model".to_owned(), "{model}".to_owned()];
        let output = OutputForm::JsonLines;
        Self { model_args, output, ..Self::new(command.iter().copied()) }
    }

    /// The arguments of a turn.
    pub(super) fn arguments(&self, values: &[(&str, Option<&str>)]) -> Vec<String> {
        let has_model = values.iter().any(|(name, value)| *name == "model" && value.is_some());
        let model = self.model_args.iter().filter(|_| has_model);
        let fill = |argument: &String| ah_process::fill(argument, values);
        self.command.iter().chain(model).map(fill).collect()
    }
}

/// What runs a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Program {
    /// A program of its own.
    Command(CommandProgram),
    /// A script.
    Scripted(Script),
}

/// Programs by agent kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs(BTreeMap<String, CommandProgram>);

impl Default for Programs {
    /// Those of the kinds that are known.
    fn default() -> Self {
        let claude = ["claude", "-p", "--output-format", "stream-json", "--verbose"];
        let codex = ["codex", "exec", "--json", "-"];
        Self(BTreeMap::from([
            ("claude-code".to_owned(), CommandProgram::json_lines(&claude)),
            ("codex".to_owned(), CommandProgram::json_lines(&codex)),
        ]))
    }
}

impl Programs {
    /// The same, and `program` for `kind`.
    #[must_use]
    pub fn with(mut self, kind: impl Into<String>, program: CommandProgram) -> Self {
        self.0.insert(kind.into(), program);
        self
    }

    /// The program of a kind.
    pub fn of(&self, kind: &str) -> Option<&CommandProgram> {
        self.0.get(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_a_model_is_named_only_where_there_is_one() {
        let programs = Programs::default();
        let codex = programs.of("codex").unwrap();
        let none = codex.arguments(&[("model", None)]);
        assert_eq!(none, ["codex", "exec", "--json", "-"]);
        let some = codex.arguments(&[("model", Some("m1"))]);
        assert_eq!(some, ["codex", "exec", "--json", "-", "--model", "m1"]);
        let own = CommandProgram::new(["run", "--as={agent}", "{home}/x", "{other}"]);
        let filled = own.arguments(&[("agent", Some("alice")), ("home", Some("/h"))]);
        assert_eq!(filled, ["run", "--as=alice", "/h/x", "{other}"]);
    }
}
