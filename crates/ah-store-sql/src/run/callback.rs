//! Callbacks to parents: recorded with the end they tell of, carried by a resume run of the parent.

use ah_model::{
    Callback, Cursor, NewRun, PageLimit, RawJson, Run, RunId, RunKind, Session, SessionId, limits,
};
use ah_store::StoreError;

use super::{create, live_id};
use crate::page::sized_page;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::session::{self, Access};
use crate::tx::{Row, Tx, query_all, query_first};

const SELECT: &str = "SELECT run_id, child_session_id, parent_session_id, status, error, result, \
    attempts, created_at, delivered_by, number FROM callbacks";

/// The place of [`SELECT`]'s number.
const NUMBER: usize = 9;

fn read(row: &dyn Row) -> Result<Callback, StoreError> {
    let row = Reader::new(row);
    Ok(Callback {
        run_id: row.parse()?,
        child_session_id: row.parse()?,
        parent_session_id: row.parse()?,
        status: row.parse()?,
        error: row.opt_text()?,
        result: row.opt_json()?,
        attempts: row.uint()?,
        created_at: row.time()?,
        delivered_by: row.opt_parse()?,
    })
}

/// A run of that id may have been deleted and its id used again: the newer end counts.
const FORGET: &str = "DELETE FROM callbacks WHERE run_id = $1";
const INSERT: &str = "INSERT INTO callbacks (run_id, number, child_session_id, parent_session_id, \
    status, error, result, created_at) VALUES ($1, \
    (SELECT coalesce(max(number), 0) + 1 FROM callbacks WHERE parent_session_id = $2), \
    $3, $2, $4, $5, $6, $7)";

/// Records what the end of `run` tells its parent, if it asked for it, and delivers it if it can;
/// how many runs were queued for it.
pub(super) fn record(tx: &mut dyn Tx, ctx: &Resources, run: &Run) -> Result<u64, StoreError> {
    let Some(callback) = Callback::of(run) else {
        return Ok(0);
    };
    // A parent that has gone meanwhile hears nothing.
    let Some(parent) = session::find(tx, &callback.parent_session_id, Access::Change)? else {
        return Ok(0);
    };
    let params = [
        callback.run_id.as_str().into(),
        callback.parent_session_id.as_str().into(),
        callback.child_session_id.as_str().into(),
        callback.status.as_str().into(),
        callback.error.as_ref().into(),
        callback.result.as_ref().map(RawJson::as_str).into(),
        callback.created_at.into(),
    ];
    tx.execute(FORGET, &params[..1])?;
    tx.execute(INSERT, &params)?;
    deliver(tx, ctx, &parent).map(u64::from)
}

const CARRY: &str = "UPDATE callbacks SET delivered_by = $1 WHERE run_id = $2";

/// Gives the callbacks that wait for `parent`, which is locked, to a new run of it, if it is free
/// to be resumed; whether there was something to give.
pub(super) fn deliver(
    tx: &mut dyn Tx,
    ctx: &Resources,
    parent: &Session,
) -> Result<bool, StoreError> {
    if !Callback::can_reach(parent.status) || live_id(tx, &parent.id)?.is_some() {
        return Ok(false);
    }
    let sql = format!(
        "{SELECT} WHERE parent_session_id = $1 AND delivered_by IS NULL AND attempts < $2 \
         ORDER BY number LIMIT $3"
    );
    let most = limits::CALLBACKS_AT_ONCE as u64;
    let params = [parent.id.as_str().into(), limits::CALLBACK_ATTEMPTS_MAX.into(), most.into()];
    let waiting = query_all(tx, &sql, &params, read)?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let parameters = Callback::parameters(&waiting)?;
    let resume = NewRun {
        requested_by: last_asked(tx, &parent.id)?,
        ..NewRun::new(parent.id.clone(), RunKind::Resume, parameters)
    };
    let run = create(tx, ctx, &resume)?;
    for callback in &waiting {
        tx.execute(CARRY, &[run.id.as_str().into(), callback.run_id.as_str().into()])?;
    }
    Ok(true)
}

const LAST_ASKED: &str = "SELECT requested_by FROM runs WHERE session_id = $1 AND member IS NULL ORDER BY number DESC LIMIT 1";

/// Who asked for the newest run of a session: it goes on for them.
fn last_asked(tx: &mut dyn Tx, session: &SessionId) -> Result<Option<String>, StoreError> {
    let asked = query_first(tx, LAST_ASKED, &[session.as_str().into()], |row| row.opt_text(0))?;
    Ok(asked.flatten())
}

const RELEASE: &str = "UPDATE callbacks SET delivered_by = NULL, attempts = attempts + 1 \
    WHERE delivered_by = $1";

/// What `carrier` was to tell waits again: it never began.
pub(super) fn release(tx: &mut dyn Tx, carrier: &RunId) -> Result<(), StoreError> {
    tx.execute(RELEASE, &[carrier.as_str().into()]).map(drop)
}

/// Parents that can be resumed for callbacks that wait.
const REACHABLE: &str = "SELECT DISTINCT c.parent_session_id FROM callbacks c \
    JOIN sessions s ON s.id = c.parent_session_id \
    WHERE c.delivered_by IS NULL AND c.attempts < $1 AND s.status IN ('idle', 'succeeded', 'failed') \
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = s.id AND r.member IS NULL \
    AND r.status IN ('pending', 'claimed', 'running', 'stopping')) \
    ORDER BY c.parent_session_id LIMIT $2";

pub(super) fn reachable(tx: &mut dyn Tx, most: usize) -> Result<Vec<SessionId>, StoreError> {
    let params = [limits::CALLBACK_ATTEMPTS_MAX.into(), (most as u64).into()];
    query_all(tx, REACHABLE, &params, |row| row.parse(0))
}

/// The newest callbacks of a parent, oldest first, as many as fit a page.
pub(super) fn of_parent(tx: &mut dyn Tx, parent: &SessionId) -> Result<Vec<Callback>, StoreError> {
    session::last_seq(tx, parent)?;
    let sql = format!(
        "{SELECT} WHERE parent_session_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
    );
    let some = |last: Option<&(Callback, i64)>, rows: usize| {
        let before = last.map_or(i64::MAX, |(_, number)| *number);
        let params = [parent.as_str().into(), before.into(), (rows as u64).into()];
        query_all(tx, &sql, &params, |row| Ok((read(row)?, row.int(NUMBER)?)))
    };
    let size = |(callback, _): &(Callback, i64)| {
        let result = callback.result.as_ref().map_or(0, |json| json.as_str().len());
        result + callback.error.as_ref().map_or(0, String::len)
    };
    let page = sized_page(PageLimit::MAX, some, size, |(_, number)| Cursor::Number(*number))?;
    Ok(page.items.into_iter().rev().map(|(callback, _)| callback).collect())
}
