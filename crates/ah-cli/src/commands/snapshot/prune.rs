use ah_model::{FileSnapshot, Page};

use super::scene::{self, PlaceArgs, Scene, State, short};
use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it; the newest here when absent
    session: Option<String>,
    /// How many of the newest stay
    #[arg(long, value_name = "N")]
    keep: usize,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let session = scene::session(app, &*store, args.session.as_deref())?;
    let scene = Scene::new(app, &args.place, Some(&session))?;
    let mut own: Vec<FileSnapshot> = scene
        .of_session(&*store, &session.id)?
        .into_iter()
        .filter(|one| one.state != State::Missing && one.snapshot.session_id == session.id)
        .map(|one| one.snapshot)
        .collect();
    own.truncate(own.len().saturating_sub(args.keep));
    if !args.yes && !own.is_empty() {
        confirm(app.asking(), &format!("remove {}?", counted(own.len() as u64, "snapshot")))?;
    }
    for snapshot in &own {
        scene.keeper(snapshot).delete(&scene.directory, snapshot)?;
    }
    let page = Page { items: own, next_cursor: None };
    app.output
        .result(&page, |page| page.items.iter().map(|one| format!("{}\n", short(one))).collect())
}
