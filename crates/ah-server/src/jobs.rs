//! What a server does by itself, beside sweeping: what approvals allow is carried out, and what is too
//! old is removed. Several servers of one store may do so at once: each step is decided in the store.

use std::time::Duration;

use ah_hive::HostRetained;
use ah_model::{Approval, IndexPace, IndexState, PageLimit, Receipt};
use tokio::time::{Instant, sleep};

use crate::limits::{CARRY_OUT_EVERY, INDEX_EVENTS, INDEX_EVERY, RETENTION_EVERY};
use crate::log::JobLine;
use crate::problem::Failure;
use crate::state::ServerState;

/// The names of the jobs, in metrics and in the log.
const CARRY_OUT: &str = "carry-out";
const RETENTION: &str = "retention";
const INDEX: &str = "search-index";

/// Carries out what was approved until the server stops: at once, what a server that went down left
/// undone, then what could not be done before. Only where the homes are.
pub(crate) async fn carry_out(state: ServerState) {
    if state.options.homes.is_none() {
        return;
    }
    let work = async {
        loop {
            let done = state.host_call(|host| host.carry_out_due()).await;
            carried_out(&state, done);
            sleep(CARRY_OUT_EVERY).await;
        }
    };
    state.until_closing(work).await;
}

fn carried_out(state: &ServerState, done: Result<Vec<Approval>, Failure>) {
    match done {
        Ok(approvals) => {
            approvals.iter().for_each(|approval| state.tell(&JobLine::CarriedOut(approval)));
            state.metrics.jobs.carried_out(approvals.len());
        }
        Err(failure) => failed(state, CARRY_OUT, &failure),
    }
}

/// Removes what is too old until the server stops, for the first time after `grace`.
pub(crate) async fn retain(state: ServerState, grace: Duration) {
    let work = async {
        sleep(grace).await;
        loop {
            match remove(&state).await {
                Ok(retained) => retained_now(&state, &retained),
                Err(failure) => failed(&state, RETENTION, &failure),
            }
            sleep(RETENTION_EVERY).await;
        }
    };
    state.until_closing(work).await;
}

/// Keeps the index of search up to date until the server stops: in small steps that make way for
/// those who write.
pub(crate) async fn index(state: ServerState) {
    let mut pace = IndexPace::default();
    let work = async {
        loop {
            let began = Instant::now();
            let limit = PageLimit::at_most(INDEX_EVENTS);
            let step =
                state.call(move |store| async move { store.update_search_index(limit).await });
            match step.await {
                Ok(step) if step.state == IndexState::More => {
                    sleep(pace.rest(&step, began.elapsed())).await;
                }
                Ok(_) => sleep(INDEX_EVERY).await,
                Err(failure) => {
                    failed(&state, INDEX, &failure);
                    sleep(CARRY_OUT_EVERY).await;
                }
            }
        }
    };
    state.until_closing(work).await;
}

/// Removes everything that is too old now, counting after every step what it removed; less when the
/// server stops meanwhile.
async fn remove(state: &ServerState) -> Result<HostRetained, Failure> {
    let counting = state.clone();
    let work = move |host: &ah_hive::Host| {
        let mut goes_on = |receipt: &Receipt| {
            counting.metrics.jobs.removed(receipt);
            !counting.is_closing()
        };
        host.run_retention_while(&counting.options.retention, &mut goes_on)
    };
    state.host_call(work).await
}

fn retained_now(state: &ServerState, retained: &HostRetained) {
    state.metrics.jobs.retained(retained.bytes_reclaimed);
    for warning in &retained.warnings {
        state.tell(&JobLine::Skipped { job: RETENTION, reason: warning });
    }
    state.tell(&JobLine::Removed { receipt: &retained.receipt, bytes: retained.bytes_reclaimed });
}

fn failed(state: &ServerState, job: &'static str, failure: &Failure) {
    state.metrics.jobs.failed(job);
    state.tell(&JobLine::Failed { job, reason: &failure.problem().detail });
}

impl ServerState {
    /// Does `work` until it ends or the server stops.
    pub(crate) async fn until_closing(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = self.closing() => {}
            () = work => {}
        }
    }

    /// Tells whoever runs the server what it did by itself.
    pub(crate) fn tell(&self, line: &JobLine<'_>) {
        if let Some(jobs) = &self.options.jobs {
            jobs(line);
        }
    }
}
