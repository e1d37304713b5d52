//! Tasks in SQL.

use ah_model::{
    AgentKindRef, Cursor, NewTask, Page, PageRequest, RawJson, SessionStatus, Task, TaskBatch,
    TaskFilter,
};
use ah_store::{Kind, StoreError, Tasks};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::{number_cursor, sized_page};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::run;
use crate::session::{self, Place};
use crate::statement::Statement;
use crate::tx::{Row, Tx, query_all, query_first};

/// Records a request: per session a task, a `created` session and a pending start run.
pub(crate) fn create(
    tx: &mut dyn Tx,
    ctx: &Resources,
    new: &NewTask,
) -> Result<TaskBatch, StoreError> {
    let now = ctx.now();
    let id = ctx.ids.batch(now)?;
    let mut batch =
        TaskBatch { id: id.clone(), tasks: vec![], session_ids: vec![], run_ids: vec![] };
    for wanted in new.sessions() {
        let session = session::create(tx, ctx, wanted, Place::default())?;
        let mut task = Task {
            id: None,
            session_id: session.id.clone(),
            batch_id: id.clone(),
            prompt: new.prompt.clone(),
            branch: new.branch.clone(),
            delivery: new.delivery,
            instances: new.instances,
            labels: new.labels.clone(),
            created_at: now,
            agent: session.agent,
            status: session.status,
        };
        task.id = Some(insert(tx, &task)?);
        let run = new.start(session.id.clone(), &task.agent)?;
        batch.run_ids.push(run::create(tx, ctx, &run)?.id);
        batch.session_ids.push(session.id);
        batch.tasks.push(task);
    }
    Ok(batch)
}

const INSERT: &str = "INSERT INTO tasks \
    (session_id, batch_id, prompt, branch, delivery, instances, labels, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id";

/// Writes the row of a task and returns its number.
pub(crate) fn insert(tx: &mut dyn Tx, task: &Task) -> Result<i64, StoreError> {
    let labels = RawJson::of(&task.labels)?;
    let params = [
        task.session_id.as_str().into(),
        task.batch_id.as_str().into(),
        (&task.prompt).into(),
        task.branch.as_ref().into(),
        task.delivery.map(|delivery| delivery.as_str()).into(),
        i64::from(task.instances).into(),
        labels.as_str().into(),
        task.created_at.into(),
    ];
    query_first(tx, INSERT, &params, |row| row.int(0))?
        .ok_or_else(|| StoreError::backend("record a task", "no row came back"))
}

const SELECT: &str = "SELECT t.id, t.session_id, t.batch_id, t.prompt, t.branch, t.delivery, \
    t.instances, t.labels, t.created_at, a.name, a.version, s.status \
    FROM tasks t JOIN sessions s ON s.id = t.session_id JOIN agents a ON a.id = s.agent_id";

fn get(tx: &mut dyn Tx, id: i64) -> Result<Task, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE t.id = $1"), &[id.into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Task, id))
}

fn list(
    tx: &mut dyn Tx,
    filter: &TaskFilter,
    page: &PageRequest,
) -> Result<Page<Task>, StoreError> {
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let some = |last: Option<&Task>, rows: usize| {
        let before = last.and_then(|task| task.id).unwrap_or(first);
        let mut query = Statement::new(SELECT, tx.dialect());
        query.push(" WHERE t.id < ").param(before);
        if let Some(batch) = &filter.batch_id {
            query.condition("t.batch_id = ", batch.as_str());
        }
        if let Some(session) = &filter.session_id {
            query.condition("t.session_id = ", session.as_str());
        }
        query.push(" ORDER BY t.id DESC LIMIT ").param(rows as u64);
        query_all(tx, &query.sql, &query.params, read)
    };
    let size = |task: &Task| task.prompt.len();
    sized_page(page.limit, some, size, |task| Cursor::Number(task.id.unwrap_or(0)))
}

/// Reads leniently what older programs may have left: unknown deliveries and odd labels are absent
/// rather than the end of a list.
fn read(row: &dyn Row) -> Result<Task, StoreError> {
    let row = Reader::new(row);
    Ok(Task {
        id: row.opt_int()?,
        session_id: row.parse()?,
        batch_id: row.parse()?,
        prompt: row.text()?,
        branch: row.opt_text()?,
        delivery: row.opt_text()?.and_then(|text| text.parse().ok()),
        instances: row.opt_int()?.and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
        labels: row.opt_text()?.and_then(|text| text.parse().ok()).unwrap_or_default(),
        created_at: row.time()?,
        agent: AgentKindRef { name: row.text()?, version: row.text()? },
        status: row.text()?.parse().unwrap_or(SessionStatus::Failed),
    })
}

#[async_trait]
impl Tasks for SqlStore {
    async fn create_task(&self, task: NewTask) -> Result<TaskBatch, StoreError> {
        task.check()?;
        let task = self.clean(task);
        self.once(move |tx, ctx| create(tx, ctx, &task)).await
    }

    async fn task(&self, id: i64) -> Result<Task, StoreError> {
        self.read(move |tx, _| get(tx, id)).await
    }

    async fn list_tasks(
        &self,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Page<Task>, StoreError> {
        self.read(move |tx, _| list(tx, &filter, &page)).await
    }
}
