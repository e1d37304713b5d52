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
    let done = dir.quarantine(args.dry_run.get())?;
    if !done.left.is_empty() && !app.output.is_json() {
        view::warn_of(app.output, &done.left);
        app.output.talk(&view::next_command(&dir, &done.left));
    }
    app.output.result(&done, |done| {
        let verb = args.dry_run.words("became", "would become");
        let moved = done.moved.iter();
        let moved = moved.map(|one| format!("{} {verb} {}: {}\n", one.from, one.to, one.problem));
        let verb = args.dry_run.words("names", "would name");
        let repointed = done.repointed.iter();
        let repointed = repointed.map(|one| format!("{} {verb} {} now\n", one.pointer, one.to));
        let text: String = moved.chain(repointed).collect();
        match text.is_empty() {
            true => "nothing is to be put aside".to_owned(),
            false => printable_lines(&text),
        }
    })
}
