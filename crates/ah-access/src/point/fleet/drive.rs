//! Carries out what the [`Fencer`] wants: asks executors, and reads and writes the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ah_model::Fence;
use ah_store::{Clock, Store, StoreError};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::{Deed, Fencer, Key};
use crate::moment::Moment;
use crate::point::input::{Answer, Asked};
use crate::point::serve::PointHandle;

/// How often the store is looked at: while a fence is open, and while there is none.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_IDLE: Duration = Duration::from_secs(5);
/// Most sweeps in a row.
const SWEEPS_MAX: usize = 16;

/// Something that was carried out.
enum Done {
    Answered(Key, Answer),
    Reported(Key, Box<Result<Fence, StoreError>>),
}

/// Brings fences to their end, and fleets to new leaders, until it is dropped. `stirs` says when the
/// store has something new.
pub(in crate::point) async fn drive(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    point: PointHandle,
    stirs: Arc<Notify>,
) {
    let mut driving = Driving {
        fencer: Fencer::default(),
        store,
        clock,
        point,
        began: Instant::now(),
        tasks: JoinSet::new(),
        asks: HashMap::new(),
    };
    loop {
        driving.look().await;
        let pause = if driving.fencer.is_at_work() { LOOK } else { LOOK_IDLE };
        let until = Instant::now() + pause;
        loop {
            tokio::select! {
                () = stirs.notified() => break,
                done = timeout_at(until, driving.next()) => match done {
                    Ok(done) => driving.take(done),
                    Err(_) => break,
                },
            }
        }
    }
}

struct Driving {
    fencer: Fencer,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    point: PointHandle,
    began: Instant,
    tasks: JoinSet<Done>,
    asks: HashMap<Key, AbortHandle>,
}

impl Driving {
    fn now(&self) -> Moment {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { ms, wall: self.clock.now() }
    }

    /// Applies what time has decided, and sees what is open. A store that fails is asked again.
    async fn look(&mut self) {
        for _ in 0..SWEEPS_MAX {
            match self.store.sweep_fleets().await {
                Ok(swept) if !swept.is_empty() => {}
                Ok(_) | Err(_) => break,
            }
        }
        if let Ok(open) = self.store.open_fences().await {
            let deeds = self.fencer.looked(self.now(), open);
            self.carry_out(deeds);
        }
    }

    /// The next that was carried out; waits while there is nothing to wait for.
    async fn next(&mut self) -> Done {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(done)) => return done,
                // One that was taken back.
                Some(Err(_)) => {}
                None => std::future::pending::<()>().await,
            }
        }
    }

    fn take(&mut self, done: Done) {
        let now = self.now();
        let deeds = match done {
            Done::Answered(key, answer) => {
                self.asks.remove(&key);
                self.fencer.answered(now, &key, answer)
            }
            Done::Reported(key, result) => self.fencer.reported(now, &key, *result),
        };
        self.carry_out(deeds);
    }

    fn carry_out(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            match deed {
                Deed::Ask { key, actor, deadline_ms, what } => {
                    let (point, run, named) = (self.point.clone(), key.1.clone(), key.clone());
                    let deadline = Duration::from_millis(deadline_ms);
                    let asking = self.tasks.spawn(async move {
                        let mut answers = point.ask(run, actor, deadline, Asked::Fence(what)).await;
                        let answer = loop {
                            match answers.recv().await {
                                Some(Answer::Progress(_)) => {}
                                Some(answer) => break answer,
                                None => break Answer::Gone,
                            }
                        };
                        Done::Answered(named, answer)
                    });
                    self.asks.insert(key, asking);
                }
                // With the task goes whoever waits for the answer, and the access point sees that.
                Deed::TakeBack(key) => {
                    if let Some(asking) = self.asks.remove(&key) {
                        asking.abort();
                    }
                }
                Deed::Report { key, report } => {
                    let store = Arc::clone(&self.store);
                    self.tasks.spawn(async move {
                        Done::Reported(key, Box::new(store.report_fence(report).await))
                    });
                }
            }
        }
    }
}
