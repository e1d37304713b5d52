//! Parties in SQL: a name in any case of its letters is the agent's as its row spells it.

use ah_model::{Lifecycle, Party};
use ah_store::{Kind, StoreError};

use crate::agent;
use crate::names::{self, Named};
use crate::session::Access;
use crate::statement::{marks, padded};
use crate::tx::{Dialect, Row, Tx, query_all, query_first};

/// Which agents take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Those that live.
    Living,
    /// All that the store knows.
    Known,
}

macro_rules! named {
    ($which:literal) => {
        concat!("SELECT name, lifecycle FROM agent_instances WHERE lower(name) ", $which)
    };
}

const NAMED: &str = named!("= $1");
const ANY_NAMED: &str = named!("IN");

fn read(row: &dyn Row) -> Result<Named, StoreError> {
    Ok(Named { name: row.text(0)?, is_dead: row.str(1)? == Lifecycle::Dead.as_str() })
}

/// The agents of these names. Who is going to address something to them
/// ([`Access::Change`]) keeps them from going before the transaction ends, so nothing is addressed to
/// a name that a purge has just set free.
fn named<'a>(
    tx: &mut dyn Tx,
    names: impl Iterator<Item = &'a str>,
    access: Access,
) -> Result<Vec<Named>, StoreError> {
    let mut lower: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    lower.sort_unstable();
    lower.dedup();
    let dialect = tx.dialect();
    match (lower.as_slice(), dialect) {
        ([], _) => return Ok(Vec::new()),
        (_, Dialect::Sqlite) => {
            // For a list of names SQLite makes a table in memory first.
            let one = |tx: &mut dyn Tx, name: &str| query_first(tx, NAMED, &[name.into()], read);
            let each = lower.into_iter().filter_map(|name| names::find(tx, name, one).transpose());
            return each.collect();
        }
        (_, Dialect::Postgres) => {}
    }
    let for_keeping = match access {
        Access::Read => "",
        Access::Change => dialect.for_keeping(),
    };
    let sql = format!("{ANY_NAMED} ({}){for_keeping}", marks(1, lower.len()));
    query_all(tx, &sql, &padded([], lower.iter().map(Into::into)), read)
}

fn agent_names<'a>(parties: &[&'a Party]) -> impl Iterator<Item = &'a str> {
    parties.iter().filter_map(|party| match party {
        Party::Operator => None,
        Party::Agent(name) => Some(name.as_str()),
    })
}

/// A party as lists find it: names are known by their lower case.
pub(crate) fn any_case(party: &Party) -> String {
    party.as_str().to_ascii_lowercase()
}

/// These parties, to whom something is going to be addressed, as they are spelt, or why the first of
/// them that cannot take part does not.
pub(crate) fn resolve(
    tx: &mut dyn Tx,
    parties: &[&Party],
    standing: Standing,
) -> Result<Vec<Party>, StoreError> {
    let known = named(tx, agent_names(parties), Access::Change)?;
    spelt(tx, parties, standing, &known)
}

fn spelt(
    tx: &mut dyn Tx,
    parties: &[&Party],
    standing: Standing,
    known: &[Named],
) -> Result<Vec<Party>, StoreError> {
    let spelt = |party: &&Party| {
        let Party::Agent(name) = party else { return Ok(Party::Operator) };
        let agent = known
            .iter()
            .find(|agent| agent.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| StoreError::not_found(Kind::Agent, name))?;
        if standing == Standing::Living && agent.is_dead {
            agent::of_name(tx, &agent.name)?.as_ref().map_or(Ok(()), agent::refuse_dead)?;
        }
        Ok(Party::Agent(agent.name.clone()))
    };
    parties.iter().map(spelt).collect()
}

/// As [`resolve`] for one to whom nothing is going to be addressed.
pub(crate) fn resolve_one(
    tx: &mut dyn Tx,
    party: &Party,
    standing: Standing,
) -> Result<Party, StoreError> {
    let known = named(tx, agent_names(&[party]), Access::Read)?;
    let mut spelt = spelt(tx, &[party], standing, &known)?;
    spelt.pop().ok_or_else(|| StoreError::not_found(Kind::Agent, party))
}

/// Whether somebody is there to be told, dead or alive.
pub(crate) fn exists(tx: &mut dyn Tx, party: &Party) -> Result<bool, StoreError> {
    match party {
        Party::Operator => Ok(true),
        Party::Agent(name) => {
            Ok(!named(tx, std::iter::once(name.as_str()), Access::Change)?.is_empty())
        }
    }
}

/// Keeps the agents among them from being purged until the transaction ends. Who is going to tell
/// somebody does so before it locks what it tells about.
pub(crate) fn keep(tx: &mut dyn Tx, parties: &[&Party]) -> Result<(), StoreError> {
    named(tx, agent_names(parties), Access::Change).map(drop)
}
