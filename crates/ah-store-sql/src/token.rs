//! Tokens in SQL.

use ah_model::{Credentials, Cursor, NewToken, Page, PageRequest, Token, TokenId, limits};
use ah_store::{Kind, StoreError, Tokens};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::text_cursor;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_all, query_first};

const SELECT: &str = "SELECT id, role, agent, name, created_at, expires_at, revoked_at, \
    last_used_at, hash FROM tokens";

fn read(row: &dyn Row) -> Result<Credentials, StoreError> {
    let row = Reader::new(row);
    let token = Token {
        id: row.parse()?,
        role: row.parse()?,
        agent: row.opt_text()?,
        name: row.opt_text()?,
        created_at: row.time()?,
        expires_at: row.opt_time()?,
        revoked_at: row.opt_time()?,
        last_used_at: row.opt_time()?,
    };
    Ok(Credentials { token, hash: row.parse()? })
}

fn get(tx: &mut dyn Tx, id: &TokenId) -> Result<Credentials, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Token, id))
}

const INSERT: &str = "INSERT INTO tokens (id, hash, role, agent, name, created_at, expires_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";

fn create(tx: &mut dyn Tx, ctx: &Resources, new: &NewToken) -> Result<Token, StoreError> {
    let hash = new.hash.to_string();
    let params = [
        new.id.as_str().into(),
        (&hash).into(),
        new.role.as_str().into(),
        new.agent.as_ref().into(),
        new.name.as_ref().into(),
        ctx.now().into(),
        new.expires_at.into(),
    ];
    if tx.execute(INSERT, &params)? == 0 {
        return Err(StoreError::conflict(Kind::Token, &new.id, "exists already"));
    }
    get(tx, &new.id).map(|known| known.token)
}

const REVOKE: &str = "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";

fn revoke(tx: &mut dyn Tx, ctx: &Resources, id: &TokenId) -> Result<Token, StoreError> {
    tx.execute(REVOKE, &[ctx.now().into(), id.as_str().into()])?;
    get(tx, id).map(|known| known.token)
}

const USED: &str = "UPDATE tokens SET last_used_at = $1 WHERE id = $2";

#[async_trait]
impl Tokens for SqlStore {
    async fn create_token(&self, token: NewToken) -> Result<Token, StoreError> {
        token.check()?;
        self.once(move |tx, ctx| create(tx, ctx, &token)).await
    }

    async fn credentials(&self, id: TokenId) -> Result<Credentials, StoreError> {
        self.read(move |tx, _| get(tx, &id)).await
    }

    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        let after = text_cursor(page.cursor.as_ref())?.unwrap_or("").to_owned();
        let more = page.limit.get() as u64 + 1;
        let sql = format!("{SELECT} WHERE id > $1 ORDER BY id LIMIT $2");
        let found = self
            .read(move |tx, _| query_all(tx, &sql, &[(&after).into(), more.into()], read))
            .await?;
        let tokens = found.into_iter().map(|known| known.token).collect();
        Ok(Page::from_overfull(tokens, page.limit, |token: &Token| {
            Cursor::Text(token.id.to_string())
        }))
    }

    async fn revoke_token(&self, id: TokenId) -> Result<Token, StoreError> {
        self.write(move |tx, ctx| revoke(tx, ctx, &id)).await
    }

    async fn token_used(&self, id: TokenId) -> Result<(), StoreError> {
        let asked = id.clone();
        let known = self.read(move |tx, _| get(tx, &asked)).await?.token;
        let now = self.inner.resources.now();
        if known.last_used_at.is_some_and(|used| used.plus_ms(limits::SEEN_EVERY_MS) > now) {
            return Ok(());
        }
        self.write(move |tx, ctx| {
            tx.execute(USED, &[ctx.now().into(), id.as_str().into()]).map(drop)
        })
        .await
    }
}
