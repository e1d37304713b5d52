//! Scrubbing in SQL: rows are read and looked through outside of the transaction that writes, which
//! only touches the few that hold secrets.
//!
//! On SQLite what is overwritten or freed is filled with zeros, and the write-ahead log is emptied at
//! the end, so that the bytes are gone from the files.

mod rows;
mod table;

use ah_model::{
    Amount, Receipt, ReceiptKind, Redactions, Scrub, ScrubCursor, ScrubPlace, ScrubStep, Tally,
};
use ah_store::{Scrubs, StoreError};
use async_trait::async_trait;

use self::rows::Looked;
use self::table::Table;
use crate::resources::Resources;
use crate::retention::receipt;
use crate::search::upkeep;
use crate::tx::{Dialect, More, Tx};
use crate::{Engine, SqlStore};

#[async_trait]
impl Scrubs for SqlStore {
    async fn scrub_step(&self, scrub: Scrub) -> Result<ScrubStep, StoreError> {
        let start = scrub.start();
        let step = match (table::of(start.place), start.place) {
            (Some(table), _) => self.scrub_rows(&scrub, &start, table).await?,
            (None, ScrubPlace::Index) => self.scrub_index(&scrub).await?,
            (None, _) => self.scrub_file(&scrub).await?,
        };
        if scrub.dry_run || step.receipt.is_some() {
            return Ok(step);
        }
        let (done, more) = (Tally::default(), step.next.is_some());
        let receipt = self.write(move |tx, ctx| add(tx, ctx, &done, more)).await?;
        Ok(ScrubStep { receipt: Some(receipt), ..step })
    }
}

impl SqlStore {
    async fn scrub_rows(
        &self,
        scrub: &Scrub,
        start: &ScrubCursor,
        table: &'static Table,
    ) -> Result<ScrubStep, StoreError> {
        let (asked, after) = (scrub.clone(), start.after.clone());
        let looked =
            self.read(move |tx, _| rows::look(tx, table, &asked, after.as_deref())).await?;
        let place = start.place;
        let next = match looked.last.clone() {
            Some(last) => Some(ScrubCursor { place, after: Some(last) }),
            None => scrub.behind(place),
        };
        let Looked { rows, keys, found, findings, .. } = looked;
        let changed = keys.len() as u64;
        let findings = findings.into_iter().map(|finding| finding.at(place)).collect();
        let mut step =
            ScrubStep { place, rows, changed, found, findings, receipt: None, next: next.clone() };
        if changed > 0 && !scrub.dry_run {
            let write = move |tx: &mut dyn Tx, ctx: &Resources| {
                let (changed, found) = overwriting(tx, |tx| rows::clean(tx, table, &keys))?;
                let receipt = add(tx, ctx, &tally(place, changed, &found), next.is_some())?;
                Ok((changed, found, receipt))
            };
            let (changed, found, receipt) = self.write(write).await?;
            (step.changed, step.found, step.receipt) = (changed, found, Some(receipt));
        }
        Ok(step)
    }

    /// Sees to it that words that were taken out of the index leave the file.
    async fn scrub_index(&self, scrub: &Scrub) -> Result<ScrubStep, StoreError> {
        let place = ScrubPlace::Index;
        let next = match upkeep::settle(self).await? {
            true => Some(ScrubCursor { place, after: None }),
            false => scrub.behind(place),
        };
        Ok(nothing(place, next))
    }

    /// Gives back the pages that nothing uses, which may hold what was deleted long ago, and empties the
    /// write-ahead log. While somebody reads what is older it cannot be: then this step comes again.
    async fn scrub_file(&self, scrub: &Scrub) -> Result<ScrubStep, StoreError> {
        let place = ScrubPlace::File;
        let emptied = match &self.inner.engine {
            Engine::Sqlite(engine) => !engine.reclaim().await?.more && engine.empty_log()?,
            Engine::Postgres(_) => true,
        };
        let next = match emptied {
            true => scrub.behind(place),
            false => Some(ScrubCursor { place, after: None }),
        };
        Ok(nothing(place, next))
    }
}

fn nothing(place: ScrubPlace, next: Option<ScrubCursor>) -> ScrubStep {
    let found = Redactions::default();
    ScrubStep { place, rows: 0, changed: 0, found, findings: vec![], receipt: None, next }
}

/// What a step did, as receipts say it: rows by place, and secrets by rule.
fn tally(place: ScrubPlace, changed: u64, found: &Redactions) -> Tally {
    let mut tally = Tally::default();
    tally.add(place.as_str(), Amount { rows: changed, bytes: 0 });
    for (rule, count) in &found.0 {
        tally.add(&format!("secrets/{rule}"), Amount { rows: *count, bytes: 0 });
    }
    tally
}

fn add(tx: &mut dyn Tx, ctx: &Resources, done: &Tally, more: bool) -> Result<Receipt, StoreError> {
    let open = receipt::open(tx, ctx, ReceiptKind::Scrub, None)?;
    receipt::add_step(tx, ctx, open, done, more)
}

/// Runs `work` so that pages it frees are filled with zeros, too; every connection does so with rows and
/// with pages that are written anyway. PostgreSQL keeps old rows until it cleans up by itself.
pub(crate) fn overwriting<T>(
    tx: &mut dyn Tx,
    work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if tx.dialect() == Dialect::Postgres {
        return work(tx);
    }
    set_overwriting(tx, "ON")?;
    let done = work(tx);
    set_overwriting(tx, "FAST")?;
    done
}

fn set_overwriting(tx: &mut dyn Tx, to: &str) -> Result<(), StoreError> {
    tx.query(&format!("PRAGMA secure_delete = {to}"), &[], &mut |_| Ok(More::Yes))
}
