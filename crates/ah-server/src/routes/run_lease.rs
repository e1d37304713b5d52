//! Runs and those who hold them: claimed, renewed, reported. The epoch proves the holder.

use ah_model::limits::{APPEND_EVENTS_MAX, LEASE_MS_MAX, LEASE_MS_MIN};
use ah_model::{Appended, Lease, NewEvent, Run, RunClaim, RunEnd, RunId, SessionUpdate};
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::answer::{Answer, created, ok};
use crate::claims::{Claimed, claim_within};
use crate::extract::{JsonBody, Pairs, PathId, bounded_events};
use crate::limits::{CLAIM_SECONDS_MAX, EVENTS_BODY_BYTES_MAX, RUN_BODY_BYTES_MAX};
use crate::links::Linked;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;
use crate::watch;

pub(crate) fn routes() -> Routes {
    let claim_doc = doc("Takes the run that waits longest of those an executor may take");
    let claim_doc = claim_doc.query([params::claim_wait()]).answers::<Answered>(200);
    let events = doc("Appends to the session of a run").answers::<Appended>(201).fails([404, 409]);
    let bound = doc("The holder began, and says where it works").answers::<Linked>(200);
    Routes::new()
        .post("/runs/claim", Access::EXECUTE, claim_doc, claim)
        .post("/runs/{id}/renew", Access::EXECUTE, about("Keeps the lease of a run"), renew)
        .post("/runs/{id}/lose", Access::EXECUTE, about("The holder of a run cannot go on"), lose)
        .post("/runs/{id}/start", Access::EXECUTE, about("The holder of a run began"), start)
        .post("/runs/{id}/bind", Access::EXECUTE, bound.fails([404, 409]), bind)
        .post("/runs/{id}/events", Access::EXECUTE, events, append)
        .post("/runs/{id}/finish", Access::EXECUTE, about("Says how a run ended"), finish)
}

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Run>(200).fails([404, 409])
}

/// What a claim brought.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClaimedRun")]
struct Answered {
    run: Option<Box<Run>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Renewed {
    epoch: u64,
    #[schemars(range(min = LEASE_MS_MIN, max = LEASE_MS_MAX))]
    lease_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Started {
    epoch: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bound {
    epoch: u64,
    session: SessionUpdate,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Given {
    epoch: u64,
    #[schemars(length(min = 1, max = APPEND_EVENTS_MAX))]
    #[serde(deserialize_with = "bounded_events")]
    events: Vec<NewEvent>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Finished {
    epoch: u64,
    end: RunEnd,
}

/// The next run that the executor may take; waits for one if asked to.
async fn claim(
    State(state): State<ServerState>,
    pairs: Pairs,
    JsonBody(claim, _share): JsonBody<RunClaim>,
) -> Answer {
    let wait = watch::wait(&pairs, "wait", CLAIM_SECONDS_MAX)?;
    let run = match claim_within(&state, claim, wait).await? {
        Claimed::Run(run) => Some(run),
        Claimed::Told | Claimed::Nothing => None,
    };
    ok(&Answered { run })
}

async fn renew(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Renewed { epoch, lease_ms }, _share): JsonBody<Renewed>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    ok(&state.call(move |store| async move { store.renew_run(lease, lease_ms).await }).await?)
}

async fn lose(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Started { epoch }, _share): JsonBody<Started>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    ok(&state.call(|store| async move { store.lose_run(lease).await }).await?)
}

async fn start(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Started { epoch }, _share): JsonBody<Started>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    ok(&state.call(|store| async move { store.start_run(lease).await }).await?)
}

async fn bind(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Bound { epoch, session }, _share): JsonBody<Bound>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    let bound = state.call(|store| async move { store.bind_run(lease, session).await });
    ok(&Linked::from(bound.await?))
}

async fn append(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Given { epoch, events }, _share): JsonBody<Given, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    let append = state.append(|store| async move { store.append_to_run(lease, events).await });
    created(&append.await?)
}

async fn finish(
    State(state): State<ServerState>,
    PathId(run_id): PathId<RunId>,
    JsonBody(Finished { epoch, end }, _share): JsonBody<Finished, RUN_BODY_BYTES_MAX>,
) -> Answer {
    let lease = Lease { run_id, epoch };
    ok(&state.call(|store| async move { store.finish_run(lease, end).await }).await?)
}
