//! The agents whose names a process has looked up for mail, from one write to the next.
//!
//! Whatever makes, ends or removes an agent writes a note for the feed with it. So as long as no note
//! came that is not its own, what a process found out is still so.

use std::collections::HashMap;

use ah_store::StoreError;

use crate::message::Block;
use crate::tx::{Tx, query_first};

/// Most names that are kept.
const NAMES_MAX: usize = 4096;

/// An agent, as far as mail has to know it.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) is_dead: bool,
}

/// The agents that are known, by their names in lower case.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: HashMap<String, Named>,
    /// The newest note for the feed when they were.
    as_of: Option<i64>,
    /// Whether the transaction has asked for it: one that is not about mail does not.
    is_checked: bool,
    /// Who has mail in the newest block.
    pub(crate) block: Block,
}

impl Names {
    /// A transaction begins.
    pub(crate) fn begin(&mut self) {
        self.is_checked = false;
    }

    /// It is about to be committed.
    pub(crate) fn settle(tx: &mut dyn Tx) -> Result<(), StoreError> {
        if tx.names().is_some_and(|names| names.is_checked) {
            let newest = newest_note(tx)?;
            if let Some(names) = tx.names() {
                names.as_of = newest;
            }
        }
        Ok(())
    }

    /// An agent was written, or what was written is undone.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.block.forget();
    }

    fn learn(&mut self, lower: String, agent: Named) {
        if self.known.len() >= NAMES_MAX {
            self.forget();
        }
        self.known.insert(lower, agent);
    }
}

/// The transaction wrote an agent's row.
pub(crate) fn forget(tx: &mut dyn Tx) {
    if let Some(names) = tx.names() {
        names.forget();
    }
}

/// The agent of a name in lower case: as it is known, or else as `ask` finds it.
pub(crate) fn find(
    tx: &mut dyn Tx,
    lower: String,
    ask: impl FnOnce(&mut dyn Tx, &str) -> Result<Option<Named>, StoreError>,
) -> Result<Option<Named>, StoreError> {
    check(tx)?;
    if let Some(known) = tx.names().and_then(|names| names.known.get(&lower)) {
        return Ok(Some(known.clone()));
    }
    let found = ask(tx, &lower)?;
    if let (Some(names), Some(agent)) = (tx.names(), &found) {
        names.learn(lower, agent.clone());
    }
    Ok(found)
}

/// Sees to it that what is known is still so.
pub(crate) fn check(tx: &mut dyn Tx) -> Result<(), StoreError> {
    if tx.names().is_none_or(|names| names.is_checked) {
        return Ok(());
    }
    let newest = newest_note(tx)?;
    if let Some(names) = tx.names() {
        names.is_checked = true;
        if newest.is_none() || newest != names.as_of {
            names.forget();
        }
    }
    Ok(())
}

fn newest_note(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
    Ok(query_first(tx, "SELECT max(id) FROM changes", &[], |row| row.opt_int(0))?.flatten())
}
