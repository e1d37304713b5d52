use ah_model::{PageLimit, PageRequest};
use ah_store::{Kind, Repos, StoreError, block_on};
use ah_store_sql::SqlStore;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its number, path or URL
    #[arg(value_name = "ID|PATH|URL")]
    repo: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = match args.repo.parse() {
        Ok(id) => id,
        Err(_) => find(app, &store, &args.repo)?,
    };
    block_on(store.remove_repo(id))?;
    app.output.result(&serde_json::json!({ "id": id, "removed": true }), |_| String::new())
}

/// The number of the repository with that root or URL.
fn find(app: &App, store: &SqlStore, place: &str) -> Result<i64, CommandError> {
    let absolute = app.current_dir()?.join(place);
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let page = block_on(store.list_repos(request.clone()))?;
        let found = page.items.iter().find(|repo| {
            let root = repo.found.root_path.as_deref();
            root.is_some_and(|root| absolute.as_os_str() == root)
                || root.is_none() && repo.found.remote_url.as_deref() == Some(place)
        });
        match (found, page.next_cursor) {
            (Some(repo), _) => return Ok(repo.id),
            (None, Some(cursor)) => request.cursor = Some(cursor),
            (None, None) => return Err(StoreError::not_found(Kind::Repo, place).into()),
        }
    }
}
