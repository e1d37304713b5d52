//! What mail, approvals and questions share in SQL: what is due, waiting, and bringing them in.
//!
//! Applying what is due costs one look at two indexes; only when there is something, a write.

use std::sync::PoisonError;

use ah_model::{
    Approval, Awaited, HiveImport, HiveImported, HiveSwept, Message, Party, Question, limits,
};
use ah_store::{Hive, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::SqlStore;
use crate::party::{self, Standing};
use crate::resources::Resources;
use crate::tx::{Tx, query_first};
use crate::{approval, lull, message, question};

/// Whether time has decided anything that is not applied yet.
pub(crate) fn is_due(tx: &mut dyn Tx, ctx: &Resources) -> Result<bool, StoreError> {
    let now = ctx.now();
    if lull::covers(tx, now) {
        return Ok(false);
    }
    if let Some(end) = lull::begin(tx)? {
        return Ok(end <= now);
    }
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE {}) \
         OR EXISTS (SELECT 1 FROM questions WHERE {})",
        message::DUE,
        question::DUE
    );
    Ok(query_first(tx, &sql, &[now.into()], |row| row.bool(0))?.unwrap_or(false))
}

/// Applies what time has decided, to a bounded number: leases first, then deadlines. All who are
/// concerned are kept before the first row is locked.
fn apply_due(tx: &mut dyn Tx, ctx: &Resources) -> Result<HiveSwept, StoreError> {
    if !is_due(tx, ctx)? {
        return Ok(HiveSwept::default());
    }
    let now = ctx.now();
    let lapsed = message::lapsed(tx, now, limits::SWEEP_MAX)?;
    let overdue = question::overdue(tx, now, limits::SWEEP_MAX)?;
    let writers = lapsed.iter().map(|(_, writer)| writer);
    let concerned: Vec<&Party> =
        writers.chain(overdue.iter().flat_map(|(_, parties)| parties)).collect();
    party::keep(tx, &concerned)?;
    let mut swept = message::lapse(tx, ctx, now, &lapsed)?;
    let done = usize::try_from(swept.requeued + swept.dead).unwrap_or(limits::SWEEP_MAX);
    let left = limits::SWEEP_MAX.saturating_sub(done).min(overdue.len());
    swept.expired = question::expire(tx, ctx, now, &overdue[..left])?;
    Ok(swept)
}

/// What is due is applied in a transaction of its own: it stays even if what comes then is refused.
/// Work that finds something due does nothing, and is done after that.
impl SqlStore {
    /// As [`SqlStore::read`], once what is due has been applied.
    pub(crate) async fn read_as_due<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(found) = self.read(unless_due(work.clone())).await? {
            return Ok(found);
        }
        self.write(apply_due).await?;
        self.read(work).await
    }

    /// As [`SqlStore::write`], once what is due has been applied.
    pub(crate) async fn write_as_due<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(done) = self.write(unless_due(work.clone())).await? {
            return Ok(done);
        }
        self.write(apply_due).await?;
        self.write(work).await
    }

    /// As [`SqlStore::once_if`], once what is due has been applied; `worth_keeping` is asked about
    /// what was done.
    pub(crate) async fn once_as_due<T>(
        &self,
        worth_keeping: fn(&Option<T>) -> bool,
        mut work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        if let Some(done) = self.once_if(worth_keeping, unless_due(work.clone())).await? {
            return Ok(done);
        }
        self.write(apply_due).await?;
        let done = self.once_if(worth_keeping, move |tx, ctx| work(tx, ctx).map(Some)).await?;
        done.ok_or_else(|| StoreError::backend("run a transaction", "it gave no result"))
    }
}

/// `work`, or nothing while something is due.
fn unless_due<T>(
    mut work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError>,
) -> impl FnMut(&mut dyn Tx, &Resources) -> Result<Option<T>, StoreError> {
    move |tx, ctx| match is_due(tx, ctx)? {
        true => Ok(None),
        false => work(tx, ctx).map(Some),
    }
}

/// Whether there may be what is awaited.
fn is_there(tx: &mut dyn Tx, ctx: &Resources, awaited: &Awaited) -> Result<bool, StoreError> {
    match awaited {
        Awaited::Mail(party) => {
            let party = party::resolve_one(tx, party, Standing::Known)?;
            message::is_receivable(tx, &party, ctx.now())
        }
        Awaited::Question(id) => question::is_over(tx, id),
        Awaited::Approval(id) => approval::is_over(tx, id),
    }
}

/// Also of changes that were removed since.
const NEWEST_CHANGE: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'";

impl SqlStore {
    /// The number of the newest change once `commit` was heard of. On PostgreSQL a change may come
    /// to light behind one with a higher number, so there it tells nothing.
    async fn newest_change(&self, commit: u64) -> Result<Option<i64>, StoreError> {
        if self.sqlite().is_none() {
            return Ok(None);
        }
        let known = || {
            let newest = &self.inner.resources.newest_change;
            newest.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((_, number)) = known().filter(|(heard, _)| *heard == commit) {
            return Ok(Some(number));
        }
        let number = self.read(|tx, _| query_first(tx, NEWEST_CHANGE, &[], |row| row.int(0)));
        let number = number.await?.unwrap_or(0);
        *known() = Some((commit, number));
        Ok(Some(number))
    }
}

/// What became of a row that was brought in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Imported {
    Created,
    Updated,
    Present,
}

fn count(done: &mut HiveImported, imported: Imported) {
    match imported {
        Imported::Created => done.created += 1,
        Imported::Updated => done.updated += 1,
        Imported::Present => done.present += 1,
    }
}

/// Brings everything in, each kind in its own order. All that can be told of are kept from being
/// purged before the first row is locked.
fn import(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut import: HiveImport,
) -> Result<HiveImported, StoreError> {
    import.messages.sort_by_key(|message| message.number);
    import.approvals.sort_by_key(|approval| approval.number);
    import.questions.sort_by_key(|question| question.number);
    let mut done = HiveImported::default();
    for message in import.messages {
        let [from, to] = spelt(tx, [&message.from, &message.to])?;
        count(&mut done, message::import(tx, ctx, Message { from, to, ..message })?);
    }
    for approval in import.approvals {
        let agent = Party::Agent(approval.agent.clone());
        let agent = party::resolve(tx, &[&agent], Standing::Known)?.remove(0).to_string();
        count(&mut done, approval::import(tx, ctx, Approval { agent, ..approval })?);
    }
    for question in import.questions {
        let [from, to] = spelt(tx, [&question.from, &question.to])?;
        count(&mut done, question::import(tx, ctx, Question { from, to, ..question })?);
    }
    Ok(done)
}

fn spelt(tx: &mut dyn Tx, parties: [&Party; 2]) -> Result<[Party; 2], StoreError> {
    let spelt = party::resolve(tx, &parties, Standing::Known)?;
    Ok(spelt.try_into().unwrap_or(parties.map(Party::clone)))
}

#[async_trait]
impl Hive for SqlStore {
    async fn sweep_hive(&self) -> Result<HiveSwept, StoreError> {
        if !self.read(is_due).await? {
            return Ok(HiveSwept::default());
        }
        self.write(apply_due).await
    }

    async fn wait_for(&self, awaited: Awaited) -> Result<(), StoreError> {
        // Subscribed before the first look, and marked as seen before every look: a commit during
        // it wakes the next round.
        let mut commits = self.subscribe()?;
        let mut looked = None;
        loop {
            let commit = *commits.borrow_and_update();
            let newest = self.newest_change(commit).await?;
            // Most commits are events. Whatever is awaited comes with a change.
            if newest.is_none() || newest != looked {
                let wanted = awaited.clone();
                if self.read(move |tx, ctx| is_there(tx, ctx, &wanted)).await? {
                    return Ok(());
                }
                looked = newest;
            }
            let closed = |_| StoreError::backend("wait", "the store was closed");
            commits.changed().await.map_err(closed)?;
        }
    }

    async fn import_hive(&self, wanted: HiveImport) -> Result<HiveImported, StoreError> {
        wanted.check()?;
        let wanted = self.clean(wanted);
        self.once_as_due(Option::is_some, move |tx, ctx| import(tx, ctx, wanted.clone())).await
    }
}
