//! Blocks: where a party's mail lies, on SQLite.
//!
//! A trigger gives the parties of a new message their entries. A process that mails much remembers
//! who has one in the newest block, and tells the trigger that there is nothing to do: looking for
//! the two entries was a quarter of what a message's row costs. What it remembers stays true while
//! nobody else writes: the entries of the newest block are not removed.

use std::collections::HashSet;

use ah_model::Message;
use ah_store::StoreError;

use crate::names;
use crate::tx::Tx;

/// A message's number without these bits is its block.
pub(super) const BLOCK_BITS: u32 = 10;

/// The parties that are known to have an entry for a block, as they are spelt.
#[derive(Debug, Default)]
pub(crate) struct Block {
    number: u64,
    parties: HashSet<String>,
}

impl Block {
    /// What was written is undone, or somebody else wrote.
    pub(crate) fn forget(&mut self) {
        self.parties.clear();
    }

    fn has(&self, parties: [&str; 2]) -> bool {
        parties.iter().all(|party| self.parties.contains(*party))
    }

    fn learn(&mut self, number: u64, parties: [&str; 2]) {
        if self.number != number {
            self.forget();
            self.number = number;
        }
        self.parties.extend(parties.map(str::to_owned));
    }
}

fn parties(message: &Message) -> [&str; 2] {
    [message.from.as_str(), message.to.as_str()]
}

/// Whether both parties of a message have their entries, if it comes to lie in the same block as the
/// one before it.
pub(super) fn is_known(tx: &mut dyn Tx, message: &Message) -> Result<bool, StoreError> {
    names::check(tx)?;
    Ok(tx.names().is_some_and(|names| names.block.has(parties(message))))
}

const ENTER: &str =
    "INSERT INTO message_blocks (party, block) VALUES ($1, $2), ($3, $2) ON CONFLICT DO NOTHING";

/// A message got its number, and the trigger was told what [`is_known`] said.
pub(super) fn add(tx: &mut dyn Tx, message: &Message, known: bool) -> Result<(), StoreError> {
    let block = message.number >> BLOCK_BITS;
    let Some(names) = tx.names() else { return Ok(()) };
    let is_same = names.block.number == block;
    if known && is_same {
        return Ok(());
    }
    names.block.learn(block, parties(message));
    if !known {
        return Ok(());
    }
    let [from, to] = parties(message).map(str::to_ascii_lowercase);
    tx.execute(ENTER, &[(&from).into(), block.into(), (&to).into()]).map(drop)
}
