//! Spendings in the oracle.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ah_model::limits::SPENDING_SUMS_MAX;
use ah_model::{
    DaySpending, MODEL_LABEL, Page, PageRequest, Session, SessionId, Spending, SpendingFilter,
    SpendingKey, SpendingSum, SpendingSums, Timestamp, Usage,
};
use ah_store::{Spendings, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows, overfull};

#[async_trait]
impl Spendings for ModelStore {
    async fn list_spendings(
        &self,
        filter: SpendingFilter,
        page: PageRequest,
    ) -> Result<Page<Spending>, StoreError> {
        let after = page.cursor.as_ref().map(Spending::after).transpose()?;
        self.read(|rows| {
            let all = rows.spendings.iter().flat_map(|(session, sums)| {
                sums.0.iter().map(move |(key, sum)| ((session, key), *sum))
            });
            let behind = all.filter(|(place, _)| {
                after.as_ref().is_none_or(|(session, key)| *place > (session, key))
            });
            let shown = behind.map(|((session, key), sum)| rows.spending(session, key, sum));
            let items = overfull(shown.filter(|spending| filter.matches(spending)), &page);
            Ok(Page::from_overfull(items, page.limit, Spending::cursor))
        })
    }

    async fn spending_sums(&self, filter: SpendingFilter) -> Result<Vec<DaySpending>, StoreError> {
        let mut sums = BTreeMap::<_, DaySpending>::new();
        let rows = self.read(|rows| {
            let all = rows.spendings.iter().flat_map(|(session, sums)| {
                sums.0.iter().map(|(key, sum)| rows.spending(session, key, *sum))
            });
            Ok::<_, StoreError>(all.filter(|one| filter.matches(one)).collect::<Vec<_>>())
        })?;
        for Spending { day, model, usage, told, .. } in rows {
            let key = (Reverse(day.clone()), told.is_some(), model.clone());
            let none = DaySpending { day, model, sessions: 0, usage: Usage::default(), told: None };
            let sum = sums.entry(key).or_insert(none);
            sum.sessions += 1;
            sum.usage = sum.usage.plus(usage);
            sum.told = told.map(|cost| cost.plus(sum.told.unwrap_or_default()));
        }
        Ok(sums.into_values().take(SPENDING_SUMS_MAX).collect())
    }
}

impl Rows {
    fn spending(&self, session: &SessionId, key: &SpendingKey, sum: SpendingSum) -> Spending {
        let row = &self.sessions[session];
        let (usage, cost) = sum;
        Spending {
            session_id: session.clone(),
            repo_id: row.repo_id.unwrap(),
            agent: row.agent.name.clone(),
            day: key.day.clone(),
            model: key.model.clone(),
            usage,
            told: key.told.then_some(cost),
        }
    }

    /// Counts what one event spent.
    pub(super) fn spend(&mut self, id: &SessionId, new: &ah_model::NewEvent, at: Timestamp) {
        let usage = Usage::of_event(&new.data);
        if usage == Usage::default() {
            return;
        }
        let mut spent = SpendingSums::default();
        spent.add_event(&new.data, usage, at);
        let model = model(&self.sessions[id]);
        let sums = self.spendings.entry(id.clone()).or_default();
        for (key, sum) in spent.with_model(&model).0 {
            sums.add(key, sum);
        }
    }

    /// Makes the spendings of a session add up to its totals, which an import may have set.
    pub(super) fn settle(&mut self, id: &SessionId) {
        let session = &self.sessions[id];
        let held = self.spendings.entry(id.clone()).or_default();
        if held.usage() != session.usage {
            *held = SpendingSums::of_total(session.usage, session.last_activity_at, model(session));
        }
    }
}

/// The model that a session names.
fn model(session: &Session) -> String {
    session.labels.0.get(MODEL_LABEL).cloned().unwrap_or_default()
}
