//! Tokens in the oracle.

use ah_model::{
    Credentials, Cursor, NewToken, Page, PageRequest, Timestamp, Token, TokenId, limits,
};
use ah_store::{Kind, StoreError, Tokens};
use async_trait::async_trait;

use super::{ModelStore, Rows, after_text, overfull};

#[async_trait]
impl Tokens for ModelStore {
    async fn create_token(&self, token: NewToken) -> Result<Token, StoreError> {
        token.check()?;
        self.write_once(|rows, door| rows.create_token(token, door.now()))
    }

    async fn credentials(&self, id: TokenId) -> Result<Credentials, StoreError> {
        let found = self.read(|rows| rows.tokens.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Token, id))
    }

    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        let after = after_text(&page)?;
        self.read(|rows| {
            let tokens = rows.tokens.values().map(|credentials| &credentials.token);
            let behind = |token: &&Token| after.is_none_or(|after| token.id.as_str() > after);
            let items = overfull(tokens.filter(behind).cloned(), &page);
            let cursor = |token: &Token| Cursor::Text(token.id.to_string());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn revoke_token(&self, id: TokenId) -> Result<Token, StoreError> {
        self.write(|rows, door| {
            let token = rows.token_mut(&id)?;
            token.revoked_at.get_or_insert(door.now());
            Ok(token.clone())
        })
    }

    async fn token_used(&self, id: TokenId) -> Result<(), StoreError> {
        self.write(|rows, door| {
            let token = rows.token_mut(&id)?;
            let due = |last: Timestamp| last.plus_ms(limits::SEEN_EVERY_MS) <= door.now();
            if token.last_used_at.is_none_or(due) {
                token.last_used_at = Some(door.now());
            }
            Ok(())
        })
    }
}

impl Rows {
    fn create_token(&mut self, new: NewToken, now: Timestamp) -> Result<Token, StoreError> {
        if self.tokens.contains_key(&new.id) {
            return Err(StoreError::conflict(Kind::Token, new.id, "exists already"));
        }
        let token = Token {
            id: new.id.clone(),
            role: new.role,
            agent: new.agent,
            name: new.name,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        let credentials = Credentials { token: token.clone(), hash: new.hash };
        self.tokens.insert(new.id, credentials);
        Ok(token)
    }

    fn token_mut(&mut self, id: &TokenId) -> Result<&mut Token, StoreError> {
        match self.tokens.get_mut(id) {
            Some(credentials) => Ok(&mut credentials.token),
            None => Err(StoreError::not_found(Kind::Token, id)),
        }
    }
}
