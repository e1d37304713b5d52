//! Reaching a fence: the leader names its files, a follower gets the same ones.
//!
//! Whoever is here reads disks and waits for programs, so each is on a thread that may block. Of one
//! run the next begins when the one before has ended, with all that it had started.

mod pull;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ah_model::{Lease, RawJson, RequestId, RunId, Snapshot};

use self::pull::Pulled;
use super::core::Verdict;
use super::desk::described;
use super::digest::{self, DigestError};
use super::host::{Holding, Host};
use crate::frame::{Fence, FenceStep, ReplyCode};

/// Before a follower compares again: at first, and at most.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// So many pulls in a row may fail; somebody may only be in the way of the first.
const PULLS_FAILED_MAX: u32 = 3;
/// Longest reason; those who keep it take no more.
const DETAIL_BYTES_MAX: usize = 3 * 1024;

/// The fences that are being reached, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Fences {
    at_work: Mutex<Vec<(RequestId, RunId, Arc<Stop>)>>,
    over: Condvar,
}

impl Fences {
    /// Makes a place for a fence, to be reached from now on.
    pub(super) fn begin(self: &Arc<Self>, fence: &Fence) -> Place {
        let (request, run_id, stop) =
            (fence.request.id.clone(), fence.run_id.clone(), Arc::<Stop>::default());
        self.at_work().push((request.clone(), run_id, Arc::clone(&stop)));
        let until = Instant::now() + Duration::from_millis(fence.request.deadline_ms);
        Place { fences: Arc::clone(self), request, stop, until }
    }

    /// A fence is not to be reached any more.
    pub(super) fn stop(&self, request: &RequestId) {
        for (_, _, stop) in self.at_work().iter().filter(|(id, ..)| id == request) {
            stop.stop();
        }
    }

    fn at_work(&self) -> MutexGuard<'_, Vec<(RequestId, RunId, Arc<Stop>)>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all that came before for the same run have ended.
    fn await_turn(&self, request: &RequestId) {
        let mut at_work = self.at_work();
        loop {
            let run = at_work.iter().find(|(id, ..)| id == request).map(|(_, run, _)| run);
            let first = at_work.iter().find(|(_, of, _)| Some(of) == run);
            if first.is_none_or(|(id, ..)| id == request) {
                return;
            }
            at_work = self.over.wait(at_work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Says that something is wanted no more.
#[derive(Debug, Default)]
struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped_within(Duration::ZERO)
    }

    /// Waits that long at most.
    fn is_stopped_within(&self, time: Duration) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(stopped, time, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A fence that is being reached, as long as it is.
#[derive(Debug)]
pub(super) struct Place {
    fences: Arc<Fences>,
    request: RequestId,
    stop: Arc<Stop>,
    until: Instant,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.fences.at_work().retain(|(request, ..)| *request != self.request);
        self.fences.over.notify_all();
    }
}

impl Place {
    /// Does what the fence asks for, and says what came of it.
    pub(super) fn reach(&self, host: &Host, fence: &Fence) -> Verdict {
        self.fences.await_turn(&self.request);
        let lease = Lease { run_id: fence.run_id.clone(), epoch: fence.epoch };
        let mut verdict = match host.holding(&lease) {
            Ok(holding) => match fence.step {
                FenceStep::Snapshot => self.snapshot(&holding),
                FenceStep::Pull => self.follow(&holding, fence),
            },
            Err(error) => Verdict::not(ReplyCode::Failed, described(&error)),
        };
        verdict.detail = verdict.detail.map(|detail| shortened(&detail));
        verdict
    }

    fn snapshot(&self, holding: &Holding) -> Verdict {
        match self.digest(holding) {
            Ok(snapshot) => reached(&snapshot),
            Err(DigestError::Stopped) => {
                self.given_up("the files were still being read when the time was over")
            }
            Err(error) => Verdict::not(ReplyCode::Failed, error.to_string()),
        }
    }

    fn digest(&self, holding: &Holding) -> Result<Snapshot, DigestError> {
        digest::of(&holding.directory, &holding.hold.ignore, &|| self.goes_on())
    }

    fn goes_on(&self) -> bool {
        !self.stop.is_stopped() && Instant::now() < self.until
    }

    /// Nobody waits any more, or the time is over.
    fn given_up(&self, why: &str) -> Verdict {
        match self.stop.is_stopped() {
            true => Verdict::not(ReplyCode::Cancelled, "it was taken back"),
            false => Verdict::not(ReplyCode::Expired, why),
        }
    }

    fn follow(&self, holding: &Holding, fence: &Fence) -> Verdict {
        let (mut pause, mut failures) = (PAUSE, 0);
        let mut missing = "the files were not compared before the time was over".to_owned();
        loop {
            match pull::run(holding, fence, &self.stop, self.until) {
                Pulled::Done => failures = 0,
                Pulled::Failed(why) if failures + 1 >= PULLS_FAILED_MAX => {
                    return Verdict::not(ReplyCode::Failed, why);
                }
                Pulled::Failed(why) => {
                    failures += 1;
                    missing = why;
                }
                Pulled::TooLong => {
                    return self.given_up("the pull was still at work when the time was over");
                }
            }
            let began = Instant::now();
            match self.digest(holding) {
                Ok(found) if fence.snapshot.as_ref() == Some(&found.name) => {
                    return reached(&found);
                }
                Ok(found) if failures == 0 => missing = difference(&found, fence),
                Ok(_) => {}
                Err(DigestError::Stopped) => return self.given_up(&missing),
                Err(error @ DigestError::Unsettled(_)) => missing = error.to_string(),
                Err(error) => return Verdict::not(ReplyCode::Failed, error.to_string()),
            }
            // Large directories are not read all the time.
            let pause_now = pause.max(began.elapsed());
            let left = self.until.saturating_duration_since(Instant::now());
            if self.stop.is_stopped_within(pause_now.min(left)) || left <= pause_now {
                return self.given_up(&missing);
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

fn reached(snapshot: &Snapshot) -> Verdict {
    match RawJson::of(snapshot) {
        Ok(data) => Verdict { code: ReplyCode::Done, detail: None, data },
        Err(error) => Verdict::not(ReplyCode::Failed, error.to_string()),
    }
}

/// How far a follower is off.
fn difference(found: &Snapshot, fence: &Fence) -> String {
    let words = if found.files == 1 { "file" } else { "files" };
    let here = format!("{} {words} of {} bytes", grouped(found.files), grouped(found.bytes));
    match (fence.files, fence.bytes) {
        (Some(files), Some(bytes)) if (files, bytes) == (found.files, found.bytes) => {
            format!("{here} here as at the leader, with other names or contents")
        }
        (Some(files), Some(bytes)) => {
            format!("{here} here, {} of {} at the leader", grouped(files), grouped(bytes))
        }
        (..) => format!("{here} here, which are not the leader's"),
    }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// What can be kept of a reason: no more than others take, and nothing that they cannot show.
fn shortened(text: &str) -> String {
    let shown = |one: char| if one.is_control() && one != '\n' { ' ' } else { one };
    let end = text.floor_char_boundary(DETAIL_BYTES_MAX);
    text.get(..end).unwrap_or_default().chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_reason_is_short_and_can_be_shown() {
        assert_eq!(shortened("a\0b\u{1b}[31m\nc"), "a b [31m\nc");
        assert_eq!(shortened(&"ü".repeat(DETAIL_BYTES_MAX)).len(), DETAIL_BYTES_MAX);
    }
}
