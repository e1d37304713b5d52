//! The rows of an executor: what it says of itself, its machine, and what the operator says.

use ah_model::{Executor, ExecutorId, ExecutorRule, Labels, Machine, RawJson, Timestamp};
use ah_store::{Kind, StoreError};

use crate::reader::Reader;
use crate::tx::{Row, Tx, query_first};

/// Every column [`read`] takes. Rows that were never registered here belong to programs that only
/// enrolled them.
pub(super) const SELECT: &str = "SELECT e.executor_id, e.offer, e.details, e.identity_provider, \
    e.identity_metadata, e.friendly_name, e.owner_user, m.labels, m.tags, m.authorization_rules, \
    e.status, e.capacity, e.generation, e.created_at, e.enrollment_timestamp, e.seen_at, \
    e.removal_requested_at, c.os_name, c.os_version, c.architecture, c.cpu_cores, c.memory_bytes, \
    c.storage_bytes, c.gpu_info, c.supported_runtimes, c.supported_agents, c.network_tier, \
    c.ssh_endpoint FROM executors e \
    LEFT JOIN executor_metadata m ON m.executor_id = e.executor_id \
    LEFT JOIN executor_capabilities c ON c.executor_id = e.executor_id WHERE e.generation > 0";

pub(super) fn read(row: &dyn Row) -> Result<Executor, StoreError> {
    let row = Reader::new(row);
    let (id, offer) = (row.parse()?, row.json()?.read().unwrap_or_default());
    let details = row.json()?;
    let (identity_provider, identity) = (row.text()?, row.json()?);
    let (friendly_name, owner) = (row.opt_text()?, row.opt_text()?);
    let labels = Labels(row.json()?.read().unwrap_or_default());
    let tags = row.json()?.read().unwrap_or_default();
    let authorization = row.opt_json()?.map_or_else(Vec::new, |json| rules(&json));
    let (status, capacity) = (row.parse()?, row.opt_int()?);
    let (generation, created_at, registered_at) = (row.uint()?, row.time()?, row.time()?);
    Ok(Executor {
        id,
        offer,
        details,
        identity_provider,
        identity,
        friendly_name,
        owner,
        labels,
        tags,
        authorization,
        status,
        capacity: capacity.and_then(|runs| u32::try_from(runs).ok()),
        generation,
        created_at,
        registered_at,
        seen_at: row.opt_time()?.unwrap_or(registered_at),
        removal_requested_at: row.opt_time()?,
        machine: machine(&row)?,
    })
}

/// Rules that cannot be read allow nobody anything, rather than everybody everything.
fn rules(json: &RawJson) -> Vec<ExecutorRule> {
    let unreadable = || ExecutorRule { user: "unreadable rules".to_owned(), verbs: Vec::new() };
    json.read::<Option<_>>().map_or_else(|_| vec![unreadable()], Option::unwrap_or_default)
}

/// The columns of the machine; none when it is not known.
fn machine(row: &Reader<'_>) -> Result<Option<Machine>, StoreError> {
    let Some(os_name) = row.opt_text()? else {
        return Ok(None);
    };
    let (os_version, architecture) = (row.text()?, row.text()?);
    let cores = row.int()?;
    Ok(Some(Machine {
        os_name,
        os_version,
        architecture,
        cpu_cores: u32::try_from(cores).unwrap_or_default(),
        memory_bytes: row.uint()?,
        storage_bytes: row.uint()?,
        gpus: row.json()?.read().unwrap_or_default(),
        runtimes: row.json()?.read().unwrap_or_default(),
        agents: row.json()?.read().unwrap_or_default(),
        network_tier: row.opt_text()?,
        ssh_endpoint: row.opt_text()?,
    }))
}

/// The executor of that id, if it is known.
pub(crate) fn find(tx: &mut dyn Tx, id: &ExecutorId) -> Result<Option<Executor>, StoreError> {
    query_first(tx, &format!("{SELECT} AND e.executor_id = $1"), &[id.as_str().into()], read)
}

pub(super) fn get(tx: &mut dyn Tx, id: &ExecutorId) -> Result<Executor, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::not_found(Kind::Executor, id))
}

const ONE: &str = "SELECT generation FROM executors WHERE executor_id = $1";

/// The executor of that id, if it is known, which stays as it is until the transaction ends.
pub(crate) fn find_settled(
    tx: &mut dyn Tx,
    id: &ExecutorId,
) -> Result<Option<Executor>, StoreError> {
    let sql = format!("{ONE}{}", tx.dialect().for_sharing());
    match query_first(tx, &sql, &[id.as_str().into()], |row| row.int(0))? {
        Some(_) => find(tx, id),
        None => Ok(None),
    }
}

/// The executor of that id, if it is known, which nobody else changes until the transaction ends.
pub(super) fn lock(tx: &mut dyn Tx, id: &ExecutorId) -> Result<Option<Executor>, StoreError> {
    let sql = format!("{ONE}{}", tx.dialect().for_update());
    match query_first(tx, &sql, &[id.as_str().into()], |row| row.int(0))? {
        Some(_) => find(tx, id),
        None => Ok(None),
    }
}

/// A row that is nobody yet, for others to wait at.
const RESERVE: &str = "INSERT INTO executors (executor_id, enrollment_timestamp, \
    identity_provider, created_at, updated_at) VALUES ($1, $2, '', $2, $2) \
    ON CONFLICT (executor_id) DO NOTHING";

/// As [`lock`], and nobody else makes one of that id meanwhile.
pub(super) fn reserve(
    tx: &mut dyn Tx,
    id: &ExecutorId,
    now: Timestamp,
) -> Result<Option<Executor>, StoreError> {
    match lock(tx, id)? {
        Some(executor) => Ok(Some(executor)),
        None => {
            tx.execute(RESERVE, &[id.as_str().into(), now.into()])?;
            lock(tx, id)
        }
    }
}

const SAVE_SAID: &str = "UPDATE executors SET offer = $1, details = $2, identity_provider = $3, \
    identity_metadata = $4, capacity = $5, generation = $6, enrollment_timestamp = $7, \
    seen_at = $7, updated_at = $7, removal_requested_at = NULL WHERE executor_id = $8";

/// Writes what an executor said when it registered, but its machine.
pub(super) fn save_said(tx: &mut dyn Tx, executor: &Executor) -> Result<(), StoreError> {
    let offer = RawJson::of(&executor.offer)?;
    let params = [
        offer.as_str().into(),
        executor.details.as_str().into(),
        (&executor.identity_provider).into(),
        executor.identity.as_str().into(),
        executor.capacity.map(i64::from).into(),
        executor.generation.into(),
        executor.registered_at.into(),
        executor.id.as_str().into(),
    ];
    tx.execute(SAVE_SAID, &params).map(drop)
}

const SAVE_MACHINE: &str = "INSERT INTO executor_capabilities (executor_id, os_name, os_version, \
    architecture, cpu_cores, memory_bytes, storage_bytes, gpu_info, supported_runtimes, \
    supported_agents, network_tier, ssh_endpoint, created_at, updated_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) \
    ON CONFLICT (executor_id) DO UPDATE SET os_name = excluded.os_name, \
    os_version = excluded.os_version, architecture = excluded.architecture, \
    cpu_cores = excluded.cpu_cores, memory_bytes = excluded.memory_bytes, \
    storage_bytes = excluded.storage_bytes, gpu_info = excluded.gpu_info, \
    supported_runtimes = excluded.supported_runtimes, \
    supported_agents = excluded.supported_agents, network_tier = excluded.network_tier, \
    ssh_endpoint = excluded.ssh_endpoint, updated_at = excluded.updated_at";
const FORGET_MACHINE: &str = "DELETE FROM executor_capabilities WHERE executor_id = $1";

/// Writes the machine of an executor that enrolled.
pub(super) fn save_machine(tx: &mut dyn Tx, executor: &Executor) -> Result<(), StoreError> {
    let id = executor.id.as_str().into();
    let Some(machine) = &executor.machine else {
        return tx.execute(FORGET_MACHINE, &[id]).map(drop);
    };
    let (gpus, runtimes) = (RawJson::of(&machine.gpus)?, RawJson::of(&machine.runtimes)?);
    let agents = RawJson::of(&machine.agents)?;
    let params = [
        id,
        (&machine.os_name).into(),
        (&machine.os_version).into(),
        (&machine.architecture).into(),
        i64::from(machine.cpu_cores).into(),
        machine.memory_bytes.into(),
        machine.storage_bytes.into(),
        gpus.as_str().into(),
        runtimes.as_str().into(),
        agents.as_str().into(),
        machine.network_tier.as_ref().into(),
        machine.ssh_endpoint.as_ref().into(),
        executor.registered_at.into(),
    ];
    tx.execute(SAVE_MACHINE, &params).map(drop)
}

const SAVE_GIVEN: &str = "UPDATE executors SET friendly_name = $1, owner_user = $2, status = $3, \
    updated_at = $4 WHERE executor_id = $5";
const SAVE_METADATA: &str = "INSERT INTO executor_metadata (executor_id, labels, tags, \
    authorization_rules, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5) \
    ON CONFLICT (executor_id) DO UPDATE SET labels = excluded.labels, tags = excluded.tags, \
    authorization_rules = excluded.authorization_rules, updated_at = excluded.updated_at";

/// Writes what the operator says of an executor.
pub(super) fn save_given(
    tx: &mut dyn Tx,
    executor: &Executor,
    now: Timestamp,
) -> Result<(), StoreError> {
    let id = executor.id.as_str().into();
    let params = [
        executor.friendly_name.as_ref().into(),
        executor.owner.as_ref().into(),
        executor.status.as_str().into(),
        now.into(),
        id,
    ];
    tx.execute(SAVE_GIVEN, &params)?;
    let (labels, tags) = (RawJson::of(&executor.labels)?, RawJson::of(&executor.tags)?);
    let rules = RawJson::of(&executor.authorization)?;
    let params =
        [id, labels.as_str().into(), tags.as_str().into(), rules.as_str().into(), now.into()];
    tx.execute(SAVE_METADATA, &params).map(drop)
}
