//! Repositories in the oracle.

use ah_model::{
    NewRepo, Page, PageRequest, Relocated, Relocation, Repo, RepoMarks, RepoPath, RepoSighting,
    Sighted, Timestamp,
};
use ah_store::{Kind, Repos, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows, numbered_page};

#[async_trait]
impl Repos for ModelStore {
    async fn put_repo(&self, repo: NewRepo) -> Result<Repo, StoreError> {
        repo.check()?;
        self.write(|rows, door| Ok(rows.put_repo(repo, door.now())))
    }

    async fn repo(&self, id: i64) -> Result<Repo, StoreError> {
        let found = self.read(|rows| rows.repos.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Repo, id))
    }

    async fn list_repos(&self, page: PageRequest) -> Result<Page<Repo>, StoreError> {
        self.read(|rows| numbered_page(&rows.repos, &page, |repo| repo.id))
    }

    async fn remove_repo(&self, id: i64) -> Result<(), StoreError> {
        self.write(|rows, _| {
            if rows.repos.remove(&id).is_none() {
                return Err(StoreError::not_found(Kind::Repo, id));
            }
            rows.repo_paths.retain(|(of, _)| *of != id);
            let user = rows.sessions.values().find(|s| s.repo_id == Some(id));
            user.map_or(Ok(()), |session| {
                let reason = format!("session {} works in it", session.id);
                Err(StoreError::conflict(Kind::Repo, id, reason))
            })
        })
    }

    async fn see_repo(&self, sighting: RepoSighting) -> Result<Sighted, StoreError> {
        sighting.check()?;
        self.write(|rows, door| Ok(rows.see_repo(sighting, door.now())))
    }

    async fn repos_like(&self, fingerprint: String) -> Result<Vec<Repo>, StoreError> {
        let is_it = |repo: &&Repo| repo.marks.fingerprint.as_deref() == Some(&fingerprint);
        Ok(self.read(|rows| rows.repos.values().filter(is_it).cloned().collect()))
    }

    async fn repo_at(&self, path: String) -> Result<Option<Repo>, StoreError> {
        Ok(self.read(|rows| rows.repo_at(&path)))
    }

    async fn repo_paths(&self, id: i64) -> Result<Vec<RepoPath>, StoreError> {
        self.repo(id).await?;
        let was = |rows: &Rows| rows.former_paths(id);
        Ok(self.read(was))
    }

    async fn relocate(&self, relocation: Relocation) -> Result<Relocated, StoreError> {
        relocation.check()?;
        self.write(|rows, door| rows.relocate(&relocation, door.now()))
    }
}

impl Rows {
    /// Registers `new`, or brings the known one up to date with what `new` knows.
    pub(super) fn put_repo(&mut self, new: NewRepo, now: Timestamp) -> Repo {
        let known = self.repos.values_mut().find(|row| same(&row.found, &new));
        if let Some(known) = known {
            known.found.vcs = new.vcs;
            known.found.remote_url = new.remote_url.or(known.found.remote_url.take());
            known.found.default_branch = new.default_branch.or(known.found.default_branch.take());
            return known.clone();
        }
        let id = self.next_number();
        let marks = RepoMarks::default();
        let row = Repo { id, found: new, marks, created_at: now, moved_at: None };
        self.repos.insert(id, row.clone());
        row
    }
}

/// Known by the root path; by the remote URL when neither has a root path.
fn same(known: &NewRepo, new: &NewRepo) -> bool {
    known.root_path == new.root_path
        && (new.root_path.is_some() || known.remote_url == new.remote_url)
}
