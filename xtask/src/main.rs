//! The workspace's own tool: `cargo xtask COMMAND`.
//!
//! Needs nothing but the standard library, because it is built before everything else.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: progress on stderr, results on stdout"
)]

mod agents;
mod bench;
mod browser;
mod checks;
mod fuzz;
mod migrations;
mod packages;
mod postgres;
mod process;

use std::process::ExitCode;

use crate::process::Failure;

const HELP: &str = "\
Usage: cargo xtask COMMAND

  test [--only CHECK]... [-- ARGS]   start PostgreSQL, then fmt, clippy, tests, rustdoc;
                                     ARGS go to the test runner (nextest if installed)
  bench [--json] [NAME]...           run the benches, or those whose name contains one of NAME:
                                     append-single, append-batch, append-threads,
                                     append-processes, history, postgres, process;
                                     --json prints one document on stdout
  fuzz [TARGET]... [--cases N]       mutate the inputs of parsers: redact-text, redact-json,
       [--seed N] [--case N]         cursor, bundle, pointer, frame, mux, hook; --case runs one
                                     again
  postgres -- PROGRAM [ARGS]         run PROGRAM beside a private PostgreSQL server
  agents -- PROGRAM [ARGS]           run PROGRAM with Claude Code and Codex, installed with npm
  browser -- PROGRAM [ARGS]          run PROGRAM with Chromium and node, found or installed
  dashboard [ARGS]                   click through the dashboard of a release build and measure it;
                                     --sessions 100000 fills the store first, --only JOB
  tour                               make the pictures of docs/tour.md anew
  freeze-migrations                  record the checksums of new migrations

Environment:
  AH_TEST_POSTGRES   URL of a server to use instead of a private one, or `skip`
  AH_TEST_AGENTS     `skip`: test what was recorded of agents instead of installing them
  AH_TEST_BROWSER    `skip`: leave the tests of the dashboard in a browser out
  AH_POSTGRES_BIN    the only directory to look in for `postgres` and `initdb`
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    let asked = rest.iter().take_while(|argument| *argument != "--");
    if asked.into_iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    match command.as_str() {
        "test" => checks::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "agents" => agents::run(rest),
        "browser" => browser::run(rest),
        "dashboard" => browser::measure(rest),
        "tour" => browser::tour(),
        "postgres" => postgres::run(rest),
        "freeze-migrations" => migrations::freeze(rest),
        "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(Failure::usage(format!("unknown command `{unknown}`; see `cargo xtask`"))),
    }
}
