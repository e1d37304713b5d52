//! `cargo xtask test`: all set-up, then every check, stopping at the first failure.

use std::process::Command;
use std::time::Instant;

use crate::agents::Agents;
use crate::browser::Browser;
use crate::packages;
use crate::postgres::{Database, IfMissing, Sync};
use crate::process::{self, Failure, cargo, describe, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let started = Instant::now();
    let selection = Selection::parse(arguments)?;
    let database = selection
        .checks
        .contains(&Check::Tests)
        .then(|| step("postgres", || Database::obtain(Sync::Off, IfMissing::Install)))
        .transpose()?;
    let (mut agents, mut browser) = (None, None);
    if database.is_some() {
        step("git", packages::git)?;
        agents = Some(step("agents", || Ok(Agents::obtain()))?);
        browser = Some(step("browser", || Ok(Browser::obtain()))?);
    }
    for check in &selection.checks {
        let mut command = check.command(&selection.runner_arguments);
        if let Some(database) = &database {
            database.apply(&mut command);
        }
        if let Some(agents) = &agents {
            agents.apply(&mut command);
        }
        if let Some(browser) = &browser {
            browser.apply(&mut command);
        }
        step(check.name(), || {
            eprintln!("    {}", describe(&command));
            process::run(&mut command)
        })?;
    }
    if let Some(Database::Skipped) = database {
        eprintln!("warning: the PostgreSQL tests were SKIPPED (AH_TEST_POSTGRES=skip)");
    }
    if let Some(browser) = &browser {
        browser.warn();
    }
    eprintln!("all checks passed in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Format,
    Lints,
    Tests,
    Docs,
}

impl Check {
    /// Every check, cheapest first. Doctests are missing because `tidy` keeps them off.
    const ALL: [Self; 4] = [Self::Format, Self::Lints, Self::Tests, Self::Docs];

    fn name(self) -> &'static str {
        match self {
            Self::Format => "fmt",
            Self::Lints => "clippy",
            Self::Tests => "tests",
            Self::Docs => "rustdoc",
        }
    }

    fn parse(name: &str) -> Result<Self, Failure> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|check| check.name() == name)
            .ok_or_else(|| Failure::usage(format!("unknown check `{name}`; one of {names}")))
    }

    fn command(self, runner_arguments: &[String]) -> Command {
        let mut command = cargo();
        match self {
            Self::Format => command.args(["fmt", "--all", "--check"]),
            Self::Lints => {
                command.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            }
            Self::Tests => command.args(test_runner()).arg("--workspace").args(runner_arguments),
            Self::Docs => {
                command.env("RUSTDOCFLAGS", "-Dwarnings").args(["doc", "--workspace", "--no-deps"])
            }
        };
        command
    }
}

/// nextest where it is installed; a machine with only the toolchain has the plain runner.
fn test_runner() -> &'static [&'static str] {
    if process::succeeds(cargo().args(["nextest", "--version"])) {
        &["nextest", "run"]
    } else {
        &["test"]
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Selection {
    checks: Vec<Check>,
    runner_arguments: Vec<String>,
}

impl Selection {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut only = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--" => break,
                "--only" => match rest.next() {
                    Some(name) => only.push(Check::parse(name)?),
                    None => return Err(Failure::usage("`--only` needs the name of a check")),
                },
                unknown => {
                    return Err(Failure::usage(format!(
                        "unknown argument `{unknown}`; arguments of the test runner follow `--`"
                    )));
                }
            }
        }
        let checks = Check::ALL
            .into_iter()
            .filter(|check| only.is_empty() || only.contains(check))
            .collect();
        Ok(Self { checks, runner_arguments: rest.cloned().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Selection, u8> {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        Selection::parse(&arguments).map_err(|failure| failure.code)
    }

    #[test]
    fn every_check_runs_unless_some_are_named() {
        let all = Selection { checks: Check::ALL.to_vec(), runner_arguments: vec![] };
        assert_eq!(parse(&[]), Ok(all));
        let some = Selection { checks: vec![Check::Format, Check::Docs], runner_arguments: vec![] };
        assert_eq!(parse(&["--only", "rustdoc", "--only", "fmt"]), Ok(some));
    }

    #[test]
    fn what_follows_the_dashes_is_for_the_runner() {
        let selection = Selection {
            checks: vec![Check::Tests],
            runner_arguments: vec!["-E".to_owned(), "package(ah-cli)".to_owned()],
        };
        assert_eq!(parse(&["--only", "tests", "--", "-E", "package(ah-cli)"]), Ok(selection));
    }

    #[test]
    fn unknown_words_are_a_usage_error() {
        assert_eq!(parse(&["--only"]), Err(2));
        assert_eq!(parse(&["--only", "spelling"]), Err(2));
        assert_eq!(parse(&["-E"]), Err(2));
    }
}
