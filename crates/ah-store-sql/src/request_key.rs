//! Keyed requests in SQL: the answer is kept with what was done, in one transaction.

use ah_model::{RequestKey, limits};
use ah_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::SqlStore;
use crate::resources::Resources;
use crate::tx::{Tx, query_first};

impl SqlStore {
    /// As [`SqlStore::write`]; with a key, what was done once is answered again, not done again.
    pub(crate) async fn once<T>(
        &self,
        work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.once_if(|_| true, work).await
    }

    /// As [`Self::once`], but an answer that is not worth keeping is not kept: the next request of
    /// that key is done.
    pub(crate) async fn once_if<T>(
        &self,
        worth_keeping: fn(&T) -> bool,
        mut work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        let Some(key) = self.key.clone() else {
            return self.write(work).await;
        };
        self.write(move |tx, ctx| {
            if let Some(answer) = claim_key(tx, ctx, &key)? {
                return serde_json::from_str(&answer)
                    .map_err(|error| StoreError::corrupt("a kept answer", error));
            }
            let value = work(tx, ctx)?;
            match worth_keeping(&value) {
                true => keep(tx, &key, &value)?,
                false => give_up(tx, &key)?,
            }
            Ok(value)
        })
        .await
    }
}

const CLAIM: &str = "INSERT INTO request_keys (k, fingerprint, answer, created_at) \
    VALUES ($1, $2, '', $3) ON CONFLICT (k) DO NOTHING";
const FIND: &str = "SELECT fingerprint, answer FROM request_keys WHERE k = $1";

/// Takes the key for this transaction, or gives the answer that it has. Another request with the
/// same key, under way elsewhere, is waited for by the insert itself.
fn claim_key(
    tx: &mut dyn Tx,
    ctx: &Resources,
    key: &RequestKey,
) -> Result<Option<String>, StoreError> {
    let params = [(&key.key).into(), (&key.fingerprint).into(), ctx.now().into()];
    if tx.execute(CLAIM, &params)? == 1 {
        return Ok(None);
    }
    let found =
        query_first(tx, FIND, &[(&key.key).into()], |row| Ok((row.text(0)?, row.text(1)?)))?;
    match found {
        Some((fingerprint, answer)) if fingerprint == key.fingerprint => Ok(Some(answer)),
        Some(_) => Err(key.reused().into()),
        None => Err(StoreError::Busy { retry_after: std::time::Duration::from_millis(10) }),
    }
}

const KEEP: &str = "UPDATE request_keys SET answer = $1 WHERE k = $2";

fn keep(tx: &mut dyn Tx, key: &RequestKey, value: &impl Serialize) -> Result<(), StoreError> {
    let answer = serde_json::to_string(value)
        .map_err(|error| StoreError::backend("keep an answer", error))?;
    tx.execute(KEEP, &[(&answer).into(), (&key.key).into()]).map(drop)
}

const GIVE_UP: &str = "DELETE FROM request_keys WHERE k = $1";

fn give_up(tx: &mut dyn Tx, key: &RequestKey) -> Result<(), StoreError> {
    tx.execute(GIVE_UP, &[(&key.key).into()]).map(drop)
}

const OLD: &str = "SELECT k FROM request_keys WHERE created_at <= $1 LIMIT 1";
const FORGET: &str = "DELETE FROM request_keys WHERE k IN \
    (SELECT k FROM request_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";

fn too_old(ctx: &Resources) -> ah_model::Timestamp {
    ctx.now().minus_ms(i64::try_from(limits::REQUEST_KEY_MS).unwrap_or(i64::MAX))
}

/// Whether an answer is too old to keep.
pub(crate) fn is_due(tx: &mut dyn Tx, ctx: &Resources) -> Result<bool, StoreError> {
    Ok(query_first(tx, OLD, &[too_old(ctx).into()], |row| row.text(0))?.is_some())
}

/// Most answers that one sweep drops: more than a busy server keeps in the second between two.
const FORGET_MAX: u64 = 20_000;

/// Drops answers that are too old, a bounded number.
pub(crate) fn forget(tx: &mut dyn Tx, ctx: &Resources) -> Result<(), StoreError> {
    tx.execute(FORGET, &[too_old(ctx).into(), FORGET_MAX.into()]).map(drop)
}
