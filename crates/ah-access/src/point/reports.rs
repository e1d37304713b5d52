//! What executors report: handed to the store in order, acknowledged when it is kept.

use ah_model::{Happened, ReportItem, Reports, ReportsTaken};
use ah_store::StoreError;

use super::Point;
use super::input::{ConnectionId, Output, Stream};
use super::presence::{Presence, Taking};
use super::work::Work;
use crate::frame::{Report, ReportAck};
use crate::moment::Moment;

/// When a store that could not take a report is asked again.
const AGAIN_MS: u64 = 500;

impl Point {
    pub(super) fn report(&mut self, now: Moment, id: ConnectionId, report: Report) {
        let reports_max = self.options.connection.reports_max;
        let Some(presence) = self.presence_mut(id) else { return };
        if report.outbox_id != presence.outbox {
            let detail = format!("outbox {} is not the one of Hello", report.outbox_id);
            return self.break_off(id, "outbox-changed", &detail);
        }
        if presence.reports.len() as u64 >= reports_max {
            let detail = format!("{reports_max} reports wait already");
            return self.break_off(id, "too-many-reports", &detail);
        }
        presence.reports.push_back(report.items);
        self.take_next(now, id);
    }

    /// Hands the first report that waits to the store, unless it has one.
    pub(super) fn take_next(&mut self, now: Moment, id: ConnectionId) {
        let Some(presence) = self.presence_mut(id) else { return };
        match presence.taking {
            Taking::Now => return,
            Taking::Again { at_ms } if !now.is_past(at_ms) => return,
            Taking::No | Taking::Again { .. } => {}
        }
        let Some(items) = presence.reports.front().cloned() else { return };
        presence.taking = Taking::Now;
        let (executor_id, outbox_id) = (presence.executor.id.clone(), presence.outbox.clone());
        let reports = Reports { executor_id, outbox_id, items };
        self.out.push(Output::Work(Work::Take { connection: id, reports }));
    }

    pub(super) fn took(
        &mut self,
        now: Moment,
        id: ConnectionId,
        result: Result<ReportsTaken, StoreError>,
    ) {
        let Some(presence) = self.presence_mut(id) else { return };
        presence.taking = Taking::No;
        let taken = match result {
            Ok(taken) => taken,
            Err(StoreError::Invalid(invalid)) => {
                return self.break_off(id, "bad-report", &invalid.to_string());
            }
            Err(_) => {
                presence.taking = Taking::Again { at_ms: now.ms + AGAIN_MS };
                return;
            }
        };
        let items = presence.reports.pop_front().unwrap_or_default();
        presence.ended(&items);
        let outbox_id = presence.outbox.clone();
        let ReportsTaken { through, refused } = taken;
        self.counts.stale += refused.len() as u64;
        self.send(id, Stream::Reports, ReportAck { outbox_id, through, refused });
        self.take_next(now, id);
        if items.iter().any(is_end) {
            self.want_look();
        }
    }
}

fn is_end(item: &ReportItem) -> bool {
    matches!(item.what, Happened::Ended(_))
}

impl Presence {
    /// Runs whose end is kept, or refused for ever, are held no more.
    fn ended(&mut self, items: &[ReportItem]) {
        for item in items.iter().filter(|item| is_end(item)) {
            if self.assignments.get(&item.run_id).is_some_and(|held| held.epoch == item.epoch) {
                self.assignments.remove(&item.run_id);
            }
        }
    }
}
