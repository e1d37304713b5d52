//! Tokens. Who makes one keeps its secret: only the hash comes here.

use ah_model::{Credentials, NewToken, Page, Token, TokenId};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, created, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let new = doc("Keeps a token").answers::<Token>(201).fails([409]);
    let all = doc("Tokens by id").query(params::page()).answers::<Page<Token>>(200);
    let end = doc("Ends a token now").answers::<Token>(200).fails([404]);
    let proof = doc("A token with the hash of its secret").answers::<Credentials>(200).fails([404]);
    let use_doc = doc("Notes that a token was used").fails([404]);
    Routes::new()
        .post("/tokens", Access::ADMIN, new, create)
        .get("/tokens", Access::ADMIN, all, list)
        .delete("/tokens/{id}", Access::ADMIN, end, revoke)
        .get("/tokens/{id}/credentials", Access::ADMIN, proof, credentials)
        .post("/tokens/{id}/used", Access::ADMIN, use_doc, used)
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(token, _share): JsonBody<NewToken>,
) -> Answer {
    created(&state.call(|store| async move { store.create_token(token).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_tokens(page).await }).await?)
}

async fn revoke(State(state): State<ServerState>, PathId(id): PathId<TokenId>) -> Answer {
    ok(&state.call(|store| async move { store.revoke_token(id).await }).await?)
}

async fn credentials(State(state): State<ServerState>, PathId(id): PathId<TokenId>) -> Answer {
    ok(&state.call(|store| async move { store.credentials(id).await }).await?)
}

async fn used(State(state): State<ServerState>, PathId(id): PathId<TokenId>) -> Answer {
    state.call(|store| async move { store.token_used(id).await }).await?;
    no_content()
}
