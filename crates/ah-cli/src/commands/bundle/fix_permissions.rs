use super::dry_run::DryRunArg;
use super::place::Place;
use super::view;
use crate::app::App;
use crate::error::CommandError;
use crate::output::printable_lines;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    dry_run: DryRunArg,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let fixed = dir.fix_permissions(args.dry_run.get())?;
    if !app.output.is_json() {
        view::warn_of(app.output, &fixed.left);
    }
    app.output.result(&fixed, |fixed| {
        let verb = args.dry_run.words("had", "has");
        let then = args.dry_run.words("has", "would have");
        let changed = fixed.changed.iter();
        let changed =
            changed.map(|one| format!("{} {verb} {}, {then} {} now\n", one.name, one.from, one.to));
        let text: String = changed.collect();
        match text.is_empty() {
            true => "every mode is as it must be".to_owned(),
            false => printable_lines(&text),
        }
    })
}
