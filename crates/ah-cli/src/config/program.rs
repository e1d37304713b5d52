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
    each_table(item, "program", |one: &KindProgram| &one.kind, program)
}

/// Reads each of the `[[name]]` tables; none is of the same kind as another.
pub(super) fn each_table<T>(
    item: &Item,
    name: &str,
    kind: impl Fn(&T) -> &String,
    read: impl Fn(&dyn TableLike) -> Result<T, String>,
) -> Result<Vec<T>, Mismatch> {
    let tables = tables(item).ok_or_else(|| format!("a list of [[{name}]] tables"))?;
    let mut all: Vec<T> = Vec::with_capacity(tables.len());
    for (span, table) in tables {
        let one =
            read(table).and_then(|one| match all.iter().any(|known| kind(known) == kind(&one)) {
                true => Err(format!("one table of each kind ({:?} is there twice)", kind(&one))),
                false => Ok(one),
            });
        let at = span.map(|span| span.start);
        all.push(one.map_err(|expected| Mismatch { expected, at })?);
    }
    Ok(all)
}

/// Refuses what a table does not have.
pub(super) fn check_fields(table: &dyn TableLike, fields: &[&str]) -> Result<(), String> {
    match table.iter().find(|(field, _)| !fields.contains(field)) {
        Some((unknown, _)) => {
            Err(format!("tables with {} only, without {unknown:?}", fields.join(", ")))
        }
        None => Ok(()),
    }
}

/// The agent kind that a table is for.
pub(super) fn kind_of(table: &dyn TableLike, field: &str) -> Result<String, String> {
    let kind = table.get(field).and_then(Item::as_str).unwrap_or_default();
    match kind.contains('@') || kind.parse::<AgentKindRef>().is_err() {
        true => Err(format!("tables with a {field}: the name of an agent kind, without a version")),
        false => Ok(kind.to_owned()),
    }
}

/// The texts of a field; none when it is absent.
pub(super) fn texts_of(table: &dyn TableLike, field: &str) -> Result<Vec<String>, String> {
    match table.get(field) {
        Some(item) => texts(item).ok_or(format!("tables whose {field} is an array of texts")),
        None => Ok(Vec::new()),
    }
}

/// A program and its arguments.
pub(super) fn command_of(table: &dyn TableLike) -> Result<Vec<String>, String> {
    let command = texts_of(table, "command")?;
    match command.first().is_none_or(String::is_empty) {
        true => Err("tables with a command: a program and its arguments".to_owned()),
        false => Ok(command),
    }
}

fn program(table: &dyn TableLike) -> Result<KindProgram, String> {
    check_fields(table, &FIELDS)?;
    let kind = kind_of(table, "kind")?;
    let (command, model_args) = (command_of(table)?, texts_of(table, "model-args")?);
    let word = |field| table.get(field).map(|item| item.as_str().unwrap_or_default());
    let input = InputForm::ALL.iter().find(|form| word("input").is_none_or(|w| w == form.as_str()));
    let output =
        OutputForm::ALL.iter().find(|form| word("output").is_none_or(|w| w == form.as_str()));
    let (Some(input), Some(output)) = (input, output) else {
        return Err("tables whose input is text or json, and output text or json-lines".to_owned());
    };
    let program = CommandProgram { command, model_args, input: *input, output: *output };
    Ok(KindProgram { kind, program })
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
