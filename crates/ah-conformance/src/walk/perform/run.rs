//! Asks operations on runs and tokens.

use ah_model::{Callback, Lease, NewRun, RawJson, Run, RunClaim, RunFilter};
use ah_store::{Store, StoreError};
use serde_json::{Value, json};

use super::super::operation::RunOperation;
use super::super::pairs::{Names, cut_ids};
use super::{pages, session};

/// One flat table: an operation, its call.
pub(super) async fn perform(
    store: &dyn Store,
    operation: RunOperation,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    use RunOperation as Op;
    let held = |lease: Lease| Lease { run_id: names.id(&lease.run_id), ..lease };
    Ok(match operation {
        Op::Create(new) => run(&store.create_run(new_run(*new, names)).await?),
        Op::Run(id) => run(&store.run(names.id(&id)).await?),
        Op::List(filter, start) => {
            let session_id = filter.session_id.map(|id| names.id(&id));
            let filter = RunFilter { session_id, ..filter };
            pages(start, |page| store.list_runs(filter.clone(), page), run).await?
        }
        Op::OfSession(id) => store.session_runs(names.id(&id)).await?.iter().map(run).collect(),
        Op::Claim(claim) => {
            let run_id = claim.run_id.map(|id| names.id(&id));
            let claimed = store.claim_run(RunClaim { run_id, ..claim }).await?;
            claimed.as_ref().map_or(Value::Null, run)
        }
        Op::Renew(lease, lease_ms) => run(&store.renew_run(held(lease), lease_ms).await?),
        Op::Lose(lease) => run(&store.lose_run(held(lease)).await?),
        Op::Start(lease) => run(&store.start_run(held(lease)).await?),
        Op::Bind(lease, update) => json!(store.bind_run(held(lease), *update).await?),
        Op::Append(lease, events) => json!(store.append_to_run(held(lease), events).await?),
        Op::Finish(lease, end) => run(&store.finish_run(held(lease), end).await?),
        Op::StopSession(id) => json!(store.stop_session(names.id(&id)).await?),
        Op::Stop(id) => run(&store.stop_run(names.id(&id)).await?),
        Op::StopOrders(executor) => store.stop_orders(executor).await?.iter().map(run).collect(),
        Op::Sweep => json!(store.sweep_runs().await?),
        Op::Callbacks(id) => store.callbacks(names.id(&id)).await?.iter().map(callback).collect(),
        Op::Restore(given) => json!(store.restore_run(restored(*given, names)).await?),
        Op::CreateToken(new) => json!(store.create_token(new).await?),
        Op::Credentials(id) => json!(store.credentials(id).await?),
        Op::ListTokens(start) => {
            pages(start, |page| store.list_tokens(page), |token| json!(token)).await?
        }
        Op::RevokeToken(id) => json!(store.revoke_token(id).await?),
        Op::TokenUsed(id) => json!(store.token_used(id).await?),
    })
}

/// Its values as text, as those of events; a callback's has the ids of children in it.
pub(super) fn run(run: &Run) -> Value {
    let rest = Run { parameters: RawJson::null(), result: None, ..run.clone() };
    json!({
        "parameters": cut_ids(run.parameters.as_str()),
        "result": run.result.as_ref().map(RawJson::as_str),
        "rest": rest,
    })
}

fn callback(callback: &Callback) -> Value {
    let rest = Callback { result: None, ..callback.clone() };
    json!({ "result": callback.result.as_ref().map(RawJson::as_str), "rest": rest })
}

fn new_run(new: NewRun, names: &Names<'_>) -> NewRun {
    NewRun {
        id: new.id.map(|id| names.id(&id)),
        session_id: names.id(&new.session_id),
        session: new.session.map(|new| Box::new(session(*new, names))),
        parent_session_id: new.parent_session_id.map(|id| names.id(&id)),
        ..new
    }
}

fn restored(run: Run, names: &Names<'_>) -> Run {
    Run {
        id: names.id(&run.id),
        session_id: names.id(&run.session_id),
        parent_session_id: run.parent_session_id.map(|id| names.id(&id)),
        ..run
    }
}
