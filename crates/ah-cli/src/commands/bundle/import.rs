use std::fs::File;
use std::path::{Path, PathBuf};

use super::place::Place;
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{counted, printable};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What `ah bundle export` wrote; stdin for `-`
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let imported = if args.file == Path::new("-") {
        dir.import(&mut std::io::stdin().lock())?
    } else {
        let file = File::open(&args.file);
        dir.import(&mut file.map_err(|error| CommandError::file("read", &args.file, &error))?)?
    };
    app.output.result(&imported, |imported| {
        let added = counted(imported.added.len() as u64, "snapshot");
        let heads = imported.heads.iter();
        let heads = heads.map(|head| format!("{} stands at {}\n", head.scope, head.name));
        format!("{}{added} added, {} already here", printable_each(heads), imported.present)
    })?;
    let Some(conflict) = imported.conflicts.first() else { return Ok(()) };
    let scopes = counted(imported.conflicts.len() as u64, "scope");
    let message = format!(
        "{scopes} went another way here, such as {:?}: it stays at {}; the other is {}",
        conflict.scope, conflict.ours, conflict.theirs
    );
    let place = dir.path().display();
    Err(CommandError::new(Exit::Conflict, message).hint(format!(
        "`ah bundle diff --state-dir {place} {} {}` shows what differs",
        conflict.ours, conflict.theirs
    )))
}

fn printable_each(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("{}\n", printable(line.trim_end()))).collect()
}
