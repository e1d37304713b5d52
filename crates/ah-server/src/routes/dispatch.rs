//! Programs that are started beside runs, by the access point of this process.

use ah_model::{
    Dispatched, ExecutorId, ExecutorVerb, Lease, NewDispatch, RequestId, Run, RunId, allows,
};
use ah_store::{Kind, StoreError};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, created};
use crate::auth::{Caller, forbidden};
use crate::extract::{JsonBody, PathId};
use crate::options::{DispatchAnswer, DispatchOrder};
use crate::problem::Failure;
use crate::routing::{Routes, doc};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let doc = doc("Starts a program beside a run, on the executor that holds it");
    let doc = doc.answers::<Dispatched>(201).fails([404, 409, 503]);
    Routes::new().post("/runs/{id}/dispatches", Access::OPERATE, doc, start)
}

async fn start(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<RunId>,
    JsonBody(mut program, _share): JsonBody<NewDispatch>,
) -> Answer {
    program.check()?;
    program.requested_by = caller.user(program.requested_by);
    let run = state.call(|store| async move { store.run(id).await }).await?;
    let executor_id = holder(&run, program.epoch)?;
    check_allowed(&state, executor_id.clone(), program.requested_by.as_deref()).await?;
    let id: RequestId = match &program.id {
        Some(id) => id.clone(),
        None => state.fresh_request_id().parse()?,
    };
    let (run_id, epoch) = (run.id.clone(), run.lease_epoch);
    let lease = Lease { run_id: run_id.clone(), epoch };
    let answer = state.dispatched(DispatchOrder { id: id.clone(), lease, program }).await;
    match answer {
        DispatchAnswer::Begun => created(&Dispatched { id, run_id, epoch, executor_id }),
        DispatchAnswer::Refused(reason) => {
            Err(conflict(&run, format!("executor {executor_id} started nothing: {reason}")))
        }
        DispatchAnswer::NotHere => Err(conflict(&run, not_here(&executor_id))),
        DispatchAnswer::Unknown => Err(Failure::new(
            "executor-silent",
            "the executor did not answer",
            503,
            format!(
                "executor {executor_id} did not say whether {id} was started beside run {run_id}; \
                 the same id and epoch {epoch} again start it at most once"
            ),
        )),
    }
}

/// Who holds a run that is at work, under the epoch that is asked for.
fn holder(run: &Run, epoch: Option<u64>) -> Result<ExecutorId, Failure> {
    let status = run.status;
    let Some(executor) = run.executor_id.as_ref().filter(|_| status.is_live()) else {
        return Err(conflict(run, format!("it is {status}, no executor is at work on it")));
    };
    match epoch.filter(|epoch| *epoch != run.lease_epoch) {
        Some(epoch) => {
            let now = run.lease_epoch;
            Err(conflict(run, format!("it has epoch {now} by now, {epoch} was asked for")))
        }
        None => Ok(executor.clone()),
    }
}

/// Whether the rules of the executor let `user` have programs started there.
async fn check_allowed(
    state: &ServerState,
    id: ExecutorId,
    user: Option<&str>,
) -> Result<(), Failure> {
    let asked = id.clone();
    let found = state.call(|store| async move {
        match store.executor(asked).await {
            Ok(executor) => Ok(Some(executor)),
            // Of one that never registered nobody has set rules.
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    });
    let rules = found.await?.map(|executor| executor.authorization).unwrap_or_default();
    if allows(&rules, user, ExecutorVerb::Dispatch) {
        return Ok(());
    }
    let user = user.unwrap_or("who has no name");
    Err(forbidden(format!(
        "{user} may not dispatch on executor {id}; `ah executor authorize {id} {user} dispatch` \
         would allow it"
    )))
}

fn not_here(executor: &ExecutorId) -> String {
    format!(
        "its executor {executor} is not connected to this access point; `ah executor show {executor}` \
         says when it was last seen"
    )
}

fn conflict(run: &Run, reason: String) -> Failure {
    StoreError::Conflict { kind: Kind::Run, id: run.id.to_string(), reason }.into()
}
