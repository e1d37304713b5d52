//! Repositories.

use ah_model::{
    NewRepo, Page, PageRequest, Relocated, Relocation, Repo, RepoPath, RepoSighting, Sighted,
};
use ah_store::{Repos, StoreError};
use async_trait::async_trait;
use serde::Deserialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

/// An answer that may be about nothing.
#[derive(Deserialize)]
struct Found {
    // Without this an absent key would be taken for none.
    #[serde(deserialize_with = "Option::deserialize")]
    repo: Option<Repo>,
}

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

    async fn see_repo(&self, sighting: RepoSighting) -> Result<Sighted, StoreError> {
        self.http.send(Method::PUT, &Target::new(["repo-sightings"]), &sighting)
    }

    async fn repos_like(&self, fingerprint: String) -> Result<Vec<Repo>, StoreError> {
        self.http.items(Target::new(["repo-fingerprints"]).pair("fingerprint", fingerprint))
    }

    async fn repo_at(&self, path: String) -> Result<Option<Repo>, StoreError> {
        let target = Target::new(["repo-paths"]).pair("path", path);
        self.http.get(&target).map(|Found { repo }| repo)
    }

    async fn repo_paths(&self, id: i64) -> Result<Vec<RepoPath>, StoreError> {
        self.http.items(Target::new(["repos", &id.to_string(), "paths"]))
    }

    async fn relocate(&self, relocation: Relocation) -> Result<Relocated, StoreError> {
        self.http.send(Method::PUT, &Target::new(["repo-relocations"]), &relocation)
    }
}
