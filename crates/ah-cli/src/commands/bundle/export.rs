use std::path::PathBuf;

use ah_bundle::{Exported, StateDir};
use serde::Serialize;

use super::place::{Place, ScopeArgs};
use super::view;
use crate::app::App;
use crate::commands::whole_file::{beside, finish};
use crate::error::CommandError;
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Answer {
    path: PathBuf,
    #[serde(flatten)]
    exported: Exported,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let scope = args.scope.chosen()?;
    let Some(path) = &args.output else {
        let exported = app.output.stream(|out| Ok(dir.export(scope.as_deref(), out)?))?;
        tell(app, &dir, &exported);
        return Ok(());
    };
    let mut file = beside(path)?;
    let exported = {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, file.as_file_mut());
        dir.export(scope.as_deref(), &mut out)?
    };
    finish(file, path)?;
    tell(app, &dir, &exported);
    let answer = Answer { path: path.clone(), exported };
    app.output.result(&answer, |answer| {
        let count = counted(answer.exported.snapshots as u64, "snapshot");
        format!("{count} written to {}", path.display())
    })
}

fn tell(app: &App, dir: &StateDir, exported: &Exported) {
    if !exported.damage.is_empty() && !app.output.is_json() {
        view::warn_of(app.output, &exported.damage);
        app.output.talk("damaged files are left out");
        app.output.talk(&view::next_command(dir, &exported.damage));
    }
}
