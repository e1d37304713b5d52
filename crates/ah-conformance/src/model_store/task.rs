//! Tasks in the oracle.

use ah_model::{
    Cursor, NewSession, NewTask, Page, PageRequest, Session, Task, TaskBatch, TaskFilter,
};
use ah_store::{Kind, StoreError, Tasks};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, after_number, overfull};

#[async_trait]
impl Tasks for ModelStore {
    async fn create_task(&self, task: NewTask) -> Result<TaskBatch, StoreError> {
        task.check()?;
        let task = self.clean(task);
        self.write_once(|rows, door| rows.create_task(task, door))
    }

    async fn task(&self, id: i64) -> Result<Task, StoreError> {
        self.read(|rows| match rows.tasks.get(&id) {
            Some(task) => Ok(rows.shown_task(task)),
            None => Err(StoreError::not_found(Kind::Task, id)),
        })
    }

    async fn list_tasks(
        &self,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Page<Task>, StoreError> {
        let before = after_number(&page)?;
        self.read(|rows| {
            let tasks = rows.tasks.iter().rev().filter(|(id, task)| {
                before.is_none_or(|before| **id < before)
                    && filter.batch_id.as_ref().is_none_or(|b| task.batch_id == *b)
                    && filter.session_id.as_ref().is_none_or(|s| task.session_id == *s)
            });
            let items = overfull(tasks.map(|(_, task)| rows.shown_task(task)), &page);
            let cursor = |task: &Task| Cursor::Number(task.id.unwrap());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }
}

impl Rows {
    /// Mints the batch, then a session and a run for each task.
    pub(super) fn create_task(
        &mut self,
        new: NewTask,
        door: &Door,
    ) -> Result<TaskBatch, StoreError> {
        let mut batch = TaskBatch {
            id: door.ids.batch(door.now())?,
            tasks: Vec::new(),
            session_ids: Vec::new(),
            run_ids: Vec::new(),
        };
        for session in new.sessions() {
            self.create_instance(&new, session, &mut batch, door)?;
        }
        Ok(batch)
    }

    fn create_instance(
        &mut self,
        new: &NewTask,
        session: NewSession,
        batch: &mut TaskBatch,
        door: &Door,
    ) -> Result<(), StoreError> {
        let session = self.create_session(session, door)?;
        let run = self.create_run(new.start(session.id.clone(), &session.agent)?, door)?;
        let task = Task {
            id: None,
            session_id: session.id.clone(),
            batch_id: batch.id.clone(),
            prompt: new.prompt.clone(),
            branch: new.branch.clone(),
            delivery: new.delivery,
            instances: new.instances,
            labels: new.labels.clone(),
            created_at: door.now(),
            agent: session.agent,
            status: session.status,
        };
        batch.tasks.push(self.insert_task(task));
        batch.session_ids.push(session.id);
        batch.run_ids.push(run.id);
        Ok(())
    }

    pub(super) fn insert_task(&mut self, task: Task) -> Task {
        let id = self.next_number();
        let task = Task { id: Some(id), ..task };
        self.tasks.insert(id, task.clone());
        task
    }

    /// The task with the agent and status that its session has now.
    fn shown_task(&self, task: &Task) -> Task {
        let Session { agent, status, .. } = self.sessions[&task.session_id].clone();
        Task { agent, status, ..task.clone() }
    }
}
