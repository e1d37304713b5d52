//! The thread that ends a call in time, whatever the call itself waits for.
//!
//! The work is done on the main thread: a second thread's memory comes page by page from the system,
//! which is a tenth of what a call takes. Exactly one of the two sees to the end of a call.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, park, sleep};
use std::time::{Duration, Instant};

use ah_import::HookCall;

use super::{Args, FILE_UNTIL, READ_MAX, STORE_UNTIL, gate, keep};
use crate::cli::GlobalArgs;
use crate::environment::Environment;

/// How often it is looked whether the payload was read: nobody has to be woken for it, and it is seen
/// in time for what is due then.
const LOOK: Duration = Duration::from_millis(50);

/// The hold that the work has on its guard.
pub(super) struct Guard(Arc<Progress>);

#[derive(Default)]
struct Progress {
    /// The call, from when it was read: from there on it must not be lost.
    read: OnceLock<(Instant, HookCall)>,
    /// Set by who sees to the end of the call.
    ends: AtomicBool,
}

impl Guard {
    /// Begins to look at the clock; nothing if there is no room for a thread.
    pub(super) fn start(
        args: &Args,
        global: &GlobalArgs,
        environment: &Environment,
    ) -> Option<Self> {
        let progress = Arc::new(Progress::default());
        let seen = Arc::clone(&progress);
        let (args, global, environment) = (args.clone(), global.clone(), environment.clone());
        let look = move || stand(&seen, &args, &global, &environment);
        Builder::new().name("ah-guard".to_owned()).spawn(look).ok()?;
        Some(Self(progress))
    }

    /// Says that the payload was read, and when that was.
    pub(super) fn watch(&self, call: HookCall) -> (Instant, &HookCall) {
        let (began, call) = self.0.read.get_or_init(|| (Instant::now(), call));
        (*began, call)
    }

    /// Takes the end of the call upon the work. It does not return if that is too late.
    pub(super) fn relieve(&self) {
        while self.0.ends.swap(true, Ordering::AcqRel) {
            // The guard ends the process when it has kept the call.
            park();
        }
    }
}

fn stand(progress: &Progress, args: &Args, global: &GlobalArgs, environment: &Environment) {
    let started = Instant::now();
    let (began, call) = loop {
        if let Some((began, call)) = progress.read.get() {
            break (*began, call);
        }
        if started.elapsed() >= READ_MAX {
            leave();
        }
        sleep(LOOK);
    };
    sleep(STORE_UNTIL.saturating_sub(began.elapsed()));
    let is_asked = gate::is_asked(args, call);
    if progress.ends.swap(true, Ordering::AcqRel) {
        // Who is asked waits as long as it takes. Else all that can be left is to tidy up.
        if !is_asked {
            sleep(FILE_UNTIL.saturating_sub(began.elapsed()));
            leave();
        }
        return;
    }
    keep(call, environment, FILE_UNTIL.saturating_sub(began.elapsed()));
    if is_asked {
        gate::wait(args, global, environment, call);
    }
    leave();
}

#[expect(clippy::exit, reason = "the main thread may wait for a disk that does not answer")]
fn leave() -> ! {
    exit(0)
}
