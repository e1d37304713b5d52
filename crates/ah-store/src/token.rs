//! Tokens.

use ah_model::{Credentials, NewToken, Page, PageRequest, Token, TokenId};
use async_trait::async_trait;

use crate::StoreError;

/// Who may do what over the network.
#[async_trait]
pub trait Tokens {
    /// Keeps a token; an id that is taken is a conflict.
    async fn create_token(&self, token: NewToken) -> Result<Token, StoreError>;

    /// The token of that id with the hash that proves it, good or not.
    async fn credentials(&self, id: TokenId) -> Result<Credentials, StoreError>;

    /// Tokens by id, without their hashes.
    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError>;

    /// Ends a token now; again is no change.
    async fn revoke_token(&self, id: TokenId) -> Result<Token, StoreError>;

    /// Notes a use, no more often than [`ah_model::limits::SEEN_EVERY_MS`].
    async fn token_used(&self, id: TokenId) -> Result<(), StoreError>;
}
