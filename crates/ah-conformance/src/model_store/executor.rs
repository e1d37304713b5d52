//! Executors in the oracle.

use ah_model::{
    ChangeRefused, Cursor, Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorFilter,
    ExecutorId, NewExecutor, Page, PageRequest, RawJson, Run, Timestamp, limits,
};
use ah_store::{Executors, Kind, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, after_text, newest_page, overfull};

#[async_trait]
impl Executors for ModelStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        executor.check()?;
        self.write_once(|rows, door| rows.register_executor(executor, door.now()))
    }

    async fn enrol_executor(&self, enrolment: Enrolment) -> Result<Executor, StoreError> {
        enrolment.check()?;
        self.write_once(|rows, door| rows.enrol_executor(enrolment, door.now()))
    }

    async fn change_executor(
        &self,
        id: ExecutorId,
        change: ExecutorChange,
        by: Option<String>,
    ) -> Result<Executor, StoreError> {
        change.check(by.as_deref())?;
        self.write_once(|rows, door| rows.change_executor(&id, &change, by.as_deref(), door))
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        let found = self.read(|rows| rows.executors.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Executor, id))
    }

    async fn list_executors(
        &self,
        filter: ExecutorFilter,
        page: PageRequest,
    ) -> Result<Page<Executor>, StoreError> {
        let after = after_text(&page)?;
        self.read(|rows| {
            let passes = |row: &&Executor| {
                after.is_none_or(|after| row.id.as_str() > after) && filter.matches(row)
            };
            let items = overfull(rows.executors.values().filter(passes).cloned(), &page);
            let cursor = |executor: &Executor| Cursor::Text(executor.id.to_string());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.write(|rows, door| {
            let executor = rows.executor_mut(&id)?;
            if executor.seen_at.plus_ms(limits::SEEN_EVERY_MS) <= door.now() {
                executor.seen_at = door.now();
            }
            Ok(executor.clone())
        })
    }

    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.write(|rows, door| {
            let executor = rows.executor_mut(&id)?;
            executor.removal_requested_at.get_or_insert(door.now());
            Ok(executor.clone())
        })
    }

    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.write(|rows, door| rows.remove_executor(&id, door))
    }

    async fn executor_history(
        &self,
        id: Option<ExecutorId>,
        page: PageRequest,
    ) -> Result<Page<ExecutorEvent>, StoreError> {
        let passes = |event: &ExecutorEvent| id.as_ref().is_none_or(|id| event.executor_id == *id);
        self.read(|rows| newest_page(&rows.executor_events, &page, passes))
    }

    async fn note_executor(
        &self,
        id: ExecutorId,
        kind: String,
        data: RawJson,
    ) -> Result<ExecutorEvent, StoreError> {
        ExecutorEvent::check(&kind, &data)?;
        self.write_once(|rows, door| Ok(rows.note_executor(&id, &kind, data, door.now())))
    }
}

impl Rows {
    fn register_executor(
        &mut self,
        new: NewExecutor,
        now: Timestamp,
    ) -> Result<Executor, StoreError> {
        let id = new.id.clone();
        let executor = match self.executors.get(&id) {
            None => new.register(now),
            Some(known) => new.register_again(known, now).map_err(|why| kept_out(&id, why))?,
        };
        self.executors.insert(id, executor.clone());
        Ok(executor)
    }

    fn enrol_executor(
        &mut self,
        enrolment: Enrolment,
        now: Timestamp,
    ) -> Result<Executor, StoreError> {
        let id = enrolment.id.clone();
        let (executor, record) =
            enrolment.enrol(self.executors.get(&id), now).map_err(|why| kept_out(&id, why))?;
        self.executors.insert(id.clone(), executor.clone());
        if let Some((kind, data)) = record {
            self.note_executor(&id, kind, data, now);
        }
        Ok(executor)
    }

    fn change_executor(
        &mut self,
        id: &ExecutorId,
        change: &ExecutorChange,
        by: Option<&str>,
        door: &Door,
    ) -> Result<Executor, StoreError> {
        let executor = self.executor_mut(id)?;
        let records = executor.change(change, by).map_err(|why| match why {
            ChangeRefused::Invalid(invalid) => invalid.into(),
            ChangeRefused::Status(reason) => kept_out(id, reason),
        })?;
        let executor = executor.clone();
        if !executor.status.may_connect() {
            self.lose_held(id, door)?;
        }
        for (kind, data) in records {
            self.note_executor(id, kind, data, door.now());
        }
        Ok(executor)
    }

    fn remove_executor(&mut self, id: &ExecutorId, door: &Door) -> Result<Vec<Run>, StoreError> {
        let executor = self.executor_mut(id)?;
        executor.check_remove().map_err(|why| kept_out(id, why))?;
        self.executors.remove(id);
        let lost = self.lose_held(id, door)?;
        self.note_executor(id, ExecutorEvent::REMOVED, RawJson::empty_object(), door.now());
        Ok(lost)
    }

    fn lose_held(&mut self, id: &ExecutorId, door: &Door) -> Result<Vec<Run>, StoreError> {
        let held = |run: &Run| run.status.is_live() && run.executor_id.as_ref() == Some(id);
        let places = self.places(held);
        for place in &places {
            let due = self.runs[place].run.lost();
            self.apply_due(*place, due, door)?;
        }
        Ok(places.iter().map(|place| self.runs[place].run.clone()).collect())
    }

    pub(super) fn note_executor(
        &mut self,
        id: &ExecutorId,
        kind: &str,
        data: RawJson,
        at: Timestamp,
    ) -> ExecutorEvent {
        let number = self.next_number();
        let event = ExecutorEvent {
            number: u64::try_from(number).unwrap(),
            executor_id: id.clone(),
            kind: kind.to_owned(),
            data,
            at,
        };
        self.executor_events.insert(number, event.clone());
        event
    }

    fn executor_mut(&mut self, id: &ExecutorId) -> Result<&mut Executor, StoreError> {
        self.executors.get_mut(id).ok_or_else(|| StoreError::not_found(Kind::Executor, id))
    }
}

fn kept_out(id: &ExecutorId, reason: String) -> StoreError {
    StoreError::conflict(Kind::Executor, id, reason)
}
