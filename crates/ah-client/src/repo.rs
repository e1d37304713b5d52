//! Repositories.

use ah_model::{NewRepo, Page, PageRequest, Repo};
use ah_store::{Repos, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

fn repo_of(id: i64) -> Target {
    Target::new(["repos", &id.to_string()])
}

#[async_trait]
impl Repos for RestStore {
    async fn put_repo(&self, repo: NewRepo) -> Result<Repo, StoreError> {
        self.http.send(Method::PUT, &Target::new(["repos"]), &repo)
    }

    async fn repo(&self, id: i64) -> Result<Repo, StoreError> {
        self.http.get(&repo_of(id))
    }

    async fn list_repos(&self, page: PageRequest) -> Result<Page<Repo>, StoreError> {
        self.http.list(Target::new(["repos"]).query(&page))
    }

    async fn remove_repo(&self, id: i64) -> Result<(), StoreError> {
        self.http.delete(&repo_of(id))
    }
}
