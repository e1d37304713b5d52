//! Scrubbing in the oracle: a place at a time, all of it at once.

use std::sync::Arc;

use ah_model::{
    Amount, Event, ReceiptKind, Redact, Redactions, Redactor, Scrub, ScrubFinding, ScrubPlace,
    ScrubStep, SessionId, Tally, Timestamp,
};
use ah_store::{Scrubs, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows};

#[async_trait]
impl Scrubs for ModelStore {
    async fn scrub_step(&self, scrub: Scrub) -> Result<ScrubStep, StoreError> {
        if scrub.dry_run {
            return Ok(self.read(Rows::clone).scrub(&scrub));
        }
        self.write_unnoted(|rows, door| {
            let mut step = rows.scrub(&scrub);
            let mut done = Tally::default();
            done.add(step.place.as_str(), Amount { rows: step.changed, bytes: 0 });
            for (rule, count) in &step.found.0 {
                done.add(&format!("secrets/{rule}"), Amount { rows: *count, bytes: 0 });
            }
            let receipt = rows.open_receipt(ReceiptKind::Scrub, None, door)?;
            let more = step.next.is_some();
            step.receipt = Some(rows.add_step(receipt, &done, more, door.now()).receipt);
            Ok(step)
        })
    }
}

/// Goes through rows and notes what it takes out of them.
struct Sweep<'a> {
    scrub: &'a Scrub,
    step: ScrubStep,
}

impl Sweep<'_> {
    fn row(
        &mut self,
        id: String,
        session: Option<&SessionId>,
        at: Timestamp,
        value: &mut impl Redact,
    ) {
        let other = self.scrub.session_id.as_ref().is_some_and(|wanted| Some(wanted) != session);
        if other || self.scrub.since.is_some_and(|since| at < since) {
            return;
        }
        self.step.rows += 1;
        let mut redactor = Redactor::default();
        value.redact(&mut redactor);
        let found = redactor.redactions();
        self.step.changed += u64::from(!found.is_empty());
        self.step.found.add_all(&found);
        let finding = |finding: &ah_model::redact::Finding| ScrubFinding {
            place: self.step.place,
            id: id.clone(),
            path: finding.path.clone(),
            rule: finding.rule.to_owned(),
            count: finding.count as u64,
        };
        let findings: Vec<_> = redactor.findings().iter().map(finding).collect();
        self.step.findings.extend(findings);
    }
}

impl Rows {
    fn scrub(&mut self, scrub: &Scrub) -> ScrubStep {
        let place = scrub.start().place;
        let (found, next) = (Redactions::default(), scrub.behind(place));
        let findings = Vec::new();
        let step = ScrubStep { place, rows: 0, changed: 0, found, findings, receipt: None, next };
        let mut sweep = Sweep { scrub, step };
        match place {
            ScrubPlace::Events => self.scrub_events(&mut sweep),
            ScrubPlace::Tasks => {
                for (id, task) in &mut self.tasks {
                    let session = task.session_id.clone();
                    sweep.row(id.to_string(), Some(&session), task.created_at, task);
                }
            }
            ScrubPlace::Sessions => {
                for (id, session) in &mut self.sessions {
                    sweep.row(id.to_string(), Some(id), session.last_activity_at, session);
                }
            }
            ScrubPlace::Runs => {
                for row in self.runs.values_mut() {
                    let (id, session) = (row.run.id.to_string(), row.run.session_id.clone());
                    sweep.row(id, Some(&session), row.run.created_at, &mut row.run);
                }
            }
            ScrubPlace::Callbacks => {
                for callback in self.callbacks.values_mut() {
                    let parent = callback.parent_session_id.clone();
                    let id = callback.run_id.to_string();
                    sweep.row(id, Some(&parent), callback.created_at, callback);
                }
            }
            ScrubPlace::Messages => {
                for message in self.messages.values_mut() {
                    sweep.row(message.id.to_string(), None, message.sent_at, message);
                }
            }
            ScrubPlace::Approvals => {
                for approval in self.approvals.values_mut() {
                    sweep.row(approval.id.to_string(), None, approval.requested_at, approval);
                }
            }
            ScrubPlace::Questions => {
                for question in self.questions.values_mut() {
                    sweep.row(question.id.to_string(), None, question.asked_at, question);
                }
            }
            ScrubPlace::Drafts => {
                for draft in self.drafts.values_mut() {
                    sweep.row(draft.id.to_string(), None, draft.updated_at, &mut draft.fields);
                }
            }
            ScrubPlace::Agents => {
                for agent in self.agents.values_mut() {
                    sweep.row(agent.id.to_string(), None, agent.updated_at, agent);
                }
            }
            ScrubPlace::Answers => {
                for (key, answer) in &mut self.answers {
                    sweep.row(key.clone(), None, answer.kept_at(), answer);
                }
            }
            ScrubPlace::Index | ScrubPlace::File => {}
        }
        sweep.step
    }

    /// The feed shows the same events, so they change there as well.
    fn scrub_events(&mut self, sweep: &mut Sweep<'_>) {
        for (session, log) in &mut self.events {
            for kept in log {
                let mut event = Event::clone(kept);
                let id = format!("{session}#{}", event.seq);
                sweep.row(id, Some(session), event.ts, &mut event);
                if event != **kept {
                    let event = Arc::new(event);
                    self.happenings.replace_event(&event);
                    *kept = event;
                }
            }
        }
    }
}
