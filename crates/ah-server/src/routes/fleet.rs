//! Fleets: formed, read, changed, ended, swept. What their members reach together is in `fence`.

use ah_model::{Fleet, FleetChange, FleetFilter, FleetsSwept, NewFleet, Page, SessionId};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let (look, operate) = (Access::LOOK, Access::OPERATE);
    let list_doc = doc("Fleets, newest first").query([params::fleets()]).query(params::page());
    let swept = doc("Applies what time has decided about fleets").answers::<FleetsSwept>(200);
    let formed = doc("Forms the fleet of a session").answers::<Fleet>(201).fails([404, 409]);
    let one = doc("The fleet of a session").answers::<Fleet>(200).fails([404]);
    Routes::new()
        .get("/fleets", look, list_doc.answers::<Page<Fleet>>(200), list)
        .post("/fleets/sweep", Access::EXECUTE, swept, sweep)
        .post("/sessions/{id}/fleet", operate, formed, create)
        .get("/sessions/{id}/fleet", look.of_session(), one, show)
        .post("/sessions/{id}/fleet/changes", operate, about("Changes a fleet"), change)
        .post("/sessions/{id}/fleet/end", operate, about("Ends a fleet"), end)
}

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Fleet>(200).fails([404, 409])
}

/// Refuses a body about another session than the path.
pub(super) fn check_session(path: &SessionId, body: &SessionId) -> Result<(), Failure> {
    if path == body {
        return Ok(());
    }
    let reason = format!("{path} in the path, {body} in the body");
    Err(Failure::invalid("sessionId", reason))
}

async fn create(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody(mut fleet, _share): JsonBody<NewFleet>,
) -> Answer {
    check_session(&id, &fleet.session_id)?;
    fleet.requested_by = caller.user(fleet.requested_by);
    created(&state.call(|store| async move { store.create_fleet(fleet).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    ok(&state.call(|store| async move { store.fleet(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<FleetFilter>()?, pairs.read()?);
    ok(&state.call(move |store| async move { store.list_fleets(filter, page).await }).await?)
}

async fn change(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(change, _share): JsonBody<FleetChange>,
) -> Answer {
    ok(&state.call(|store| async move { store.change_fleet(id, change).await }).await?)
}

async fn end(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    ok(&state.call(|store| async move { store.end_fleet(id).await }).await?)
}

async fn sweep(State(state): State<ServerState>) -> Answer {
    ok(&state.call(|store| async move { store.sweep_fleets().await }).await?)
}
