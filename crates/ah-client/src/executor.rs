//! Executors. Their ids may hold any visible character, `/` too; in a path all but letters and
//! digits is percent-encoded.

use ah_model::{
    Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorFilter, ExecutorId,
    ExecutorPresence, NewExecutor, Page, PageRequest, RawJson, Run,
};
use ah_store::{Executors, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct Changed {
    change: ExecutorChange,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

#[derive(Serialize)]
struct Noted {
    kind: String,
    data: RawJson,
}

fn executor_of(id: &ExecutorId) -> Target {
    Target::new(["executors", id.as_str()])
}

/// A part of the executor.
pub(crate) fn executor_target(id: &ExecutorId, part: &str) -> Target {
    Target::new(["executors", id.as_str(), part])
}

impl RestStore {
    /// The executors that are connected to the server. No part of the contract: it is what one
    /// process sees, and no store keeps it.
    pub fn executors_present(&self) -> Result<Vec<ExecutorPresence>, StoreError> {
        self.http.items(Target::new(["executor-presence"]))
    }
}

#[async_trait]
impl Executors for RestStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        self.create(Method::PUT, &executor_of(&executor.id), &executor)
    }

    async fn enrol_executor(&self, enrolment: Enrolment) -> Result<Executor, StoreError> {
        self.create(Method::PUT, &executor_target(&enrolment.id, "enrolment"), &enrolment)
    }

    async fn change_executor(
        &self,
        id: ExecutorId,
        change: ExecutorChange,
        by: Option<String>,
    ) -> Result<Executor, StoreError> {
        self.create(Method::POST, &executor_target(&id, "changes"), &Changed { change, by })
    }

    async fn executor_history(
        &self,
        id: Option<ExecutorId>,
        page: PageRequest,
    ) -> Result<Page<ExecutorEvent>, StoreError> {
        let target = Target::new(["executor-events"]).query(&page);
        self.http.list(match id {
            Some(id) => target.pair("executorId", id.to_string()),
            None => target,
        })
    }

    async fn note_executor(
        &self,
        id: ExecutorId,
        kind: String,
        data: RawJson,
    ) -> Result<ExecutorEvent, StoreError> {
        self.create(Method::POST, &executor_target(&id, "events"), &Noted { kind, data })
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.get(&executor_of(&id))
    }

    async fn list_executors(
        &self,
        filter: ExecutorFilter,
        page: PageRequest,
    ) -> Result<Page<Executor>, StoreError> {
        self.http.list(Target::new(["executors"]).query(&filter).query(&page))
    }

    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.order(Method::POST, &executor_target(&id, "seen"))
    }

    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.order(Method::POST, &executor_target(&id, "removal"))
    }

    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.http.order_items(Method::DELETE, executor_of(&id))
    }
}
