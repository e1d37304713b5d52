//! Executors in the oracle.

use ah_model::{
    Cursor, Executor, ExecutorId, NewExecutor, Page, PageRequest, Run, Timestamp, limits,
};
use ah_store::{Executors, Kind, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, after_text, overfull};

#[async_trait]
impl Executors for ModelStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        executor.check()?;
        self.write_once(|rows, door| Ok(rows.register_executor(executor, door.now())))
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        let found = self.read(|rows| rows.executors.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Executor, id))
    }

    async fn list_executors(&self, page: PageRequest) -> Result<Page<Executor>, StoreError> {
        let after = after_text(&page)?;
        self.read(|rows| {
            let behind = |row: &&Executor| after.is_none_or(|after| row.id.as_str() > after);
            let items = overfull(rows.executors.values().filter(behind).cloned(), &page);
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
}

impl Rows {
    fn register_executor(&mut self, new: NewExecutor, now: Timestamp) -> Executor {
        let known = self.executors.get(&new.id);
        let executor = Executor {
            id: new.id.clone(),
            offer: new.offer,
            details: new.details,
            generation: known.map_or(0, |known| known.generation) + 1,
            created_at: known.map_or(now, |known| known.created_at),
            registered_at: now,
            seen_at: now,
            removal_requested_at: None,
        };
        self.executors.insert(new.id, executor.clone());
        executor
    }

    fn remove_executor(&mut self, id: &ExecutorId, door: &Door) -> Result<Vec<Run>, StoreError> {
        self.executor_mut(id)?;
        self.executors.remove(id);
        let held = |run: &Run| run.status.is_live() && run.executor_id.as_ref() == Some(id);
        let places = self.places(held);
        for place in &places {
            let due = self.runs[place].run.lost();
            self.apply_due(*place, due, door)?;
        }
        Ok(places.iter().map(|place| self.runs[place].run.clone()).collect())
    }

    fn executor_mut(&mut self, id: &ExecutorId) -> Result<&mut Executor, StoreError> {
        self.executors.get_mut(id).ok_or_else(|| StoreError::not_found(Kind::Executor, id))
    }
}
