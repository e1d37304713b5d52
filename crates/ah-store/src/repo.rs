//! Repositories.

use ah_model::{NewRepo, Page, PageRequest, Repo};
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
}
