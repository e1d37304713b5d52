//! The pages of `docs/` that the program makes from itself, and the tests that keep them in step.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::Cli;
use crate::config;

/// Independent of the terminal of whoever runs the tests.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Commands

<!-- Made by `ah` from its grammar; a test compares the two. -->

Every command takes the [global options](#global-options). With `--json`, stdout holds one JSON
document (JSON lines where a command streams) and nothing else, and an error is a problem object on
stderr. Ids of sessions, agents and drafts may be shortened while they are unique; an agent may be
called by its name, in any case of its letters.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | usage: an argument must be corrected |
| 3 | not found |
| 4 | conflict or invalid state |
| 5 | not allowed |
| 6 | remote unreachable |
| 7 | configuration |
| 8 | no repository |
| 9 | store busy or damaged |
| 10 | input needed and nobody can be asked |
";

/// The page of all commands.
fn commands() -> String {
    let mut root = Cli::command().term_width(WIDTH);
    root.build();
    let mut page = HEAD.to_owned();
    page.push_str("\n## Global options\n\n");
    let global: Vec<_> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    arguments(&mut page, &global);
    for command in visible(&root) {
        describe(&mut page, command, "ah");
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
}

fn describe(page: &mut String, command: &Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name());
    let level = "#".repeat(1 + parent.split(' ').count());
    let about = command.get_long_about().or(command.get_about()).map(StyledStr::to_string);
    // Writing to a text cannot fail.
    let _ =
        write!(page, "\n{level} {name}\n\n{}.\n", about.unwrap_or_default().trim_end_matches('.'));
    if command.has_subcommands() {
        visible(command).for_each(|verb| describe(page, verb, &name));
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim);
    let _ = write!(page, "\n```text\n{}\n```\n", usage.collect::<Vec<_>>().join("\n"));
    let own: Vec<_> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && arg.get_id() != "help" && arg.get_id() != "version")
        .collect();
    if !own.is_empty() {
        page.push('\n');
        arguments(page, &own);
    }
}

fn arguments(page: &mut String, arguments: &[&Arg]) {
    page.push_str("| argument | meaning |\n|---|---|\n");
    for argument in arguments {
        let help = argument.get_help().map(StyledStr::to_string).unwrap_or_default();
        let defaults: Vec<_> =
            argument.get_default_values().iter().map(|v| v.display().to_string()).collect();
        let takes_value = argument.get_action().takes_values() && !defaults.is_empty();
        let default = if takes_value {
            format!(" (default `{}`)", defaults.join(" "))
        } else {
            String::new()
        };
        let words = argument.get_possible_values();
        let words: Vec<_> = words.iter().map(|word| format!("`{}`", word.get_name())).collect();
        let choice = match argument.get_action() {
            ArgAction::Set | ArgAction::Append if words.len() > 1 => {
                format!(": {}", words.join(", "))
            }
            _ => String::new(),
        };
        let name = spelling(argument).replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {}{choice}{default} |", help.replace('|', "\\|"));
    }
}

/// `-q, --quiet`, `--repo <PATH|URL>` or `<ID>`.
fn spelling(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<_> = short.into_iter().chain(long).collect();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<_> = values.iter().map(|value| format!("<{value}>")).collect();
    let takes_value = argument.get_action().takes_values();
    match (names.is_empty(), takes_value) {
        (true, _) => values.join(" "),
        (false, true) => format!("{} {}", names.join(", "), values.join(" ")),
        (false, false) => names.join(", "),
    }
}

/// Compares a page with the file in `docs/`, or writes it there when `AH_UPDATE_DOCS` asks for it.
#[track_caller]
fn check(name: &str, page: &str) {
    let path = docs().join(name);
    #[expect(clippy::disallowed_methods, reason = "asks the person who runs the tests")]
    let update = std::env::var_os("AH_UPDATE_DOCS").is_some_and(|value| value == "1");
    if update {
        std::fs::write(&path, page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let different = stored.lines().zip(page.lines()).position(|(old, new)| old != new);
    assert!(
        stored == page,
        "docs/{name} differs from the program (first at line {:?}); \
         `AH_UPDATE_DOCS=1 cargo test -p ah-cli reference` writes it anew",
        different.map(|at| at + 1)
    );
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_command_reference_is_in_step_with_the_grammar() {
    check("cli.md", &commands());
}

#[test]
fn the_configuration_reference_is_in_step_with_the_schema() {
    check("config.md", &config::reference());
}

#[test]
fn the_grammar_is_consistent() {
    Cli::command().debug_assert();
}
