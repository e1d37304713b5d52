use ah_bundle::Loaded;

use super::place::{Place, ScopeArgs};
use super::view;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A snapshot: the name of its file, or the beginning of its sha256 (6 digits or more)
    #[arg(value_name = "SHA|NAME", conflicts_with_all = ["scope", "model", "base_url", "tools"])]
    snapshot: Option<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let loaded = match &args.snapshot {
        Some(name) => Loaded { snapshot: dir.read(name)?, damage: Vec::new() },
        None => dir.load(&args.scope.required(&dir)?)?,
    };
    view::tell_damage(app.output, &dir, &loaded.damage, &loaded.snapshot.name);
    app.output.debug(&format!("{} {}", loaded.snapshot.name, loaded.snapshot.sha));
    view::bundle(app.output, &loaded, &loaded.snapshot)
}
