use ah_model::Labels;
use ah_snapshot::{Ignored, NewSnapshot};

use super::scene::{self, PlaceArgs, Scene, short};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it; the newest here when absent
    session: Option<String>,
    /// What to say of it
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// A label of its own; may be given several times
    #[arg(long = "label", value_name = "K=V")]
    labels: Vec<String>,
    /// Keep files that the repository ignores as well
    #[arg(long)]
    include_ignored: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let labels = Labels::from_pairs(&args.labels)?;
    let store = app.store()?;
    let session = scene::session(app, &*store, args.session.as_deref())?;
    let scene = Scene::new(app, &args.place, Some(&session))?;
    let ignored = if args.include_ignored { Ignored::Included } else { Ignored::LeftOut };
    let new = scene::fresh(app, session.id, args.message.clone())?;
    let new = NewSnapshot { labels, ignored, ..new };
    let taken = scene::take(app, &*store, &scene, &new)?;
    app.output
        .result(&taken, |taken| format!("{} {}", taken.snapshot.number, short(&taken.snapshot)))
}
