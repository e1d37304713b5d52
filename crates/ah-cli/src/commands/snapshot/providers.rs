use ah_model::Page;
use ah_snapshot::Detection;

use super::scene::{PlaceArgs, Scene};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let scene = Scene::new(app, &args.place, None)?;
    let items: Vec<Detection> =
        scene.providers().iter().map(|one| one.detect(&scene.directory)).collect();
    let page = Page { items, next_cursor: None };
    app.output.result(&page, |page| {
        let row = |found: &Detection| {
            let usable = if found.usable { "yes" } else { "no" };
            vec![found.provider.to_string(), usable.to_owned(), printable(&found.reason)]
        };
        table(&["PROVIDER", "USABLE", "WHY"], &page.items.iter().map(row).collect::<Vec<_>>())
    })
}
