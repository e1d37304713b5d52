use std::num::NonZeroUsize;

use super::dry_run::DryRunArg;
use super::place::Place;
use super::view;
use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, counted, printable};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// How many snapshots of every scope stay, the newest
    #[arg(long, value_name = "N")]
    keep: NonZeroUsize,
    #[command(flatten)]
    dry_run: DryRunArg,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let pruned = dir.prune(args.keep, args.dry_run.get())?;
    if !pruned.damage.is_empty() && !app.output.is_json() {
        view::warn_of(app.output, &pruned.damage);
        app.output.talk("damaged files are left alone");
    }
    app.output.result(&pruned, |pruned| {
        let names = pruned.removed.iter().map(|file| format!("{}\n", printable(&file.name)));
        let count = counted(pruned.removed.len() as u64, "snapshot");
        let verb = args.dry_run.words("removed", "would be removed");
        let kept = args.dry_run.words("stay", "would stay");
        let names: String = names.collect();
        format!("{names}{count} {verb} ({}), {} {kept}", bytes(pruned.bytes), pruned.kept)
    })
}
