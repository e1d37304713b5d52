use ah_store::block_on;

use crate::app::App;
use crate::detect;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path or URL; the repository around the current directory when absent
    #[arg(value_name = "PATH|URL")]
    place: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let found = match &args.place {
        Some(place) => detect::from_flag(place, app.current_dir()?)?,
        None => app.repo()?,
    };
    let store = app.store()?;
    let found = app.settled(&*store, found)?;
    let repo = block_on(store.put_repo(found))?;
    app.output.result(&repo, |repo| repo.id.to_string())
}
