//! The `ah` command: the only room that reads the environment, home and configuration, and that
//! chooses a store.

mod app;
mod cli;
mod commands;
mod config;
mod detect;
mod environment;
mod error;
mod input;
mod keeper;
mod lazy;
mod output;
#[cfg(test)]
mod reference;
mod runner;
mod secret;
mod when;
mod whereabouts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    keeper::run(&arguments)
        .or_else(|| runner::run(&arguments))
        .or_else(|| commands::hook::main(&arguments, app::main))
        .unwrap_or_else(app::main)
}
