//! Runs.

use std::time::Duration;

use ah_model::{
    Appended, Callback, ExecutorId, Lease, NewEvent, NewRun, OutboxId, Page, PageRequest, Renewed,
    Reports, ReportsTaken, Run, RunClaim, RunEnd, RunFilter, RunId, Session, SessionId,
    SessionUpdate, Swept,
};
use ah_store::{Runs, StoreError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::executor::executor_target;
use crate::session::session_target;

#[derive(Deserialize)]
struct Claimed {
    // Without this an absent key would be taken for none.
    #[serde(deserialize_with = "Option::deserialize")]
    run: Option<Run>,
}

#[derive(Deserialize)]
struct Restored {
    restored: bool,
}

#[derive(Deserialize)]
struct Reported {
    through: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    leases: Vec<Lease>,
    lease_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Renewal {
    epoch: u64,
    lease_ms: u64,
}

#[derive(Serialize)]
struct Started {
    epoch: u64,
}

#[derive(Serialize)]
struct Bound {
    epoch: u64,
    session: SessionUpdate,
}

#[derive(Serialize)]
struct Append {
    epoch: u64,
    events: Vec<NewEvent>,
}

#[derive(Serialize)]
struct Finished {
    epoch: u64,
    end: RunEnd,
}

fn run_of(id: &RunId) -> Target {
    Target::new(["runs", id.as_str()])
}

pub(crate) fn run_target(id: &RunId, part: &str) -> Target {
    Target::new(["runs", id.as_str(), part])
}

fn claims() -> Target {
    Target::new(["runs", "claim"])
}

impl RestStore {
    /// As [`Runs::claim_run`], but the server waits so long for a run that may be claimed, in whole
    /// seconds, at most thirty.
    pub fn claim_run_within(
        &self,
        claim: &RunClaim,
        wait: Duration,
    ) -> Result<Option<Run>, StoreError> {
        let target = claims().pair("wait", wait.as_secs().to_string());
        self.http.send_within(&target, claim, wait).map(|Claimed { run }| run)
    }
}

#[async_trait]
impl Runs for RestStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        self.create(Method::POST, &Target::new(["runs"]), &run)
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        self.http.get(&run_of(&id))
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        page: PageRequest,
    ) -> Result<Page<Run>, StoreError> {
        self.http.list(Target::new(["runs"]).query(&filter).query(&page))
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.http.items(session_target(&session, "runs"))
    }

    async fn claim_run(&self, claim: RunClaim) -> Result<Option<Run>, StoreError> {
        self.create(Method::POST, &claims(), &claim).map(|Claimed { run }| run)
    }

    async fn renew_run(&self, lease: Lease, lease_ms: u64) -> Result<Run, StoreError> {
        let renewed = Renewal { epoch: lease.epoch, lease_ms };
        self.create(Method::POST, &run_target(&lease.run_id, "renew"), &renewed)
    }

    async fn renew_runs(
        &self,
        executor: ExecutorId,
        leases: Vec<Lease>,
        lease_ms: u64,
    ) -> Result<Renewed, StoreError> {
        let kept = Kept { leases, lease_ms };
        self.http.send(Method::POST, &executor_target(&executor, "renewals"), &kept)
    }

    async fn take_reports(&self, reports: Reports) -> Result<ReportsTaken, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        reports.check()?;
        self.create(Method::POST, &executor_target(&reports.executor_id, "reports"), &reports)
    }

    async fn reported_through(
        &self,
        executor: ExecutorId,
        outbox: OutboxId,
    ) -> Result<u64, StoreError> {
        let target = executor_target(&executor, "reports").pair("outboxId", outbox.to_string());
        self.http.get(&target).map(|Reported { through }| through)
    }

    async fn lose_run(&self, lease: Lease) -> Result<Run, StoreError> {
        let lost = Started { epoch: lease.epoch };
        self.create(Method::POST, &run_target(&lease.run_id, "lose"), &lost)
    }

    async fn start_run(&self, lease: Lease) -> Result<Run, StoreError> {
        let started = Started { epoch: lease.epoch };
        self.create(Method::POST, &run_target(&lease.run_id, "start"), &started)
    }

    async fn bind_run(&self, lease: Lease, update: SessionUpdate) -> Result<Session, StoreError> {
        let bound = Bound { epoch: lease.epoch, session: update };
        self.create(Method::POST, &run_target(&lease.run_id, "bind"), &bound)
    }

    async fn append_to_run(
        &self,
        lease: Lease,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        NewEvent::check_batch(&events)?;
        let append = Append { epoch: lease.epoch, events };
        self.create(Method::POST, &run_target(&lease.run_id, "events"), &append)
    }

    async fn finish_run(&self, lease: Lease, end: RunEnd) -> Result<Run, StoreError> {
        end.check()?;
        let finished = Finished { epoch: lease.epoch, end };
        self.create(Method::POST, &run_target(&lease.run_id, "finish"), &finished)
    }

    async fn stop_session(&self, id: SessionId) -> Result<Session, StoreError> {
        // Without the pair the server answers in the words of the first API, without the session.
        self.order_once(Method::POST, &session_target(&id, "stop").pair("return", "session"))
    }

    async fn stop_run(&self, id: RunId) -> Result<Run, StoreError> {
        self.order_once(Method::POST, &run_target(&id, "stop"))
    }

    async fn stop_orders(&self, executor: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.http.order_items(Method::POST, executor_target(&executor, "stop-orders"))
    }

    async fn sweep_runs(&self) -> Result<Swept, StoreError> {
        self.http.order(Method::POST, &Target::new(["runs", "sweep"]))
    }

    async fn callbacks(&self, parent: SessionId) -> Result<Vec<Callback>, StoreError> {
        self.http.items(session_target(&parent, "callbacks"))
    }

    async fn restore_run(&self, run: Run) -> Result<bool, StoreError> {
        let target = Target::new(["run-imports", run.id.as_str()]);
        self.http.send(Method::PUT, &target, &run).map(|Restored { restored }| restored)
    }
}
