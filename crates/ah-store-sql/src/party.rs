//! Parties in SQL: a name in any case of its letters is the agent's as its row spells it.

use ah_model::{Lifecycle, Party};
use ah_store::{Kind, StoreError};

use crate::agent;
use crate::session::Access;
use crate::statement::{marks, padded};
use crate::tx::{Dialect, Row, Tx, query_all};

/// Which agents take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Those that live.
    Living,
    /// All that the store knows.
    Known,
}

struct Named {
    name: String,
    is_dead: bool,
}

macro_rules! named {
    ($which:literal) => {
        concat!("SELECT name, lifecycle FROM agent_instances WHERE lower(name) ", $which)
    };
}

const NAMED: &str = named!("= $1");
/// Mail has a sender and a recipient. For a list of names SQLite makes a table in memory first.
const BOTH_NAMED: &str = concat!(named!("= $1"), " UNION ALL ", named!("= $2"));
const ANY_NAMED: &str = named!("IN");

/// The agents of these names. Who is going to address something to them
/// ([`Access::Change`]) keeps them from going before the transaction ends, so nothing is addressed to
/// a name that a purge has just set free.
fn named<'a>(
    tx: &mut dyn Tx,
    names: impl Iterator<Item = &'a str>,
    access: Access,
) -> Result<Vec<Named>, StoreError> {
    let mut names: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    names.sort_unstable();
    names.dedup();
    let read = |row: &dyn Row| {
        Ok(Named { name: row.text(0)?, is_dead: row.str(1)? == Lifecycle::Dead.as_str() })
    };
    let sql = match (names.as_slice(), tx.dialect()) {
        ([], _) => return Ok(Vec::new()),
        ([name], Dialect::Sqlite) => return query_all(tx, NAMED, &[name.into()], read),
        ([one, other], Dialect::Sqlite) => {
            return query_all(tx, BOTH_NAMED, &[one.into(), other.into()], read);
        }
        (_, dialect) => {
            let for_keeping = match access {
                Access::Read => "",
                Access::Change => dialect.for_keeping(),
            };
            format!("{ANY_NAMED} ({}){for_keeping}", marks(1, names.len()))
        }
    };
    query_all(tx, &sql, &padded([], names.iter().map(Into::into)), read)
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
