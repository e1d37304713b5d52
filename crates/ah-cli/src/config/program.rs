//! `[[program]]` tables: what is run for the turns of an agent kind.

use ah_hive::resident::{CommandProgram, InputForm, OutputForm};
use ah_model::AgentKindRef;
use serde::{Serialize, Serializer};
use toml_edit::{Item, TableLike};

use super::value::{Mismatch, tables, texts};

const FIELDS: [&str; 5] = ["kind", "command", "model-args", "input", "output"];

/// The program of an agent kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindProgram {
    /// The kind, in any version.
    pub(crate) kind: String,
    pub(crate) program: CommandProgram,
}

impl Serialize for KindProgram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Shown<'a> {
            Text(&'a str),
            Texts(&'a [String]),
        }
        let CommandProgram { command, model_args, input, output } = &self.program;
        serializer.collect_map([
            ("kind", Shown::Text(&self.kind)),
            ("command", Shown::Texts(command)),
            ("model-args", Shown::Texts(model_args)),
            ("input", Shown::Text(input.as_str())),
            ("output", Shown::Text(output.as_str())),
        ])
    }
}

/// Reads all tables.
pub(super) fn programs(item: &Item) -> Result<Vec<KindProgram>, Mismatch> {
    let tables = tables(item).ok_or("a list of [[program]] tables")?;
    let mut programs: Vec<KindProgram> = Vec::with_capacity(tables.len());
    for (span, table) in tables {
        let read = program(table).and_then(|program| {
            match programs.iter().any(|known| known.kind == program.kind) {
                true => Err(format!("one table of each kind ({:?} is there twice)", program.kind)),
                false => Ok(program),
            }
        });
        let at = span.map(|span| span.start);
        programs.push(read.map_err(|expected| Mismatch { expected, at })?);
    }
    Ok(programs)
}

fn program(table: &dyn TableLike) -> Result<KindProgram, String> {
    if let Some((unknown, _)) = table.iter().find(|(field, _)| !FIELDS.contains(field)) {
        return Err(format!("tables with {} only, without {unknown:?}", FIELDS.join(", ")));
    }
    let kind = table.get("kind").and_then(Item::as_str).unwrap_or_default();
    if kind.contains('@') || kind.parse::<AgentKindRef>().is_err() {
        return Err("tables with a kind: the name of an agent kind, without a version".to_owned());
    }
    let list = |field| match table.get(field) {
        Some(item) => texts(item).ok_or(format!("tables whose {field} is an array of texts")),
        None => Ok(Vec::new()),
    };
    let command = list("command")?;
    if command.first().is_none_or(String::is_empty) {
        return Err("tables with a command: a program and its arguments".to_owned());
    }
    let word = |field| table.get(field).map(|item| item.as_str().unwrap_or_default());
    let input = InputForm::ALL.iter().find(|form| word("input").is_none_or(|w| w == form.as_str()));
    let output =
        OutputForm::ALL.iter().find(|form| word("output").is_none_or(|w| w == form.as_str()));
    let (Some(input), Some(output)) = (input, output) else {
        return Err("tables whose input is text or json, and output text or json-lines".to_owned());
    };
    let program =
        CommandProgram { command, model_args: list("model-args")?, input: *input, output: *output };
    Ok(KindProgram { kind: kind.to_owned(), program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> Result<Vec<KindProgram>, String> {
        let document: toml_edit::DocumentMut = text.parse().unwrap();
        programs(&document["program"]).map_err(|mismatch| mismatch.expected)
    }

    #[test]
    fn a_program_says_what_is_run_and_how_it_is_told() {
        let text = "[[program]]\nkind = 'mine'\ncommand = ['run', '{agent}']\n\
            model-args = ['-m', '{model}']\ninput = 'json'\noutput = 'json-lines'\n\
            [[program]]\nkind = 'plain'\ncommand = ['p']";
        let found = read(text).unwrap();
        let mine = CommandProgram {
            model_args: vec!["-m".to_owned(), "{model}".to_owned()],
            input: InputForm::Json,
            output: OutputForm::JsonLines,
            ..CommandProgram::new(["run", "{agent}"])
        };
        let plain = CommandProgram::new(["p"]);
        let expected = [("mine", mine), ("plain", plain)];
        let expected =
            expected.map(|(kind, program)| KindProgram { kind: kind.to_owned(), program });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for (text, expected) in [
            ("program = 1", "a list of [[program]] tables"),
            ("[[program]]\ncommand = ['x']", "tables with a kind"),
            ("[[program]]\nkind = 'a@1'\ncommand = ['x']", "without a version"),
            ("[[program]]\nkind = 'a'", "tables with a command"),
            ("[[program]]\nkind = 'a'\ncommand = 'x'", "whose command is an array"),
            ("[[program]]\nkind = 'a'\ncommand = ['x']\ninput = 'xml'", "input is text or json"),
            ("[[program]]\nkind = 'a'\ncommand = ['x']\nshell = 'y'", "without \"shell\""),
            (
                "[[program]]\nkind = 'a'\ncommand = ['x']\n[[program]]\nkind = 'a'\ncommand = ['x']",
                "\"a\" is there twice",
            ),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
