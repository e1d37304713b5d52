//! `[[agent-kind]]` tables: what `ah task create --run` and `ah session resume` run for an agent kind.

use ah_import::stream::StreamFormat;
use ah_run::AgentProgram;
use serde::{Serialize, Serializer};
use toml_edit::{Item, TableLike};

use super::program::{check_fields, command_of, each_table, kind_of, texts_of};
use super::value::Mismatch;

const FIELDS: [&str; 4] = ["name", "command", "resume", "stream"];

/// An agent kind and its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunKindProgram {
    /// The kind, in any version.
    pub(crate) name: String,
    pub(crate) program: AgentProgram,
}

impl Serialize for RunKindProgram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            name: &'a str,
            command: &'a [String],
            resume: &'a [String],
            stream: &'a str,
        }
        let AgentProgram { command, resume, stream } = &self.program;
        Shown { name: &self.name, command, resume, stream: stream.as_str() }.serialize(serializer)
    }
}

/// Reads all tables.
pub(super) fn agent_kinds(item: &Item) -> Result<Vec<RunKindProgram>, Mismatch> {
    each_table(item, "agent-kind", |one: &RunKindProgram| &one.name, agent_kind)
}

fn agent_kind(table: &dyn TableLike) -> Result<RunKindProgram, String> {
    check_fields(table, &FIELDS)?;
    let name = kind_of(table, "name")?;
    let (command, resume) = (command_of(table)?, texts_of(table, "resume")?);
    let word = table.get("stream").map(|item| item.as_str().unwrap_or_default());
    let stream = match word {
        None => Some(StreamFormat::Text),
        Some(word) => StreamFormat::ALL.into_iter().find(|format| format.as_str() == word),
    };
    let stream = stream.ok_or("tables whose stream is claude-code, codex or text")?;
    let program = AgentProgram { command, resume, stream };
    Ok(RunKindProgram { name, program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> Result<Vec<RunKindProgram>, String> {
        let document: toml_edit::DocumentMut = text.parse().unwrap();
        agent_kinds(&document["agent-kind"]).map_err(|mismatch| mismatch.expected)
    }

    #[test]
    fn a_kind_says_what_is_run_and_what_it_writes() {
        let text = "[[agent-kind]]\nname = 'mine'\ncommand = ['run', '{prompt}']\n\
            resume = ['run', '-r', '{external}']\nstream = 'codex'\n\
            [[agent-kind]]\nname = 'plain'\ncommand = ['p']";
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mine = AgentProgram {
            command: texts(&["run", "{prompt}"]),
            resume: texts(&["run", "-r", "{external}"]),
            stream: StreamFormat::Codex,
        };
        let plain = AgentProgram { command: texts(&["p"]), ..AgentProgram::default() };
        let expected = [("mine", mine), ("plain", plain)];
        let expected =
            expected.map(|(name, program)| RunKindProgram { name: name.to_owned(), program });
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_kind_is_refused() {
        for (text, expected) in [
            ("agent-kind = 1", "a list of [[agent-kind]] tables"),
            ("[[agent-kind]]\ncommand = ['x']", "tables with a name"),
            ("[[agent-kind]]\nname = 'a'", "tables with a command"),
            (
                "[[agent-kind]]\nname = 'a'\ncommand = ['x']\nstream = 'xml'",
                "stream is claude-code",
            ),
            ("[[agent-kind]]\nname = 'a'\ncommand = ['x']\nshell = 'y'", "without \"shell\""),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
