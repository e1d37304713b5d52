//! Repositories in SQL.

use ah_model::{NewRepo, Page, PageRequest, Repo, Vcs};
use ah_store::{Kind, Repos, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_first};

const BY_ROOT: &str = "SELECT id, vcs, root_path, remote_url, default_branch, created_at \
    FROM repos WHERE root_path = $1";
const BY_URL: &str = "SELECT id, vcs, root_path, remote_url, default_branch, created_at \
    FROM repos WHERE root_path IS NULL AND remote_url = $1";
const INSERT: &str = "INSERT INTO repos (vcs, root_path, remote_url, default_branch, created_at) \
    VALUES ($1, $2, $3, $4, $5) \
    RETURNING id, vcs, root_path, remote_url, default_branch, created_at";
const UPDATE: &str = "UPDATE repos SET vcs = $1, remote_url = coalesce($2, remote_url), \
    default_branch = coalesce($3, default_branch) WHERE id = $4 \
    RETURNING id, vcs, root_path, remote_url, default_branch, created_at";

/// The repository, registered if it has not been seen and brought up to date if it changed.
pub(crate) fn put(tx: &mut dyn Tx, ctx: &Resources, repo: &NewRepo) -> Result<Repo, StoreError> {
    let known = match &repo.root_path {
        Some(root) => query_first(tx, BY_ROOT, &[root.into()], read)?,
        None => query_first(tx, BY_URL, &[repo.remote_url.as_ref().into()], read)?,
    };
    let (url, branch) = (repo.remote_url.as_ref(), repo.default_branch.as_ref());
    let vcs = repo.vcs.as_str().into();
    let row = match known {
        Some(known) if is_news(repo, &known.found) => {
            query_first(tx, UPDATE, &[vcs, url.into(), branch.into(), known.id.into()], read)?
        }
        Some(known) => Some(known),
        None => {
            let root = repo.root_path.as_ref();
            let params = [vcs, root.into(), url.into(), branch.into(), ctx.now().into()];
            query_first(tx, INSERT, &params, read)?
        }
    };
    row.ok_or_else(|| StoreError::backend("register a repository", "no row came back"))
}

/// Whether `found` says something that is not `known`.
fn is_news(found: &NewRepo, known: &NewRepo) -> bool {
    found.vcs != known.vcs
        || found.remote_url.is_some() && found.remote_url != known.remote_url
        || found.default_branch.is_some() && found.default_branch != known.default_branch
}

const GET: &str = "SELECT id, vcs, root_path, remote_url, default_branch, created_at \
    FROM repos WHERE id = $1";
const LIST: &str = "SELECT id, vcs, root_path, remote_url, default_branch, created_at \
    FROM repos WHERE id > $1 ORDER BY id LIMIT $2";
const A_SESSION: &str = "SELECT id FROM sessions WHERE repo_id = $1 LIMIT 1";
const DELETE: &str = "DELETE FROM repos WHERE id = $1";

fn remove(tx: &mut dyn Tx, id: i64) -> Result<(), StoreError> {
    if let Some(session) = query_first(tx, A_SESSION, &[id.into()], |row| row.text(0))? {
        let reason = format!("has sessions, {session} among them");
        return Err(StoreError::conflict(Kind::Repo, id, reason));
    }
    match tx.execute(DELETE, &[id.into()])? {
        0 => Err(StoreError::not_found(Kind::Repo, id)),
        _ => Ok(()),
    }
}

fn read(row: &dyn Row) -> Result<Repo, StoreError> {
    let row = Reader::new(row);
    Ok(Repo { id: row.int()?, found: read_found(&row)?, created_at: row.time()? })
}

/// The columns vcs, root_path, remote_url, default_branch. A system nobody knows is none.
pub(crate) fn read_found(row: &Reader<'_>) -> Result<NewRepo, StoreError> {
    Ok(NewRepo {
        vcs: row.text()?.parse().unwrap_or(Vcs::None),
        root_path: row.opt_text()?,
        remote_url: row.opt_text()?,
        default_branch: row.opt_text()?,
    })
}

#[async_trait]
impl Repos for SqlStore {
    async fn put_repo(&self, repo: NewRepo) -> Result<Repo, StoreError> {
        repo.check()?;
        self.write(move |tx, ctx| put(tx, ctx, &repo)).await
    }

    async fn repo(&self, id: i64) -> Result<Repo, StoreError> {
        self.read(move |tx, _| {
            query_first(tx, GET, &[id.into()], read)?
                .ok_or_else(|| StoreError::not_found(Kind::Repo, id))
        })
        .await
    }

    async fn list_repos(&self, page: PageRequest) -> Result<Page<Repo>, StoreError> {
        self.page_by_number(LIST, page, read, |repo| repo.id).await
    }

    async fn remove_repo(&self, id: i64) -> Result<(), StoreError> {
        self.write(move |tx, _| remove(tx, id)).await
    }
}
