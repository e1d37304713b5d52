//! The rows of fleets and fences: what is looked up, and the whole value as one document. Writing one
//! is told in the feed.

use ah_model::{
    ChangeKind, Cursor, Fence, FenceId, Fleet, FleetFilter, FleetStatus, Page, PageRequest,
    RawJson, RunId, SessionId, Timestamp, limits,
};
use ah_store::{Kind, StoreError};
use serde::de::DeserializeOwned;

use crate::change;
use crate::page::{foreign_cursor, sized_page, text_cursor};
use crate::resources::Resources;
use crate::statement::Statement;
use crate::tx::{More, Row, Tx, query_all, query_first};

const FLEET: &str = "SELECT document FROM fleets";
const FENCE: &str = "SELECT document FROM fences";

fn read<T: DeserializeOwned>(row: &dyn Row) -> Result<T, StoreError> {
    serde_json::from_str(&row.text(0)?)
        .map_err(|error| StoreError::corrupt("document of a fleet", error))
}

/// The fleet of a session, if it ever had one.
pub(super) fn find_fleet(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<Option<Fleet>, StoreError> {
    query_first(tx, &format!("{FLEET} WHERE session_id = $1"), &[session.as_str().into()], read)
}

/// The fleet of a session.
pub(super) fn fleet(tx: &mut dyn Tx, session: &SessionId) -> Result<Fleet, StoreError> {
    find_fleet(tx, session)?.ok_or_else(|| StoreError::not_found(Kind::Fleet, session))
}

const SAVE_FLEET: &str = "INSERT INTO fleets \
    (session_id, status, leader_run_id, created_at, document) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (session_id) DO UPDATE SET status = excluded.status, \
    leader_run_id = excluded.leader_run_id, created_at = excluded.created_at, \
    document = excluded.document";

pub(super) fn save_fleet(
    tx: &mut dyn Tx,
    ctx: &Resources,
    fleet: &Fleet,
) -> Result<(), StoreError> {
    let document = RawJson::of(fleet)?;
    let params = [
        fleet.session_id.as_str().into(),
        fleet.status.as_str().into(),
        fleet.leader_run().map_or("", RunId::as_str).into(),
        fleet.created_at.into(),
        document.as_str().into(),
    ];
    tx.execute(SAVE_FLEET, &params)?;
    change::session(tx, ctx, ChangeKind::FleetUpdated, &fleet.session_id)
}

/// Fleets, the newest first.
pub(super) fn list_fleets(
    tx: &mut dyn Tx,
    filter: FleetFilter,
    page: &PageRequest,
) -> Result<Page<Fleet>, StoreError> {
    let (at, id) = match &page.cursor {
        // Sorts after every session: ids are ASCII.
        None => (Timestamp::MAX, "\u{7f}"),
        Some(Cursor::Activity { at, id }) => (*at, id.as_str()),
        Some(other) => return Err(foreign_cursor(other)),
    };
    let some = |last: Option<&Fleet>, rows: usize| {
        let (at, id) = last.map_or((at, id), |fleet| (fleet.created_at, fleet.session_id.as_str()));
        let mut query = Statement::new(FLEET, tx.dialect());
        query.push(" WHERE (created_at, session_id) < (").param(at).push(", ").param(id).push(")");
        query.one_of_ours("status", filter.status.map(FleetStatus::as_str).into_iter().collect());
        query.push(" ORDER BY created_at DESC, session_id DESC LIMIT ").param(rows as u64);
        query_all(tx, &query.sql, &query.params, read)
    };
    let size = |fleet: &Fleet| {
        let words = fleet.files.pull.iter().chain(&fleet.files.ignore);
        words.map(String::len).sum()
    };
    sized_page(page.limit, some, size, |fleet| Cursor::Activity {
        at: fleet.created_at,
        id: fleet.session_id.to_string(),
    })
}

/// The fence of that id.
pub(super) fn fence(tx: &mut dyn Tx, id: &FenceId) -> Result<Fence, StoreError> {
    query_first(tx, &format!("{FENCE} WHERE id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Fence, id))
}

const SESSION_OF: &str = "SELECT session_id FROM fences WHERE id = $1";

/// The session of a fence.
pub(super) fn session_of(tx: &mut dyn Tx, id: &FenceId) -> Result<SessionId, StoreError> {
    query_first(tx, SESSION_OF, &[id.as_str().into()], |row| row.parse(0))?
        .ok_or_else(|| StoreError::not_found(Kind::Fence, id))
}

const OPEN_OF: &str = " WHERE session_id = $1 AND status IN ('snapshot', 'pull')";

/// The open fence of a session.
pub(super) fn open_fence(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<Option<Fence>, StoreError> {
    query_first(tx, &format!("{FENCE}{OPEN_OF}"), &[session.as_str().into()], read)
}

const OPEN: &str = " WHERE status IN ('snapshot', 'pull') ORDER BY id LIMIT $1";

/// The open fences, oldest first, as many as fit a page. One that cannot be read costs itself; `check`
/// names it.
pub(super) fn open_fences(tx: &mut dyn Tx, most: usize) -> Result<Vec<Fence>, StoreError> {
    let (mut fences, mut bytes) = (Vec::new(), 0);
    tx.query(&format!("{FENCE}{OPEN}"), &[(most as u64).into()], &mut |row| {
        if let Ok(fence) = read(row) {
            bytes += size(&fence);
            if bytes > limits::PAGE_BYTES_MAX && !fences.is_empty() {
                return Ok(More::No);
            }
            fences.push(fence);
        }
        Ok(More::Yes)
    })?;
    Ok(fences)
}

const SAVE_FENCE: &str = "INSERT INTO fences (id, session_id, status, deadline_at, document) \
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET status = excluded.status, \
    deadline_at = excluded.deadline_at, document = excluded.document";

pub(super) fn save_fence(
    tx: &mut dyn Tx,
    ctx: &Resources,
    fence: &Fence,
) -> Result<(), StoreError> {
    let document = RawJson::of(fence)?;
    let params = [
        fence.id.as_str().into(),
        fence.session_id.as_str().into(),
        fence.status.as_str().into(),
        fence.deadline_at.into(),
        document.as_str().into(),
    ];
    tx.execute(SAVE_FENCE, &params)?;
    change::session(tx, ctx, ChangeKind::FenceUpdated, &fence.session_id)
}

/// The fences of a session, the newest first.
pub(super) fn list_fences(
    tx: &mut dyn Tx,
    session: &SessionId,
    page: &PageRequest,
) -> Result<Page<Fence>, StoreError> {
    // Sorts after every id: they are ASCII.
    let first = text_cursor(page.cursor.as_ref())?.unwrap_or("\u{7f}");
    let sql = format!("{FENCE} WHERE session_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
    let some = |last: Option<&Fence>, rows: usize| {
        let before = last.map_or(first, |fence| fence.id.as_str());
        let params = [session.as_str().into(), before.into(), (rows as u64).into()];
        query_all(tx, &sql, &params, read)
    };
    sized_page(page.limit, some, size, |fence| Cursor::Text(fence.id.to_string()))
}

/// The bytes of what may be large.
fn size(fence: &Fence) -> usize {
    let step = fence.step.iter().flat_map(|step| {
        step.argv.iter().chain(step.env.keys()).chain(step.env.values()).map(String::len)
    });
    let details = fence.members.iter().filter_map(|member| member.detail.as_ref());
    step.chain(details.map(String::len)).sum()
}
