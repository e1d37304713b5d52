//! `ah man`: manual pages.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::app::App;
use crate::cli::Cli;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let mut command = Cli::command();
    command.build();
    match &args.dir {
        None => app.output.text(&page(&command)),
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .map_err(|error| CommandError::file("create", directory, &error))?;
            write(&command, "ah", directory)
        }
    }
}

fn page(command: &Command) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write(command: &Command, name: &str, directory: &Path) -> Result<(), CommandError> {
    let path = directory.join(format!("{name}.1"));
    std::fs::write(&path, page(&command.clone().display_name(name.to_owned())))
        .map_err(|error| CommandError::file("write", &path, &error))?;
    command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .try_for_each(|verb| write(verb, &format!("{name}-{}", verb.get_name()), directory))
}
