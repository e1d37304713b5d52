//! Tokens.

use ah_model::{Credentials, NewToken, Page, PageRequest, Token, TokenId};
use ah_store::{StoreError, Tokens};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

fn token_target(id: &TokenId, part: &str) -> Target {
    Target::new(["tokens", id.as_str(), part])
}

#[async_trait]
impl Tokens for RestStore {
    async fn create_token(&self, token: NewToken) -> Result<Token, StoreError> {
        self.create(Method::POST, &Target::new(["tokens"]), &token)
    }

    async fn credentials(&self, id: TokenId) -> Result<Credentials, StoreError> {
        self.http.get(&token_target(&id, "credentials"))
    }

    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        self.http.list(Target::new(["tokens"]).query(&page))
    }

    async fn revoke_token(&self, id: TokenId) -> Result<Token, StoreError> {
        self.http.order(Method::DELETE, &Target::new(["tokens", id.as_str()]))
    }

    async fn token_used(&self, id: TokenId) -> Result<(), StoreError> {
        self.http.note(&token_target(&id, "used"))
    }
}
