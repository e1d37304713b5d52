//! The wide row of a session: read with its repository, kind, runtime and workspace joined in.

use ah_model::{
    AgentKindRef, Cause, Exit, Fork, Labels, Membership, Origin, RawJson, Session, SessionDetails,
    SessionStatus,
};
use ah_store::StoreError;

use crate::reader::Reader;
use crate::repo::read_found;
use crate::runtime::read_spec;
use crate::tx::{Param, Row, Tx, query_first};
use crate::{agent_kind, runtime, usage, workspace};

/// Every column [`read`] takes, and where they come from.
pub(crate) const SELECT: &str = "SELECT s.id, s.status, s.title, a.name, a.version, s.repo_id, \
    r.vcs, r.root_path, r.remote_url, r.default_branch, t.type, t.devcontainer_path, w.name, \
    s.labels, s.pinned, s.parent_session_id, s.forked_from, s.forked_at_seq, s.source, \
    s.external_id, s.instance_id, s.instance_number, s.begun_by, s.project_dir, s.hostname, s.executor_session_id, s.executor_profile, \
    s.executor_type, s.inference_session_id, s.reset_message, s.multiplexer_kind, s.mux_session, \
    s.mux_window, s.pane_left, s.pane_right, s.pid_agent, s.log_path, s.workspace_path, \
    s.last_seq, s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens, \
    s.reasoning_tokens, s.exit_code, s.exit_signal, s.exit_reason, s.created_at, s.started_at, \
    s.ended_at, s.last_resumed_at, s.last_activity_at \
    FROM sessions s JOIN agents a ON a.id = s.agent_id JOIN repos r ON r.id = s.repo_id \
    JOIN runtimes t ON t.id = s.runtime_id LEFT JOIN workspaces w ON w.id = s.workspace_id";

/// The session that `condition` names.
pub(super) fn find(
    tx: &mut dyn Tx,
    condition: &str,
    params: &[Param<'_>],
) -> Result<Option<Session>, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE {condition}"), params, read)
}

/// Reads leniently what another program may have left: an unknown status is a failure and odd
/// labels are none, rather than the end of a whole list. `check` names such rows.
pub(crate) fn read(row: &dyn Row) -> Result<Session, StoreError> {
    let row = Reader::new(row);
    Ok(Session {
        id: row.parse()?,
        status: row.text()?.parse().unwrap_or(SessionStatus::Failed),
        title: row.opt_text()?,
        agent: AgentKindRef { name: row.text()?, version: row.text()? },
        repo_id: row.opt_int()?,
        repo: read_found(&row)?,
        runtime: read_spec(&row)?,
        workspace: row.opt_text()?,
        labels: row.text()?.parse().unwrap_or_default(),
        pinned: row.bool()?,
        parent_session_id: row.opt_parse()?,
        forked_from: read_fork(&row)?,
        origin: read_origin(&row)?,
        of_agent: read_membership(&row)?,
        details: read_details(&row)?,
        last_seq: row.uint()?,
        usage: usage::read(&row)?,
        exit: Exit { code: row.opt_int()?, signal: row.opt_int()?, reason: row.opt_text()? },
        created_at: row.time()?,
        started_at: row.time()?,
        ended_at: row.opt_time()?,
        last_resumed_at: row.opt_time()?,
        last_activity_at: row.time()?,
    })
}

fn read_fork(row: &Reader<'_>) -> Result<Option<Fork>, StoreError> {
    let (session, at) = (row.opt_parse()?, row.opt_int()?);
    let at_seq = at.and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
    Ok(session.map(|session_id| Fork { session_id, at_seq }))
}

fn read_membership(row: &Reader<'_>) -> Result<Option<Membership>, StoreError> {
    let (agent, number, cause) = (row.opt_parse()?, row.opt_int()?, row.opt_text()?);
    let number = number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    let cause = cause.and_then(|word| word.parse().ok()).unwrap_or(Cause::Created);
    Ok(agent.map(|id| Membership { id, number, cause }))
}

pub(crate) fn read_origin(row: &Reader<'_>) -> Result<Option<Origin>, StoreError> {
    let (source, external_id) = (row.opt_text()?, row.opt_text()?);
    Ok(source.zip(external_id).map(|(source, external_id)| Origin { source, external_id }))
}

fn read_details(row: &Reader<'_>) -> Result<SessionDetails, StoreError> {
    Ok(SessionDetails {
        project_dir: row.opt_text()?,
        hostname: row.opt_text()?,
        executor_session_id: row.opt_text()?,
        executor_profile: row.opt_text()?,
        executor_type: row.opt_text()?,
        inference_session_id: row.opt_text()?,
        reset_message: row.opt_text()?,
        multiplexer_kind: row.opt_text()?,
        mux_session: row.opt_text()?,
        mux_window: row.opt_int()?,
        pane_left: row.opt_text()?,
        pane_right: row.opt_text()?,
        pid_agent: row.opt_int()?,
        log_path: row.opt_text()?,
        workspace_path: row.opt_text()?,
    })
}

/// The columns an export may set on a row that exists; [`mutable`] gives them in this order.
const MUTABLE: &[&str] = &[
    "status",
    "title",
    "labels",
    "pinned",
    "project_dir",
    "hostname",
    "executor_session_id",
    "executor_profile",
    "executor_type",
    "inference_session_id",
    "reset_message",
    "multiplexer_kind",
    "mux_session",
    "mux_window",
    "pane_left",
    "pane_right",
    "pid_agent",
    "log_path",
    "workspace_path",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "exit_code",
    "exit_signal",
    "exit_reason",
    "created_at",
    "started_at",
    "ended_at",
    "last_resumed_at",
    "last_activity_at",
];

fn mutable<'a>(session: &'a Session, labels: &'a RawJson) -> Vec<Param<'a>> {
    let details = &session.details;
    vec![
        session.status.as_str().into(),
        session.title.as_ref().into(),
        labels.as_str().into(),
        session.pinned.into(),
        details.project_dir.as_ref().into(),
        details.hostname.as_ref().into(),
        details.executor_session_id.as_ref().into(),
        details.executor_profile.as_ref().into(),
        details.executor_type.as_ref().into(),
        details.inference_session_id.as_ref().into(),
        details.reset_message.as_ref().into(),
        details.multiplexer_kind.as_ref().into(),
        details.mux_session.as_ref().into(),
        details.mux_window.into(),
        details.pane_left.as_ref().into(),
        details.pane_right.as_ref().into(),
        details.pid_agent.into(),
        details.log_path.as_ref().into(),
        details.workspace_path.as_ref().into(),
        session.usage.input_tokens.into(),
        session.usage.output_tokens.into(),
        session.usage.cache_read_tokens.into(),
        session.usage.cache_write_tokens.into(),
        session.usage.reasoning_tokens.into(),
        session.exit.code.into(),
        session.exit.signal.into(),
        session.exit.reason.as_ref().into(),
        session.created_at.into(),
        session.started_at.into(),
        session.ended_at.into(),
        session.last_resumed_at.into(),
        session.last_activity_at.into(),
    ]
}

/// The columns set once, after the mutable ones; [`insert`] gives them in this order.
const FIXED: &[&str] = &[
    "id",
    "repo_id",
    "agent_id",
    "runtime_id",
    "workspace_id",
    "parent_session_id",
    "forked_from",
    "forked_at_seq",
    "source",
    "external_id",
    "instance_id",
    "instance_number",
    "begun_by",
    "last_seq",
];

/// Writes a new row, registering its kind and runtime if they have not been seen.
pub(crate) fn insert(tx: &mut dyn Tx, session: &Session) -> Result<(), StoreError> {
    let agent = agent_kind::ensure(tx, &session.agent)?;
    let runtime = runtime::ensure(tx, &session.runtime)?;
    let workspace = match &session.workspace {
        Some(name) => workspace::find(tx, name)?,
        None => None,
    };
    let labels = RawJson::of(&session.labels)?;
    let mut params = mutable(session, &labels);
    let (parent, fork) = (session.parent_session_id.as_ref(), session.forked_from.as_ref());
    let agent_of = session.of_agent.as_ref();
    let fixed: [Param<'_>; 14] = [
        session.id.as_str().into(),
        session.repo_id.into(),
        agent.into(),
        runtime.into(),
        workspace.into(),
        parent.map(|parent| parent.as_str()).into(),
        fork.map(|fork| fork.session_id.as_str()).into(),
        fork.map(|fork| fork.at_seq).into(),
        session.origin.as_ref().map(|origin| &origin.source).into(),
        session.origin.as_ref().map(|origin| &origin.external_id).into(),
        agent_of.map(|membership| membership.id.as_str()).into(),
        agent_of.map(|membership| membership.number).into(),
        agent_of.map(|membership| membership.cause.as_str()).into(),
        session.last_seq.into(),
    ];
    params.extend(fixed);
    let names = [MUTABLE, FIXED].concat();
    let marks: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
    let (names, marks) = (names.join(", "), marks.join(", "));
    tx.execute(&format!("INSERT INTO sessions ({names}) VALUES ({marks})"), &params)?;
    insert_labels(tx, session.id.as_str(), &session.labels)
}

/// Brings the mutable columns of an existing row to those of `session`.
pub(super) fn overwrite(tx: &mut dyn Tx, session: &Session) -> Result<(), StoreError> {
    const FORGET_LABELS: &str = "DELETE FROM session_labels WHERE session_id = $1";
    let labels = RawJson::of(&session.labels)?;
    let mut params = mutable(session, &labels);
    let settings: Vec<_> =
        MUTABLE.iter().enumerate().map(|(at, name)| format!("{name} = ${}", at + 1)).collect();
    let (settings, id) = (settings.join(", "), params.len() + 1);
    params.push(session.id.as_str().into());
    tx.execute(&format!("UPDATE sessions SET {settings} WHERE id = ${id}"), &params)?;
    tx.execute(FORGET_LABELS, &[session.id.as_str().into()])?;
    insert_labels(tx, session.id.as_str(), &session.labels)
}

const INSERT_LABEL: &str = "INSERT INTO session_labels (session_id, k, v) VALUES ($1, $2, $3)";

fn insert_labels(tx: &mut dyn Tx, session: &str, labels: &Labels) -> Result<(), StoreError> {
    labels.0.iter().try_for_each(|(key, value)| {
        tx.execute(INSERT_LABEL, &[session.into(), key.into(), value.into()]).map(drop)
    })
}
