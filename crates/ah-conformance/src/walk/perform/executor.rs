//! Asks operations on executors, and what they say of their runs.

use ah_model::{Executor, ExecutorEvent, Lease, RawJson, ReportItem, Reports, ReportsTaken};
use ah_store::{Store, StoreError};
use serde_json::{Value, json};

use super::super::operation::ExecutorOperation;
use super::super::pairs::Names;
use super::pages;
use super::run::run;

/// One flat table: an operation, its call.
pub(super) async fn perform(
    store: &dyn Store,
    operation: ExecutorOperation,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    use ExecutorOperation as Op;
    let held = |lease: Lease| Lease { run_id: names.id(&lease.run_id), ..lease };
    Ok(match operation {
        Op::Register(new) => executor(&store.register_executor(new).await?),
        Op::Enrol(new) => executor(&store.enrol_executor(*new).await?),
        Op::Change(id, change, by) => executor(&store.change_executor(id, *change, by).await?),
        Op::Executor(id) => executor(&store.executor(id).await?),
        Op::List(filter, start) => {
            pages(start, |page| store.list_executors(filter.clone(), page), executor).await?
        }
        Op::Seen(id) => executor(&store.executor_seen(id).await?),
        Op::AskToGo(id) => executor(&store.ask_executor_to_go(id).await?),
        Op::Remove(id) => store.remove_executor(id).await?.iter().map(run).collect(),
        Op::History(id, start) => {
            pages(start, |page| store.executor_history(id.clone(), page), happened).await?
        }
        Op::Note(id, kind, data) => happened(&store.note_executor(id, kind, data).await?),
        Op::Renew(id, leases, lease_ms) => {
            let leases = leases.into_iter().map(held).collect();
            json!(store.renew_runs(id, leases, lease_ms).await?)
        }
        Op::Report(reports) => taken(&store.take_reports(named(reports, names)).await?),
        Op::Reported(id, outbox) => json!(store.reported_through(id, outbox).await?),
    })
}

/// Its values as text, as those of events.
fn executor(executor: &Executor) -> Value {
    let (details, identity) = (executor.details.as_str(), executor.identity.as_str());
    let null = RawJson::null;
    let rest = Executor { details: null(), identity: null(), ..executor.clone() };
    json!({ "details": details, "identity": identity, "rest": rest })
}

fn happened(event: &ExecutorEvent) -> Value {
    let rest = ExecutorEvent { number: 0, data: RawJson::null(), ..event.clone() };
    json!({ "data": event.data.as_str(), "rest": rest })
}

/// Words about a refusal name ids of the store that refused.
fn taken(taken: &ReportsTaken) -> Value {
    let refused = taken.refused.iter().map(|refusal| json!([refusal.seq, refusal.reason]));
    json!({ "through": taken.through, "refused": refused.collect::<Value>() })
}

fn named(reports: Reports, names: &Names<'_>) -> Reports {
    let items = reports.items.into_iter().map(|item| ReportItem {
        run_id: names.id(&item.run_id),
        session_id: names.id(&item.session_id),
        ..item
    });
    Reports { items: items.collect(), ..reports }
}
