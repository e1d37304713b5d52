//! Asks operations on fleets and fences.

use ah_model::{FenceReport, Lease, NewFence, NewFleet};
use ah_store::{Store, StoreError};
use serde_json::{Value, json};

use super::super::operation::FleetOperation;
use super::super::pairs::Names;
use super::pages;

/// One flat table: an operation, its call.
pub(super) async fn perform(
    store: &dyn Store,
    operation: FleetOperation,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    use FleetOperation as Op;
    Ok(match operation {
        Op::Create(new) => {
            let session_id = names.id(&new.session_id);
            json!(store.create_fleet(NewFleet { session_id, ..new }).await?)
        }
        Op::Fleet(session) => json!(store.fleet(names.id(&session)).await?),
        Op::List(filter, start) => {
            pages(start, |page| store.list_fleets(filter, page), |fleet| json!(fleet)).await?
        }
        Op::Change(session, change) => json!(store.change_fleet(names.id(&session), change).await?),
        Op::End(session) => json!(store.end_fleet(names.id(&session)).await?),
        Op::Begin(new) => {
            let session_id = names.id(&new.session_id);
            json!(store.start_fence(NewFence { session_id, ..new }).await?)
        }
        Op::Fence(id) => json!(store.fence(names.id(&id)).await?),
        Op::Fences(session, start) => {
            let session = names.id(&session);
            let list = |page| store.list_fences(session.clone(), page);
            pages(start, list, |fence| json!(fence)).await?
        }
        Op::Open => json!(store.open_fences().await?),
        Op::Report(report) => {
            let lease = Lease { run_id: names.id(&report.lease.run_id), ..report.lease };
            let fence_id = names.id(&report.fence_id);
            json!(store.report_fence(FenceReport { fence_id, lease, ..report }).await?)
        }
        Op::Sweep => json!(store.sweep_fleets().await?),
    })
}
