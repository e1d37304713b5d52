//! What the server did by itself, counted.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ah_model::{Amount, HiveSwept, Receipt, ReceiptId, Tally};

use super::{Text, lock};

/// What retention removes. Receipts may name other things, by whoever adds to them; those are one.
const CLASSES: [&str; 7] =
    ["messages", "sessions", "events", "runs", "changes", "liveEvents", "files"];

/// The numbers of what a server does by itself.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    swept: HiveSwept,
    carried_out: u64,
    retentions: u64,
    reclaimed_bytes: u64,
    removed: Tally,
    /// The receipt that was counted last, and how much of it: receipts say what is gone in all.
    counted: Option<(ReceiptId, Tally)>,
    failures: BTreeMap<&'static str, u64>,
}

impl Jobs {
    /// Time decided this.
    pub(crate) fn swept(&self, swept: HiveSwept) {
        let all = &mut lock(&self.0).swept;
        all.requeued += swept.requeued;
        all.dead += swept.dead;
        all.expired += swept.expired;
    }

    /// So many approvals were carried out.
    pub(crate) fn carried_out(&self, approvals: usize) {
        lock(&self.0).carried_out += approvals as u64;
    }

    /// Some of what was too old is gone.
    pub(crate) fn removed(&self, receipt: &Receipt) {
        let mut counts = lock(&self.0);
        let before = counts.counted.take().filter(|(id, _)| *id == receipt.id);
        let before = before.map(|(_, removed)| removed).unwrap_or_default();
        for (class, amount) in &receipt.removed.0 {
            let old = before.0.get(class).copied().unwrap_or_default();
            let rows = amount.rows.saturating_sub(old.rows);
            let bytes = amount.bytes.saturating_sub(old.bytes);
            counts.removed.add(known(class), Amount { rows, bytes });
        }
        counts.counted = Some((receipt.id.clone(), receipt.removed.clone()));
    }

    /// All that was too old is gone, and so much space was given back.
    pub(crate) fn retained(&self, bytes_reclaimed: u64) {
        let mut counts = lock(&self.0);
        counts.retentions += 1;
        counts.reclaimed_bytes += bytes_reclaimed;
    }

    /// That job could not be done.
    pub(crate) fn failed(&self, job: &'static str) {
        *lock(&self.0).failures.entry(job).or_default() += 1;
    }

    pub(super) fn push(&self, text: &mut Text) {
        let counts = lock(&self.0);
        let HiveSwept { requeued, dead, expired } = counts.swept;
        text.head("ah_hive_swept_total", "counter", "Messages and questions that time decided.");
        for (what, count) in [("requeued", requeued), ("dead", dead), ("expired", expired)] {
            text.line("ah_hive_swept_total", &[("what", what)], count as f64);
        }
        let counters = [
            ("ah_approvals_carried_out_total", "Approvals carried out.", counts.carried_out),
            ("ah_retention_runs_total", "Times that retention came to its end.", counts.retentions),
            (
                "ah_retention_reclaimed_bytes_total",
                "Space given back to the file system.",
                counts.reclaimed_bytes,
            ),
        ];
        for (name, about, count) in counters {
            text.head(name, "counter", about);
            text.line(name, &[], count as f64);
        }
        text.head("ah_retention_removed_total", "counter", "What retention removed.");
        for (class, amount) in &counts.removed.0 {
            text.line("ah_retention_removed_total", &[("class", class)], amount.rows as f64);
        }
        text.head("ah_retention_removed_bytes_total", "counter", "The content of that.");
        for (class, amount) in &counts.removed.0 {
            let labels = [("class", class.as_str())];
            text.line("ah_retention_removed_bytes_total", &labels, amount.bytes as f64);
        }
        text.head("ah_job_failures_total", "counter", "Jobs of the server that failed.");
        for (job, count) in &counts.failures {
            text.line("ah_job_failures_total", &[("job", job)], *count as f64);
        }
    }
}

/// The name that things of `class` are counted under.
fn known(class: &str) -> &'static str {
    CLASSES.into_iter().find(|known| *known == class).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use ah_model::{ReceiptKind, Timestamp};

    use super::*;

    fn receipt(id: &str, rows: u64) -> Receipt {
        let mut removed = Tally::default();
        removed.add("messages", Amount { rows, bytes: 10 * rows });
        Receipt {
            id: id.parse().unwrap(),
            kind: ReceiptKind::Retention,
            subject: None,
            started_at: Timestamp::EPOCH,
            finished_at: None,
            removed,
        }
    }

    #[test]
    fn what_a_receipt_says_again_is_counted_once() {
        let jobs = Jobs::default();
        for (id, rows) in [("r1", 3), ("r1", 5), ("r1", 5), ("r2", 1)] {
            jobs.removed(&receipt(id, rows));
        }
        let mut strange = receipt("r2", 1);
        strange.removed.add("whatever", Amount { rows: 7, bytes: 0 });
        jobs.removed(&strange);
        let mut text = Text::default();
        jobs.push(&mut text);
        for line in [
            r#"ah_retention_removed_total{class="messages"} 6"#,
            r#"ah_retention_removed_total{class="other"} 7"#,
            r#"ah_retention_removed_bytes_total{class="messages"} 60"#,
        ] {
            assert!(text.0.lines().any(|found| found == line), "{line}\n{}", text.0);
        }
    }

    #[test]
    fn what_time_decided_and_what_failed_adds_up() {
        let jobs = Jobs::default();
        jobs.swept(HiveSwept { requeued: 1, dead: 2, expired: 3 });
        jobs.swept(HiveSwept { requeued: 1, dead: 0, expired: 0 });
        jobs.failed("retention");
        jobs.carried_out(4);
        let mut text = Text::default();
        jobs.push(&mut text);
        for line in [
            r#"ah_hive_swept_total{what="requeued"} 2"#,
            r#"ah_hive_swept_total{what="expired"} 3"#,
            r#"ah_job_failures_total{job="retention"} 1"#,
            "ah_approvals_carried_out_total 4",
        ] {
            assert!(text.0.lines().any(|found| found == line), "{line}\n{}", text.0);
        }
    }
}
