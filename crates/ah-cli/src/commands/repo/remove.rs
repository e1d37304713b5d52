use ah_store::{Kind, StoreError, block_on};

use super::find;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its number, path or URL
    #[arg(value_name = "ID|PATH|URL")]
    place: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = match args.place.parse() {
        Ok(id) => id,
        Err(_) => {
            let place = args.place.as_str();
            let absolute = app.current_dir()?.join(place);
            let absolute = absolute.canonicalize().unwrap_or(absolute);
            let mut found = find(&*store, |repo| match repo.found.root_path.as_deref() {
                Some(root) => absolute.as_os_str() == root,
                None => repo.found.remote_url.as_deref() == Some(place),
            })?;
            let found = found.pop().ok_or_else(|| StoreError::not_found(Kind::Repo, place))?;
            found.id
        }
    };
    block_on(store.remove_repo(id))?;
    app.output.result(&serde_json::json!({ "id": id, "removed": true }), |_| String::new())
}
