//! Notes for the feed: what changed that is not an event, written with the change itself.

use ah_model::{
    Approval, ChangeKind, ExecutorId, Message, MessageId, Party, Question, Run, SessionId,
};
use ah_store::StoreError;

use crate::resources::Resources;
use crate::tx::{Param, Tx};

const INSERT: &str = "INSERT INTO changes (kind, session_id, run_id, executor_id, at) \
    VALUES ($1, $2, $3, $4, $5)";

fn note(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    [session, run, executor]: [Param<'_>; 3],
) -> Result<(), StoreError> {
    let params = [kind.as_str().into(), session, run, executor, ctx.now().into()];
    tx.execute(INSERT, &params).map(drop)
}

/// A session is new, other, or gone.
pub(crate) fn session(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    id: &SessionId,
) -> Result<(), StoreError> {
    note(tx, ctx, kind, [id.as_str().into(), Param::Null, Param::Null])
}

/// A run is queued, other, or asked to stop.
pub(crate) fn run(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    run: &Run,
) -> Result<(), StoreError> {
    let executor = run.executor_id.as_ref().map(ExecutorId::as_str);
    note(tx, ctx, kind, [run.session_id.as_str().into(), run.id.as_str().into(), executor.into()])
}

/// An executor is new, other, or gone.
pub(crate) fn executor(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &ExecutorId,
) -> Result<(), StoreError> {
    note(tx, ctx, ChangeKind::ExecutorUpdated, [Param::Null, Param::Null, id.as_str().into()])
}

const INSERT_OF_PARTY: &str =
    "INSERT INTO changes (kind, party, subject, at) VALUES ($1, $2, $3, $4)";

fn note_of_party(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    party: &str,
    subject: Option<&str>,
) -> Result<(), StoreError> {
    let params = [kind.as_str().into(), party.into(), subject.into(), ctx.now().into()];
    tx.execute(INSERT_OF_PARTY, &params).map(drop)
}

/// An agent is new, other, or gone.
pub(crate) fn agent(tx: &mut dyn Tx, ctx: &Resources, name: &str) -> Result<(), StoreError> {
    note_of_party(tx, ctx, ChangeKind::AgentUpdated, name, None)
}

/// A message waits to be received, was acknowledged, or was given up.
pub(crate) fn message(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    message: &Message,
) -> Result<(), StoreError> {
    note_of_party(tx, ctx, kind, message.to.as_str(), Some(message.id.as_str()))
}

/// The message of that id, which is to `to`, was acknowledged.
pub(crate) fn acked(
    tx: &mut dyn Tx,
    ctx: &Resources,
    to: &Party,
    id: &MessageId,
) -> Result<(), StoreError> {
    note_of_party(tx, ctx, ChangeKind::MessageUpdated, to.as_str(), Some(id.as_str()))
}

/// An approval is new or other.
pub(crate) fn approval(
    tx: &mut dyn Tx,
    ctx: &Resources,
    approval: &Approval,
) -> Result<(), StoreError> {
    let (kind, id) = (ChangeKind::ApprovalUpdated, approval.id.as_str());
    note_of_party(tx, ctx, kind, &approval.agent, Some(id))
}

/// A question is new or other.
pub(crate) fn question(
    tx: &mut dyn Tx,
    ctx: &Resources,
    question: &Question,
) -> Result<(), StoreError> {
    let (kind, id) = (ChangeKind::QuestionUpdated, question.id.as_str());
    note_of_party(tx, ctx, kind, question.from.as_str(), Some(id))
}
