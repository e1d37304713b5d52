//! Repositories in SQL.

use ah_model::{
    NewRepo, Page, PageRequest, Relocated, Relocation, Repo, RepoMarks, RepoPath, RepoSighting,
    Sighted, Vcs,
};
use ah_store::{Kind, Repos, StoreError};
use async_trait::async_trait;

use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_first};
use crate::{SqlStore, relocation};

/// Every column that [`read`] takes.
macro_rules! columns {
    () => {
        "id, vcs, root_path, remote_url, default_branch, fingerprint, remote_key, host, \
         created_at, moved_at"
    };
}
pub(crate) use columns;

const BY_ROOT: &str = concat!("SELECT ", columns!(), " FROM repos WHERE root_path = $1");
const BY_URL: &str =
    concat!("SELECT ", columns!(), " FROM repos WHERE root_path IS NULL AND remote_url = $1");
const INSERT: &str = concat!(
    "INSERT INTO repos (vcs, root_path, remote_url, default_branch, created_at) \
     VALUES ($1, $2, $3, $4, $5) RETURNING ",
    columns!()
);
const UPDATE: &str = concat!(
    "UPDATE repos SET vcs = $1, remote_url = coalesce($2, remote_url), \
     default_branch = coalesce($3, default_branch) WHERE id = $4 RETURNING ",
    columns!()
);

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

const GET: &str = concat!("SELECT ", columns!(), " FROM repos WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM repos WHERE id > $1 ORDER BY id LIMIT $2");

/// The repository with that number.
pub(crate) fn get(tx: &mut dyn Tx, id: i64) -> Result<Repo, StoreError> {
    query_first(tx, GET, &[id.into()], read)?.ok_or_else(|| StoreError::not_found(Kind::Repo, id))
}

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

pub(crate) fn read(row: &dyn Row) -> Result<Repo, StoreError> {
    let row = Reader::new(row);
    Ok(Repo {
        id: row.int()?,
        found: read_found(&row)?,
        marks: RepoMarks {
            fingerprint: row.opt_text()?,
            remote_key: row.opt_text()?,
            host: row.opt_text()?,
        },
        created_at: row.time()?,
        moved_at: row.opt_time()?,
    })
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
        self.read(move |tx, _| get(tx, id)).await
    }

    async fn list_repos(&self, page: PageRequest) -> Result<Page<Repo>, StoreError> {
        self.page_by_number(LIST, page, read, |repo| repo.id).await
    }

    async fn remove_repo(&self, id: i64) -> Result<(), StoreError> {
        self.write(move |tx, _| remove(tx, id)).await
    }

    async fn see_repo(&self, sighting: RepoSighting) -> Result<Sighted, StoreError> {
        sighting.check()?;
        self.write(move |tx, ctx| relocation::see(tx, ctx, &sighting)).await
    }

    async fn repos_like(&self, fingerprint: String) -> Result<Vec<Repo>, StoreError> {
        self.read(move |tx, _| relocation::like(tx, &fingerprint)).await
    }

    async fn repo_at(&self, path: String) -> Result<Option<Repo>, StoreError> {
        self.read(move |tx, _| relocation::at(tx, &path)).await
    }

    async fn repo_paths(&self, id: i64) -> Result<Vec<RepoPath>, StoreError> {
        self.read(move |tx, _| relocation::paths(tx, id)).await
    }

    async fn relocate(&self, relocation: Relocation) -> Result<Relocated, StoreError> {
        relocation.check()?;
        self.write(move |tx, ctx| relocation::relocate(tx, ctx, &relocation)).await
    }
}
