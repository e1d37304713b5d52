//! Notes for the feed: what changed that is not an event, written with the change itself.

use ah_model::{
    Approval, ChangeKind, ExecutorId, Message, MessageId, Party, Question, Run, SessionId,
    Timestamp,
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
    // Those that wait came before it.
    write(tx)?;
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

/// A note of something that concerns a party. A batch of writes makes many, and writes them by few
/// statements at its end: each statement looks up and keeps the number of the last one.
#[derive(Debug)]
pub(crate) struct Note {
    kind: ChangeKind,
    party: String,
    subject: Option<String>,
    at: Timestamp,
}

impl Note {
    fn params(&self) -> [Param<'_>; 4] {
        [
            self.kind.as_str().into(),
            (&self.party).into(),
            self.subject.as_ref().into(),
            self.at.into(),
        ]
    }
}

/// How many notes wait.
pub(crate) fn waiting(tx: &mut dyn Tx) -> usize {
    tx.notes().map_or(0, |notes| notes.len())
}

/// What was noted when so many waited is all that stays: the rest was refused.
pub(crate) fn take_back(tx: &mut dyn Tx, noted: usize) {
    if let Some(notes) = tx.notes() {
        notes.truncate(noted);
    }
}

macro_rules! insert_of_party {
    ($rows:literal) => {
        concat!("INSERT INTO changes (kind, party, subject, at) VALUES ", $rows)
    };
}

const INSERT_OF_PARTY: &str = insert_of_party!("($1, $2, $3, $4)");
/// Notes that one statement writes, where there are so many.
const SEVERAL: usize = 8;
const INSERT_SEVERAL: &str = insert_of_party!(
    "($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12), ($13, $14, $15, $16), \
     ($17, $18, $19, $20), ($21, $22, $23, $24), ($25, $26, $27, $28), ($29, $30, $31, $32)"
);

/// Writes the notes that wait.
pub(crate) fn write(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let Some(notes) = tx.notes().filter(|notes| !notes.is_empty()).map(std::mem::take) else {
        return Ok(());
    };
    let several = notes.chunks_exact(SEVERAL);
    let rest = several.remainder();
    for some in several {
        let params: Vec<Param<'_>> = some.iter().flat_map(Note::params).collect();
        tx.execute(INSERT_SEVERAL, &params)?;
    }
    rest.iter().try_for_each(|note| tx.execute(INSERT_OF_PARTY, &note.params()).map(drop))
}

const INSERT_OF_REPO: &str = "INSERT INTO changes (kind, subject, at) VALUES ($1, $2, $3)";

/// A repository is at another path.
pub(crate) fn repo(tx: &mut dyn Tx, ctx: &Resources, id: i64) -> Result<(), StoreError> {
    let id = id.to_string();
    let params = [ChangeKind::RepoMoved.as_str().into(), (&id).into(), ctx.now().into()];
    tx.execute(INSERT_OF_REPO, &params).map(drop)
}

fn note_of_party(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ChangeKind,
    party: &str,
    subject: Option<&str>,
) -> Result<(), StoreError> {
    let at = ctx.now();
    if let Some(notes) = tx.notes() {
        let (party, subject) = (party.to_owned(), subject.map(str::to_owned));
        notes.push(Note { kind, party, subject, at });
        return Ok(());
    }
    let params = [kind.as_str().into(), party.into(), subject.into(), at.into()];
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ah_conformance::{SeededIds, TestClock};
    use ah_store::{Capabilities, Ids, StoreError, block_on};

    use crate::resources::Resources;
    use crate::tx::{Tx, query_all};
    use crate::{Callers, SqlStore, SqliteOptions};

    fn note(tx: &mut dyn Tx, ctx: &Resources, names: &[String]) -> Result<(), StoreError> {
        names.iter().try_for_each(|name| super::agent(tx, ctx, name))
    }

    #[test]
    fn notes_are_written_in_their_order_and_those_of_a_refused_write_are_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        // So that every write is a batch.
        let options = SqliteOptions { callers: Callers::Tasks, ..SqliteOptions::new(path) };
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: false };
        let clock = Arc::new(TestClock::new());
        let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();

        let noted: Vec<String> = (0..19).map(|number| format!("agent-{number}")).collect();
        let names = noted.clone();
        block_on(store.write(move |tx, ctx| note(tx, ctx, &names))).unwrap();
        let refused = |tx: &mut dyn Tx, ctx: &Resources| -> Result<(), StoreError> {
            note(tx, ctx, &["nobody".to_owned()])?;
            Err(StoreError::backend("test", "refused"))
        };
        block_on(store.write(refused)).unwrap_err();
        let parties = "SELECT party FROM changes ORDER BY id";
        let read =
            move |tx: &mut dyn Tx, _: &Resources| query_all(tx, parties, &[], |row| row.text(0));
        assert_eq!(block_on(store.read(read)).unwrap(), noted);
    }
}
