//! What executors report from their outboxes, in the oracle.

use ah_model::{
    ExecutorEvent, ExecutorId, Happened, Lease, RawJson, RefusedCounts, Renewed, ReportItem,
    Reports, ReportsTaken, RunEnd, Timestamp,
};
use ah_store::StoreError;

use super::{Door, Rows};

impl Rows {
    pub(super) fn renew_runs(
        &mut self,
        executor: &ExecutorId,
        leases: Vec<Lease>,
        lease_ms: u64,
        now: Timestamp,
    ) -> Renewed {
        let mut renewed = Renewed::default();
        for lease in leases {
            let run = self.run_mut(&lease.run_id).ok();
            match run.and_then(|run| run.renew_for(executor, &lease, lease_ms, now)) {
                None => renewed.lost.push(lease),
                Some(true) => renewed.stop.push(lease),
                Some(false) => {}
            }
        }
        renewed
    }

    pub(super) fn take_reports(
        &mut self,
        reports: &Reports,
        door: &Door,
    ) -> Result<ReportsTaken, StoreError> {
        let outbox = (reports.executor_id.clone(), reports.outbox_id.clone());
        let mut through = self.outboxes.get(&outbox).copied().unwrap_or(0);
        let mut refused = Vec::new();
        for item in reports.news(through)? {
            let run = self.run_mut(&item.run_id).ok();
            match item.refusal(&reports.executor_id, run.as_deref()) {
                Some(refusal) => refused.push(refusal),
                None => self.apply_report(item, door)?,
            }
            through = item.seq;
        }
        self.outboxes.insert(outbox, through);
        if !refused.is_empty() {
            let counts = RawJson::of(&RefusedCounts::of(&reports.outbox_id, &refused))?;
            let kind = ExecutorEvent::STALE_REPORT;
            self.note_executor(&reports.executor_id, kind, counts, door.now());
        }
        Ok(ReportsTaken { through, refused })
    }

    fn apply_report(&mut self, item: &ReportItem, door: &Door) -> Result<(), StoreError> {
        match &item.what {
            Happened::Started {} => self.start_run(&item.lease(), door.now()).map(drop),
            Happened::Event { .. } => {
                let events = item.event().into_iter().collect();
                self.append_events(&item.session_id, events, door.now()).map(drop)
            }
            Happened::Ended(ended) => {
                let end = RunEnd::from(ended.clone());
                self.finish_run(&item.lease(), &end, door).map(drop)
            }
        }
    }
}
