//! A row of `runs` as a run that has ended.
//!
//! Nobody here holds what another program gave out: a run that was waiting or at work there has
//! ended here, and says why.

use ah_model::limits::{PROMPT_BYTES_MAX, RUN_TIMEOUT_MS_MAX};
use ah_model::{
    Demands, ExecutionMode, ExecutorId, RawJson, Run, RunId, RunKind, RunStatus, SessionId,
    Timestamp,
};

use super::time::read_time;
use crate::foreign_db::{Columns, TableRow};
use crate::minted::minted;
use crate::raw_object::{RawObject, exact_text, json_of};

pub(super) const TABLE: &str = "runs";

/// The key of a run's parameters that holds what only the Agent Coordinator knows of it.
const EXTRAS_KEY: &str = "\"$coordinator\"";

/// The columns that have a place of their own in a run.
const OWN_COLUMNS: [&str; 17] = [
    "run_id",
    "session_id",
    "type",
    "parameters",
    "prompt",
    "agent_name",
    "project_dir",
    "parent_session_id",
    "execution_mode",
    "demands",
    "status",
    "runner_id",
    "error",
    "created_at",
    "claimed_at",
    "started_at",
    "completed_at",
];

/// What is known of the session that a run is of.
#[derive(Debug, Clone)]
pub(super) struct RunSession {
    pub(super) id: SessionId,
    pub(super) created_at: Timestamp,
    pub(super) agent_name: Option<String>,
    pub(super) project_dir: Option<String>,
}

/// Reads a row of `session`, without its parent.
pub(super) fn run(columns: &mut Columns<'_>, row: &TableRow, session: &RunSession) -> Run {
    let created_at = columns.time("created_at", read_time).unwrap_or(session.created_at);
    let [claimed_at, started_at, completed_at] =
        ["claimed_at", "started_at", "completed_at"].map(|column| columns.time(column, read_time));
    let timeout_ms = timeout(columns, created_at);
    let (status, error) = standing(columns);
    let newest = [Some(created_at), claimed_at, started_at].into_iter().flatten().max();
    let executor_id = executor(columns);
    Run {
        id: id(row, created_at),
        session_id: session.id.clone(),
        kind: kind(columns),
        status,
        parameters: parameters(columns, row, session),
        demands: demands(columns),
        execution_mode: execution_mode(columns),
        parent_session_id: None,
        timeout_ms,
        take_by: None,
        requeue: false,
        requested_by: None,
        member: None,
        lease_epoch: u64::from(executor_id.is_some()),
        executor_id,
        lease_expires_at: None,
        stop_requested_at: None,
        error,
        result: None,
        created_at,
        claimed_at,
        started_at,
        ended_at: completed_at.or(newest),
    }
}

/// Its own id where it can be one, else one made of the row.
fn id(row: &TableRow, created_at: Timestamp) -> RunId {
    let own = row.cell("run_id").text().and_then(|text| text.parse().ok());
    own.unwrap_or_else(|| other_id(row, created_at))
}

/// An id for a run whose own cannot be taken; the same in every import.
pub(super) fn other_id(row: &TableRow, created_at: Timestamp) -> RunId {
    let id = row.cell("run_id").bytes();
    let session = row.cell("session_id").bytes();
    let (ms, random) = minted(&[b"run", &id, &session], created_at);
    RunId::mint(ms, random)
}

fn kind(columns: &mut Columns<'_>) -> RunKind {
    match columns.cell("type").text() {
        Some("start_session" | "start") => RunKind::Start,
        Some("resume_session" | "resume") => RunKind::Resume,
        _ => {
            let word = columns.cell("type").json();
            columns.remark(format!("type: {} is unknown, a start is taken", word.as_str()));
            RunKind::Start
        }
    }
}

/// The status here, and the error.
fn standing(columns: &mut Columns<'_>) -> (RunStatus, Option<String>) {
    let error = columns.text("error", PROMPT_BYTES_MAX);
    let cell = columns.cell("status");
    let known = cell.text().and_then(|word| word.parse::<RunStatus>().ok());
    let (status, reason) = match known {
        Some(status) if !status.is_live() => return (status, error),
        Some(RunStatus::Stopping) => (RunStatus::Stopped, "imported while stopping".to_owned()),
        Some(status) => (RunStatus::Failed, format!("imported while {status}")),
        None => {
            let word: String = cell.json().as_str().chars().take(200).collect();
            (RunStatus::Failed, format!("imported with the unknown status {word}"))
        }
    };
    columns.remark(format!("status: {}: {status} here", cell.json().as_str()));
    let error = error.map_or_else(|| reason.clone(), |error| format!("{error} ({reason})"));
    (status, Some(error))
}

fn execution_mode(columns: &mut Columns<'_>) -> ExecutionMode {
    let cell = columns.cell("execution_mode");
    if cell.is_null() {
        return ExecutionMode::Sync;
    }
    let known = cell.text().and_then(|word| word.parse().ok());
    known.unwrap_or_else(|| {
        let word = cell.json();
        columns.remark(format!("execution_mode: {} is unknown, sync is taken", word.as_str()));
        ExecutionMode::Sync
    })
}

fn executor(columns: &mut Columns<'_>) -> Option<ExecutorId> {
    let cell = columns.cell("runner_id");
    let id = cell.text().and_then(|text| text.parse().ok());
    if id.is_none() && !cell.is_null() {
        columns.leave("runner_id", "cannot be the id of an executor");
    }
    id
}

/// How long it might have waited to be taken.
fn timeout(columns: &mut Columns<'_>, created_at: Timestamp) -> Option<u64> {
    let at = columns.time("timeout_at", read_time)?;
    let ms = u64::try_from(at.unix_ms().saturating_sub(created_at.unix_ms())).ok();
    let fits = ms.filter(|ms| (1..=RUN_TIMEOUT_MS_MAX).contains(ms));
    if fits.is_none() {
        columns.remark(format!("timeout_at: {at} is no time to wait from {created_at} on"));
    }
    fits
}

/// What the executor must offer; what nobody here can demand is named.
fn demands(columns: &mut Columns<'_>) -> Demands {
    let Some(json) = columns.json("demands") else {
        return Demands::default();
    };
    if json.as_str() == "null" {
        return Demands::default();
    }
    let Some(members) = json.slice().members() else {
        columns.leave("demands", "is no JSON object");
        return Demands::default();
    };
    let mut demands = Demands::default();
    for member in members.iter().filter(|member| member.value != "null") {
        let name = exact_text(member.key).unwrap_or_default();
        let place = match name.as_str() {
            "hostname" => &mut demands.hostname,
            "project_dir" => &mut demands.project_dir,
            "executor_profile" => &mut demands.executor_profile,
            "executor_type" => &mut demands.executor_type,
            "tags" => {
                match serde_json::from_str(member.value) {
                    Ok(tags) => demands.tags = tags,
                    Err(_) => columns.remark("demands: tags is no list of texts, left out"),
                }
                continue;
            }
            _ => {
                columns.remark(format!("demands: {} is unknown, left out", member.key));
                continue;
            }
        };
        *place = exact_text(member.value);
        if place.is_none() {
            columns.remark(format!("demands: {} is no text, left out", member.key));
        }
    }
    match demands.check() {
        Ok(()) => demands,
        Err(invalid) => {
            columns.leave("demands", &invalid.to_string());
            Demands::default()
        }
    }
}

/// What the executor was told: the older age knew only a prompt.
fn parameters(columns: &mut Columns<'_>, row: &TableRow, session: &RunSession) -> RawJson {
    let said = match (columns.cell("parameters").is_null(), columns.cell("prompt").is_null()) {
        (true, true) => None,
        (true, false) => prompt(columns),
        (false, true) => columns.json("parameters"),
        (false, false) => {
            columns.leave("prompt", "stands beside parameters");
            columns.json("parameters")
        }
    };
    let parameters = said.unwrap_or_else(RawJson::empty_object);
    let parameters = match parameters.as_str().len() {
        0..=PROMPT_BYTES_MAX => parameters,
        bytes => {
            let column = if columns.cell("parameters").is_null() { "prompt" } else { "parameters" };
            columns.leave(column, &format!("{bytes} bytes are too many"));
            RawJson::empty_object()
        }
    };
    with_extras(columns, row, session, parameters)
}

fn prompt(columns: &mut Columns<'_>) -> Option<RawJson> {
    let prompt = columns.cell("prompt").text();
    if prompt.is_none() {
        columns.leave("prompt", "is no text");
    }
    let text = RawJson::of(&prompt?).ok()?;
    Some(json_of(format!("{{\"prompt\":{}}}", text.as_str())))
}

/// The parameters with what only the Agent Coordinator knows of a run, where there is any.
fn with_extras(
    columns: &mut Columns<'_>,
    row: &TableRow,
    session: &RunSession,
    parameters: RawJson,
) -> RawJson {
    let mut members = Vec::new();
    let ours = [("agent_name", &session.agent_name), ("project_dir", &session.project_dir)];
    for (column, of_session) in ours {
        let cell = row.cell(column);
        if !cell.is_null() && cell.text() != of_session.as_deref() {
            members.push((column, cell.json()));
        }
    }
    let own = |name: &str| OWN_COLUMNS.contains(&name) || name == "timeout_at";
    for (column, cell) in row.cells.iter().filter(|(name, _)| !own(name)) {
        let json = crate::agent::json(&cell.bytes()).unwrap_or_else(|_| cell.json());
        members.push((column, json));
    }
    if members.is_empty() {
        return parameters;
    }
    joined(&parameters, &members).unwrap_or_else(|| {
        for (column, _) in &members {
            columns.leave(column, "has no room in the parameters");
        }
        parameters
    })
}

/// `parameters` with `extras` among them, unless they are no object or become too long.
fn joined(parameters: &RawJson, extras: &[(&str, RawJson)]) -> Option<RawJson> {
    let members = extras.iter().map(|(name, value)| {
        let name = RawJson::of(name).unwrap_or_else(|_| RawJson::null());
        format!("{}:{}", name.as_str(), value.as_str())
    });
    let extras = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let mut object = RawObject::of(parameters)?;
    object.push(EXTRAS_KEY, &extras);
    let json = object.to_json();
    (json.as_str().len() <= PROMPT_BYTES_MAX).then_some(json)
}
