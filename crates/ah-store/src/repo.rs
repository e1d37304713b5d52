//! Repositories.

use ah_model::{
    NewRepo, Page, PageRequest, Relocated, Relocation, Repo, RepoPath, RepoSighting, Sighted,
};
use async_trait::async_trait;

use crate::StoreError;

/// Where sessions work.
#[async_trait]
pub trait Repos {
    /// Registers a repository, or brings a known one up to date. It is known by its root path, or
    /// by its remote URL when neither has a root path.
    async fn put_repo(&self, repo: NewRepo) -> Result<Repo, StoreError>;

    /// The repository with that number.
    async fn repo(&self, id: i64) -> Result<Repo, StoreError>;

    /// The repositories, by number.
    async fn list_repos(&self, page: PageRequest) -> Result<Page<Repo>, StoreError>;

    /// Forgets a repository; one with sessions is a conflict.
    async fn remove_repo(&self, id: i64) -> Result<(), StoreError>;

    /// Registers what was seen at a path, unless it is known there, together with its marks. When
    /// [`RepoSighting::whereabouts`] says that a known one moved there, it does: its former path is
    /// kept, the directories of its sessions below that path follow, and the feed tells of it.
    async fn see_repo(&self, sighting: RepoSighting) -> Result<Sighted, StoreError>;

    /// The repositories with that fingerprint, by number; at most
    /// [`ah_model::limits::REPO_LOOKALIKES_MAX`].
    async fn repos_like(&self, fingerprint: String) -> Result<Vec<Repo>, StoreError>;

    /// The repository that is, or else was last, at that path or nearest above it. One without
    /// version control is only its own directory, not what is below.
    async fn repo_at(&self, path: String) -> Result<Option<Repo>, StoreError>;

    /// Where a repository was before, newest first; at most
    /// [`ah_model::limits::REPO_LOOKALIKES_MAX`].
    async fn repo_paths(&self, id: i64) -> Result<Vec<RepoPath>, StoreError>;

    /// Moves all repositories at and below a directory, with their former paths kept, and the
    /// directories of all sessions and drafts below it. A repository that is known at a new path
    /// already is joined with the one that comes there. Done again it changes nothing.
    async fn relocate(&self, relocation: Relocation) -> Result<Relocated, StoreError>;
}
