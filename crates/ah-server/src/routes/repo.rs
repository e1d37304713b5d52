//! Repositories.

use ah_model::{NewRepo, Page, Relocated, Relocation, Repo, RepoPath, RepoSighting, Sighted};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::answer::{Answer, Items, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathNumber};
use crate::routing::{Param, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let put = doc("Records a repository").answers::<Repo>(200);
    let all = doc("Repositories").query(params::page()).answers::<Page<Repo>>(200);
    let one = doc("Shows a repository").answers::<Repo>(200).fails([404]);
    let gone = doc("Forgets a repository without sessions").fails([404, 409]);
    Routes::new()
        .put("/repos", Access::EXECUTE, put, put_repo)
        .get("/repos", Access::LOOK, all, list)
        .get("/repos/{id}", Access::LOOK, one, show)
        .delete("/repos/{id}", Access::OPERATE, gone, remove)
        .get("/repos/{id}/paths", Access::LOOK, docs::paths(), paths)
        .put("/repo-sightings", Access::EXECUTE, docs::see(), see)
        .get("/repo-fingerprints", Access::LOOK, docs::like(), like)
        .get("/repo-paths", Access::LOOK, docs::at(), at)
        .put("/repo-relocations", Access::OPERATE, docs::relocate(), relocate)
}

mod docs {
    use super::*;
    use crate::routing::Doc;

    pub(super) fn paths() -> Doc {
        doc("Where a repository was before").answers::<Items<RepoPath>>(200).fails([404])
    }

    pub(super) fn see() -> Doc {
        doc("Records a repository that was seen at a path, perhaps a known one that moved there")
            .answers::<Sighted>(200)
    }

    pub(super) fn like() -> Doc {
        let fingerprint = Param::text("fingerprint", "What they are known by").required();
        doc("The repositories with a fingerprint").query([fingerprint]).answers::<Items<Repo>>(200)
    }

    pub(super) fn at() -> Doc {
        let path = Param::text("path", "The path").required();
        doc("Finds the repository that is, or was last, at a path or nearest above it")
            .query([path])
            .answers::<Found>(200)
    }

    pub(super) fn relocate() -> Doc {
        doc("Moves all repositories and sessions at and below a directory")
            .answers::<Relocated>(200)
    }
}

/// What a lookup found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FoundRepo")]
struct Found {
    repo: Option<Repo>,
}

async fn put_repo(
    State(state): State<ServerState>,
    JsonBody(repo, _share): JsonBody<NewRepo>,
) -> Answer {
    ok(&state.call(|store| async move { store.put_repo(repo).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_repos(page).await }).await?)
}

async fn show(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    ok(&state.call(move |store| async move { store.repo(id).await }).await?)
}

async fn remove(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    state.call(move |store| async move { store.remove_repo(id).await }).await?;
    no_content()
}

async fn paths(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    let paths = state.call(move |store| async move { store.repo_paths(id).await });
    ok(&Items { items: paths.await? })
}

async fn see(
    State(state): State<ServerState>,
    JsonBody(sighting, _share): JsonBody<RepoSighting>,
) -> Answer {
    ok(&state.call(|store| async move { store.see_repo(sighting).await }).await?)
}

async fn like(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let fingerprint = pairs.text("fingerprint")?;
    let like = state.call(|store| async move { store.repos_like(fingerprint).await });
    ok(&Items { items: like.await? })
}

async fn at(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let path = pairs.text("path")?;
    let repo = state.call(|store| async move { store.repo_at(path).await }).await?;
    ok(&Found { repo })
}

async fn relocate(
    State(state): State<ServerState>,
    JsonBody(relocation, _share): JsonBody<Relocation>,
) -> Answer {
    ok(&state.call(|store| async move { store.relocate(relocation).await }).await?)
}
