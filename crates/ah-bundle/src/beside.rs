//! Work beside other work, on a thread that is kept: to make one takes longer than a small save has.
//! For work that waits more than it computes; a thread that is woken may not get a processor of its own.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many threads wait for work at most.
const KEPT: usize = 1;

type Job = Box<dyn FnOnce() + Send>;

/// Where threads that have nothing to do get their work from.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

/// Work that has begun.
pub(crate) struct Beside<T> {
    /// The thread that does it; none where there could be none, and it is done already.
    thread: Option<Sender<Job>>,
    made: Receiver<Result<T, Box<dyn Any + Send>>>,
}

/// Begins `work`. Where no thread can be had it is done at once.
pub(crate) fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Beside<T> {
    let (done, made) = mpsc::channel();
    let job: Job = Box::new(move || {
        // Nobody may wait for it any more.
        let _ = done.send(panic::catch_unwind(AssertUnwindSafe(work)));
    });
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let thread = match idle.or_else(started) {
        Some(thread) => match thread.send(job) {
            Ok(()) => Some(thread),
            Err(mpsc::SendError(job)) => {
                job();
                None
            }
        },
        None => {
            job();
            None
        }
    };
    Beside { thread, made }
}

fn started() -> Option<Sender<Job>> {
    let (thread, jobs) = mpsc::channel::<Job>();
    let work = move || jobs.into_iter().for_each(|job| job());
    thread::Builder::new().name("bundle".to_owned()).spawn(work).ok().map(|_| thread)
}

impl<T> Beside<T> {
    /// What was made; its panic is ours.
    pub(crate) fn joined(self) -> T {
        let Self { thread, made } = self;
        let made = made.recv();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.extend(thread);
        }
        drop(idle);
        match made {
            Ok(Ok(made)) => made,
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(gone) => panic::resume_unwind(Box::new(gone.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_while_its_caller_does_something_else() {
        let (go, gone) = mpsc::channel();
        let work = beside(move || gone.recv().unwrap());
        go.send(7).unwrap();
        assert_eq!(work.joined(), 7);
    }

    #[test]
    fn more_work_than_threads_are_kept_is_all_done_at_once() {
        let all: Vec<_> = (0..4 * KEPT)
            .map(|number| {
                let (go, gone) = mpsc::channel::<()>();
                let work = beside(move || {
                    gone.recv().unwrap();
                    number
                });
                (go, work)
            })
            .collect();
        // In the order in which a single thread would never come to it.
        let made: Vec<usize> = all
            .into_iter()
            .rev()
            .map(|(go, work)| {
                go.send(()).unwrap();
                work.joined()
            })
            .collect();
        assert_eq!(made, (0..4 * KEPT).rev().collect::<Vec<_>>());
        assert!(IDLE.lock().unwrap().len() <= KEPT);
    }

    #[test]
    fn a_panic_beside_is_a_panic_here_and_the_thread_goes_on() {
        let work = beside(|| -> usize { panic!("beside") });
        let panic = panic::catch_unwind(AssertUnwindSafe(|| work.joined())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"beside"));
        assert_eq!(beside(|| 1).joined(), 1);
    }
}
