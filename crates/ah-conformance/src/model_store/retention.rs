//! Removal in the oracle: what the rules say, and what belonged to purged agents.

use std::collections::BTreeSet;

use ah_model::{
    Agent, AgentId, Amount, MessageStatus, Page, PageRequest, Party, Receipt, ReceiptId,
    ReceiptKind, Reclaimed, RemovalStep, RetentionRules, Session, SessionId, Tally, Timestamp,
    limits,
};
use ah_store::{Kind, Retention, StoreError};
use async_trait::async_trait;

use super::agent::{is_of, refused};
use super::{Door, ModelStore, Rows, newest_page};

#[async_trait]
impl Retention for ModelStore {
    /// What removing it all would remove.
    async fn plan_retention(&self, rules: RetentionRules) -> Result<Tally, StoreError> {
        let mut rows = self.read(Rows::clone);
        Ok(rows.remove_old(&rules, self.door.now(), Budget::unbounded()).0)
    }

    async fn retention_step(&self, rules: RetentionRules) -> Result<RemovalStep, StoreError> {
        self.write(|rows, door| {
            let receipt = rows.open_receipt(ReceiptKind::Retention, None, door)?;
            let (removed, more) = rows.remove_old(&rules, door.now(), Budget::of_a_step());
            Ok(rows.add_step(receipt, &removed, more, door.now()))
        })
    }

    async fn purge_step(&self, id: AgentId) -> Result<RemovalStep, StoreError> {
        self.write(|rows, door| {
            let agent = rows.agent(&id)?.clone();
            agent.refuse_alive().map_err(|reason| refused(&agent, reason))?;
            let name = Some(agent.name.clone());
            let receipt = rows.open_receipt(ReceiptKind::Purge, name, door)?;
            let (removed, more) = rows.remove_agent(&agent, Budget::of_a_step());
            Ok(rows.add_step(receipt, &removed, more, door.now()))
        })
    }

    async fn add_to_receipt(&self, id: ReceiptId, removed: Tally) -> Result<Receipt, StoreError> {
        self.write(|rows, _| {
            let receipt = rows.receipts.values_mut().find(|receipt| receipt.id == id);
            let receipt = receipt.ok_or_else(|| StoreError::not_found(Kind::Receipt, id))?;
            receipt.removed.add_all(&removed);
            Ok(receipt.clone())
        })
    }

    async fn list_receipts(&self, page: PageRequest) -> Result<Page<Receipt>, StoreError> {
        self.read(|rows| newest_page(&rows.receipts, &page, |_| true))
    }

    /// Memory has no file to make smaller.
    async fn reclaim_space(&self) -> Result<Reclaimed, StoreError> {
        Ok(Reclaimed::default())
    }
}

/// How many rows may still go, and what went.
struct Budget {
    left: usize,
    removed: Tally,
    /// Something had to stay because no rows were left to spend.
    short: bool,
}

impl Budget {
    fn of_a_step() -> Self {
        Self { left: limits::REMOVAL_ROWS_MAX, removed: Tally::default(), short: false }
    }

    fn unbounded() -> Self {
        Self { left: usize::MAX, ..Self::of_a_step() }
    }

    /// Whether one more of `class` may go; then it is counted.
    fn take(&mut self, class: &str, bytes: usize) -> bool {
        if self.left == 0 {
            self.short = true;
            return false;
        }
        self.left -= 1;
        self.removed.add(class, Amount { rows: 1, bytes: bytes as u64 });
        true
    }

    /// What went, and whether there is more.
    fn spent(self) -> (Tally, bool) {
        (self.removed, self.short)
    }
}

impl Rows {
    /// Messages, then sessions, then changes; the oldest first.
    fn remove_old(
        &mut self,
        rules: &RetentionRules,
        now: Timestamp,
        mut budget: Budget,
    ) -> (Tally, bool) {
        if let Some(before) = RetentionRules::before(rules.messages_ms, now) {
            self.messages.retain(|_, message| {
                let old = message.status == MessageStatus::Acked
                    && message.acked_at.is_some_and(|at| at < before);
                !(old && budget.take("messages", message.body.len()))
            });
        }
        if let Some(before) = RetentionRules::before(rules.sessions_ms, now) {
            // A session that another was forked from may go once that one has gone.
            while let Some(id) = self.oldest_session_before(before) {
                if !self.remove_session(&id, &mut budget) {
                    break;
                }
            }
        }
        if let Some(before) = RetentionRules::before(rules.changes_ms, now) {
            self.happenings.forget_changes(before, || budget.take("changes", 0));
        }
        budget.spent()
    }

    fn oldest_session_before(&self, before: Timestamp) -> Option<SessionId> {
        let old = self.sessions.values().filter(|session| {
            session.last_activity_at < before && !session.pinned && !self.is_needed(session)
        });
        let oldest = old.min_by_key(|session| (session.last_activity_at, &session.id));
        oldest.map(|session| session.id.clone())
    }

    /// Whether something goes on in it, or stands on it.
    fn is_needed(&self, session: &Session) -> bool {
        let goes_on = |agent: &Agent| agent.active_session_id.as_ref() == Some(&session.id);
        !session.status.is_finished()
            || self.live_runs(&session.id).next().is_some()
            || self.agents.values().any(goes_on)
            || self.sessions.values().any(|other| stands_on(other, &session.id))
    }

    /// Its events, oldest first, then its runs, then the session itself, as far as the budget
    /// goes. Whether it is gone.
    fn remove_session(&mut self, id: &SessionId, budget: &mut Budget) -> bool {
        let log = self.events.remove(id).unwrap_or_default();
        let gone = log.iter().take_while(|event| budget.take("events", event.data.as_str().len()));
        let gone = gone.count();
        if gone < log.len() {
            self.happenings.forget_events_up_to(id, log[gone].seq - 1);
            self.events.insert(id.clone(), log[gone..].to_vec());
            return false;
        }
        self.runs.retain(|_, row| row.run.session_id != *id || !budget.take("runs", 0));
        let left = self.runs.values().any(|row| row.run.session_id == *id);
        if left || !budget.take("sessions", 0) {
            return false;
        }
        self.forget_session(id);
        true
    }

    /// In the last step the agent itself.
    fn remove_agent(&mut self, agent: &Agent, mut budget: Budget) -> (Tally, bool) {
        let party = Party::Agent(agent.name.clone());
        let is = |name: &str| party.is(name);
        self.messages.retain(|_, message| {
            !(message.to == party && budget.take("messages", message.body.len()))
        });
        self.approvals.retain(|_, approval| !(is(&approval.agent) && budget.take("approvals", 0)));
        self.questions.retain(|_, question| {
            let concerned = question.from == party || question.to == party;
            !(concerned && budget.take("questions", 0))
        });
        self.tokens.retain(|_, kept| {
            !(kept.token.agent.as_deref().is_some_and(is) && budget.take("tokens", 0))
        });
        let stems = self.stems_of_others(&agent.id);
        let own = self.sessions.values().filter(|session| is_of(session, &agent.id));
        let (stay, go): (Vec<_>, Vec<_>) =
            own.map(|session| session.id.clone()).partition(|id| stems.contains(id));
        let all_gone = go.iter().all(|id| self.remove_session(id, &mut budget));
        if all_gone && !budget.short && budget.take("agents", 0) {
            for id in stay {
                self.sessions.get_mut(&id).unwrap().of_agent = None;
            }
            self.agents.remove(&agent.id);
        }
        budget.spent()
    }

    /// The sessions of an agent that sessions of others stand on, also through its own.
    fn stems_of_others(&self, agent: &AgentId) -> BTreeSet<SessionId> {
        let others = self.sessions.values().filter(|session| !is_of(session, agent));
        let mut standing: Vec<_> = others.collect();
        let mut stems = BTreeSet::new();
        while let Some(session) = standing.pop() {
            let stem = session.forked_from.as_ref().map(|fork| &fork.session_id);
            let Some(stem) = stem.and_then(|id| self.sessions.get(id)) else { continue };
            if is_of(stem, agent) && stems.insert(stem.id.clone()) {
                standing.push(stem);
            }
        }
        stems
    }

    /// The receipt that is under way, or a new one, by its number.
    pub(super) fn open_receipt(
        &mut self,
        kind: ReceiptKind,
        subject: Option<String>,
        door: &Door,
    ) -> Result<i64, StoreError> {
        let open = |receipt: &Receipt| {
            receipt.kind == kind && receipt.subject == subject && receipt.finished_at.is_none()
        };
        if let Some((number, _)) = self.receipts.iter().find(|(_, receipt)| open(receipt)) {
            return Ok(*number);
        }
        let now = door.now();
        let id = door.ids.receipt(now)?;
        let removed = Tally::default();
        let receipt = Receipt { id, kind, subject, started_at: now, finished_at: None, removed };
        let number = self.next_number();
        self.receipts.insert(number, receipt);
        Ok(number)
    }

    pub(super) fn add_step(
        &mut self,
        receipt: i64,
        removed: &Tally,
        more: bool,
        now: Timestamp,
    ) -> RemovalStep {
        let receipt = self.receipts.get_mut(&receipt).unwrap();
        receipt.removed.add_all(removed);
        receipt.finished_at = (!more).then_some(now);
        RemovalStep { receipt: receipt.clone(), more }
    }
}

fn stands_on(session: &Session, stem: &SessionId) -> bool {
    session.forked_from.as_ref().is_some_and(|fork| fork.session_id == *stem)
}
