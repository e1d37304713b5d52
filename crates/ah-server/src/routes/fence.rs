//! Fences: begun and read by whoever works with a fleet, reported of by who holds its members.

use ah_model::{Fence, FenceId, FenceReport, FenceSaid, Lease, NewFence, Page, SessionId};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fleet::check_session;
use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let look = Access::LOOK;
    let begun = doc("Begins a fence of a fleet").answers::<Fence>(201).fails([404, 409]);
    let of_session_doc = doc("The fences of a session, newest first").query(params::page());
    let of_session_doc = of_session_doc.answers::<Page<Fence>>(200).fails([404]);
    let one = doc("Shows a fence").answers::<Fence>(200).fails([404]);
    let open_doc = doc("The fences that are open, oldest first").answers::<Items<Fence>>(200);
    let said = doc("Notes what the holder of a member says at a fence");
    let said = said.answers::<Fence>(200).fails([404, 409]);
    Routes::new()
        .get("/fences", Access::EXECUTE, open_doc, open)
        .get("/fences/{id}", look, one, show)
        .post("/fences/{id}/reports", Access::EXECUTE, said, report)
        .post("/sessions/{id}/fences", Access::OPERATE, begun, start)
        .get("/sessions/{id}/fences", look.of_session(), of_session_doc, of_session)
}

/// What is said, and the lease of the member's run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    lease: Lease,
    what: FenceSaid,
}

async fn start(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody(mut fence, _share): JsonBody<NewFence, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    check_session(&id, &fence.session_id)?;
    fence.requested_by = caller.user(fence.requested_by);
    created(&state.call(|store| async move { store.start_fence(fence).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<FenceId>) -> Answer {
    ok(&state.call(|store| async move { store.fence(id).await }).await?)
}

async fn of_session(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    pairs: Pairs,
) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_fences(id, page).await }).await?)
}

async fn open(State(state): State<ServerState>) -> Answer {
    let items = state.call(|store| async move { store.open_fences().await }).await?;
    ok(&Items { items })
}

async fn report(
    State(state): State<ServerState>,
    PathId(fence_id): PathId<FenceId>,
    JsonBody(Said { lease, what }, _share): JsonBody<Said>,
) -> Answer {
    let report = FenceReport { fence_id, lease, what };
    ok(&state.call(|store| async move { store.report_fence(report).await }).await?)
}
