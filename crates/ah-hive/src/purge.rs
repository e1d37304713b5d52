//! Purging: an agent's home is taken away in one step, then its rows and its files go bit by bit.
//!
//! The home is moved below `trash`, under the agent's id, before the first row goes, so that the name
//! is free once the agent is gone, however much is still to be removed. What a crash leaves there is
//! removed by the next purge of that agent or the next retention.

use std::ffi::OsStr;

use ah_model::{
    Agent, AgentId, Amount, Page, PageRequest, Receipt, ReceiptId, ReceiptKind, RemovalStep, Tally,
};
use ah_store::{Kind, StoreError, block_on};

use crate::place::{Dir, failed, is_directory};
use crate::wipe::{self, Wiped};
use crate::{Homes, Host, HostError};

/// Files and directories that one step removes.
const STEPS_MAX: usize = 4_000;
/// Purges that are found unfinished at once.
const UNFINISHED_MAX: usize = 10_000;
/// The class of what is removed here.
const FILES: &str = "files";
/// Where the home goes, in the agent's part of the trash.
const CONTENTS: &str = "contents";
/// The receipt that files are added to.
const RECEIPT: &str = "receipt";
/// Whose home it was.
const NAME: &str = "name";
const SMALL: u64 = 1_024;

impl Host {
    pub(crate) fn purge_step_here(
        &self,
        homes: &Homes,
        id: &AgentId,
    ) -> Result<RemovalStep, HostError> {
        let rows = match block_on(self.store.agent(id.clone())) {
            Ok(agent) => self.purge_rows(homes, &agent)?,
            Err(error @ StoreError::NotFound { .. }) => match trash_of(homes, id)? {
                Some(own) => RemovalStep { receipt: self.receipt_of(&own, id)?, more: false },
                None => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        };
        let (wiped, receipt) = self.wipe_some(homes, id, rows.receipt)?;
        Ok(RemovalStep { receipt, more: rows.more || wiped.more })
    }

    /// Destroys the agent, takes its home away and removes some of its rows.
    fn purge_rows(&self, homes: &Homes, agent: &Agent) -> Result<RemovalStep, HostError> {
        block_on(self.store.destroy_agent(agent.id.clone()))?;
        move_away(homes, agent)?;
        let step = block_on(self.store.purge_step(agent.id.clone()))?;
        if let Some(own) = trash_of(homes, &agent.id)? {
            own.write_small(RECEIPT, step.receipt.id.as_str().as_bytes())?;
        }
        Ok(step)
    }

    /// Removes some files and adds them to the receipt.
    fn wipe_some(
        &self,
        homes: &Homes,
        id: &AgentId,
        receipt: Receipt,
    ) -> Result<(Wiped, Receipt), HostError> {
        let (Some(trash), Some(own)) = (homes.trash()?, trash_of(homes, id)?) else {
            return Ok((Wiped::default(), receipt));
        };
        let lock = own.lock()?;
        let wiped = match own.child(CONTENTS)? {
            Some(contents) => wipe::remove_some(&contents, STEPS_MAX)?,
            None => Wiped::default(),
        };
        let receipt = self.add_files(receipt, wiped.amount)?;
        if !wiped.more {
            drop(lock);
            wipe::remove_whole(&trash, id.as_str())?;
        }
        Ok((wiped, receipt))
    }

    fn add_files(&self, receipt: Receipt, amount: Amount) -> Result<Receipt, HostError> {
        let mut tally = Tally::default();
        tally.add(FILES, amount);
        if tally.is_empty() {
            return Ok(receipt);
        }
        Ok(block_on(self.store.add_to_receipt(receipt.id, tally))?)
    }

    /// The receipt of a purge whose rows are gone.
    fn receipt_of(&self, own: &Dir, id: &AgentId) -> Result<Receipt, HostError> {
        let (receipt, name) = (text(own, RECEIPT)?, text(own, NAME)?);
        let receipt: Option<ReceiptId> = receipt.and_then(|receipt| receipt.parse().ok());
        let mut request = PageRequest::default();
        loop {
            let page = block_on(self.store.list_receipts(request.clone()))?;
            let Page { items, next_cursor } = page;
            let is_it = |found: &Receipt| match &receipt {
                Some(receipt) => found.id == *receipt,
                // The crash came before it was noted: it is the newest of that name.
                None => found.kind == ReceiptKind::Purge && found.subject == name,
            };
            if let Some(found) = items.into_iter().find(is_it) {
                return Ok(found);
            }
            match next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => return Err(StoreError::not_found(Kind::Agent, id).into()),
            }
        }
    }

    /// Finishes purges of which only files are left. What does not work is told.
    pub(crate) fn finish_purges(&self, homes: &Homes) -> Result<Vec<String>, HostError> {
        let mut warnings = Vec::new();
        let Some(trash) = homes.trash()? else {
            return Ok(warnings);
        };
        for name in trash.names(UNFINISHED_MAX)? {
            let Some(id) = name.to_str().and_then(|name| name.parse::<AgentId>().ok()) else {
                continue;
            };
            // While its row is there, it is the operator's to go on.
            match block_on(self.store.agent(id.clone())) {
                Err(StoreError::NotFound { .. }) => {}
                _ => continue,
            }
            if let Err(error) = self.purge(id.clone(), &mut |_| {}) {
                let causes = crate::error::with_causes(&error);
                warnings.push(format!("what agent {id} left is not removed: {causes}"));
            }
        }
        Ok(warnings)
    }
}

fn trash_of(homes: &Homes, id: &AgentId) -> Result<Option<Dir>, HostError> {
    match homes.trash()? {
        Some(trash) => trash.child(id.as_str()),
        None => Ok(None),
    }
}

fn text(own: &Dir, name: &str) -> Result<Option<String>, HostError> {
    let bytes = own.read_small(name, SMALL)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Takes the home out of the reach of its name.
fn move_away(homes: &Homes, agent: &Agent) -> Result<(), HostError> {
    Agent::check_name(&agent.name)?;
    let (agents, applied) = (homes.agents()?, homes.applied()?);
    let _alone = applied.as_ref().map(Dir::lock).transpose()?;
    let name = OsStr::new(&agent.name);
    for place in [agents, applied].iter().flatten() {
        let Some(stat) = place.stat(name)? else {
            continue;
        };
        // A directory can be moved only by who may write to it.
        if is_directory(&stat) && stat.st_mode & 0o700 != 0o700 {
            let ours = wipe::make_ours(place.file(), name);
            ours.map_err(|source| failed("open", &place.path().join(name), source))?;
        }
        let own = homes.make_trash()?.make(agent.id.as_str())?;
        own.write_small(NAME, agent.name.as_bytes())?;
        let contents = own.make(CONTENTS)?;
        let mut number = 0_u32;
        while !place.rename(name, &contents, &format!("part-{number}"))? {
            number += 1;
        }
    }
    Ok(())
}
