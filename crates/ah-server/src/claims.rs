//! Executors that wait for a run, and how they learn of one.
//!
//! A run that is queued wakes one waiter that may take it: the one that waits longest.
//! Who is woken tries to claim; who gets another run, leaves or fails hands the chance on. So a run
//! is tried for at once, and a thousand waiters do not all ask the store for it.
//!
//! A client that has gone claims nothing: its request ends when the connection does, and before
//! every claim the server looks at its connections once more. One that goes at that very moment may
//! have been given a run whose answer reaches nobody; then the lease runs out and the run is queued
//! again, as when an executor dies just after its claim.

mod announce;
mod claim;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ah_model::{Demands, Executor, ExecutorId, Run, RunClaim, RunId, RunStatus};
use tokio::sync::Notify;

pub(crate) use announce::Announcer;
pub(crate) use claim::{Claimed, claim_within, enter};

/// Those who wait.
#[derive(Default)]
pub(crate) struct Claims {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// How many have come so far: the number of the next.
    arrived: u64,
    waiters: BTreeMap<u64, Waiter>,
}

struct Waiter {
    claim: RunClaim,
    /// What is kept of the executor. Who changes that ends the wait.
    executor: Option<Box<Executor>>,
    /// What it has to try next. One is enough: a try sees every run that was queued before it.
    due: Option<Due>,
    /// Whether something else waits for the executor.
    told: bool,
    wake: Arc<Notify>,
}

/// Why a waiter looks again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Due {
    /// This run is queued.
    Run(Box<Chance>),
    /// Some run may be.
    Any,
}

/// A run that waits for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chance {
    run: RunId,
    demands: Demands,
    requested_by: Option<String>,
}

impl Waiter {
    fn may_take(&self, chance: &Chance) -> bool {
        let taker = self.claim.taker(self.executor.as_deref());
        self.claim.run_id.as_ref().is_none_or(|run| *run == chance.run)
            && taker.may_take(&chance.demands, chance.requested_by.as_deref()).is_ok()
    }
}

impl Claims {
    /// Puts somebody behind those who wait already.
    pub(crate) fn enter(self: &Arc<Self>, claim: &RunClaim) -> Place {
        let wake = Arc::new(Notify::new());
        let mut waiting = self.lock();
        let number = waiting.arrived;
        waiting.arrived += 1;
        let waiter = Waiter {
            claim: claim.clone(),
            executor: None,
            due: None,
            told: false,
            wake: Arc::clone(&wake),
        };
        waiting.waiters.insert(number, waiter);
        drop(waiting);
        Place { claims: Arc::clone(self), number, wake }
    }

    /// Wakes one who may take `run`, if it is to be taken.
    pub(crate) fn queued(&self, run: &Run) {
        if run.status == RunStatus::Pending {
            self.offer(Chance {
                run: run.id.clone(),
                demands: run.demands.clone(),
                requested_by: run.requested_by.clone(),
            });
        }
    }

    /// Ends the wait of that executor: it is asked for something other than a run.
    pub(crate) fn tell(&self, executor: &ExecutorId) {
        let mut waiting = self.lock();
        for waiter in waiting.waiters.values_mut().filter(|w| w.claim.executor_id == *executor) {
            waiter.told = true;
            waiter.wake.notify_one();
        }
    }

    /// Has everybody look again.
    fn wake_all(&self) {
        for waiter in self.lock().waiters.values_mut() {
            waiter.due.get_or_insert(Due::Any);
            waiter.wake.notify_one();
        }
    }

    fn is_empty(&self) -> bool {
        self.lock().waiters.is_empty()
    }

    /// Gives a chance to the first who can use it and has none. If all of those have one, nothing is
    /// lost: each will see the run when it tries.
    fn offer(&self, chance: Chance) {
        let mut waiting = self.lock();
        let mut waiters = waiting.waiters.values_mut();
        let free = |w: &&mut Waiter| w.due.is_none() && w.may_take(&chance);
        if let Some(waiter) = waiters.find(free) {
            waiter.due = Some(Due::Run(Box::new(chance)));
            waiter.wake.notify_one();
        }
    }

    fn hand_on(&self, due: Due) {
        match due {
            Due::Run(chance) => self.offer(*chance),
            // Everybody has looked, or will.
            Due::Any => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiter's place in the queue, given up when dropped; its chance goes to another.
pub(crate) struct Place {
    claims: Arc<Claims>,
    number: u64,
    wake: Arc<Notify>,
}

impl Place {
    /// Says what is kept of the executor. Runs that were queued before are seen by the next try.
    pub(crate) fn know(&self, executor: Option<Executor>) {
        if let Some(waiter) = self.claims.lock().waiters.get_mut(&self.number) {
            waiter.executor = executor.map(Box::new);
        }
    }

    /// Waits until there is a reason to look again. `Err` if the executor is asked for something
    /// else.
    pub(crate) async fn woken(&self) -> Result<Try, Told> {
        loop {
            if let Some(waiter) = self.claims.lock().waiters.get_mut(&self.number) {
                if waiter.told {
                    return Err(Told);
                }
                if let Some(due) = waiter.due.take() {
                    return Ok(Try { claims: Arc::clone(&self.claims), due: Some(due) });
                }
            }
            self.wake.notified().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let waiter = self.claims.lock().waiters.remove(&self.number);
        if let Some(due) = waiter.and_then(|waiter| waiter.due) {
            self.claims.hand_on(due);
        }
    }
}

/// Something else than a run waits for the executor: a run to stop, or its own removal.
pub(crate) struct Told;

/// A claim that somebody was woken for. Dropped before it came to something, it is another's.
pub(crate) struct Try {
    claims: Arc<Claims>,
    due: Option<Due>,
}

impl Try {
    /// The store answered: with a run, or with none because the one it was about has gone.
    pub(crate) fn answered(mut self, claimed: Option<&Run>) {
        let due = self.due.take();
        let other = |due: &Due| match (due, claimed) {
            (Due::Run(chance), Some(run)) => chance.run != run.id,
            (Due::Run(_), None) | (Due::Any, _) => false,
        };
        if let Some(due) = due.filter(other) {
            self.claims.hand_on(due);
        }
    }
}

impl Drop for Try {
    fn drop(&mut self) {
        if let Some(due) = self.due.take() {
            self.claims.hand_on(due);
        }
    }
}

#[cfg(test)]
mod tests;
