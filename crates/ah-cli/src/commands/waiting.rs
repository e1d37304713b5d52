//! Waiting for mail, answers and decisions without asking the store again and again.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ah_model::Awaited;
use ah_store::{Store, StoreError, block_on};

use crate::error::{CommandError, Exit};

/// Leases and deadlines end by time alone, which wakes nobody: so often somebody looks.
const TICK: Duration = Duration::from_secs(1);

/// How much longer the next look waits after each that was in vain.
const REST: Duration = Duration::from_millis(20);

/// Looks at once, and again whenever there may be what is awaited, until `wait` is over; for ever
/// when it is absent.
pub(crate) fn until<T>(
    store: &Arc<dyn Store>,
    awaited: Awaited,
    wait: Option<Duration>,
    mut look: impl FnMut() -> Result<Option<T>, CommandError>,
) -> Result<Option<T>, CommandError> {
    if let Some(found) = look()? {
        return Ok(Some(found));
    }
    let end = wait.map(|wait| Instant::now() + wait);
    let left = || end.map(|end| end.saturating_duration_since(Instant::now()));
    let news = news(store, awaited)?;
    let mut in_vain = 0;
    while left().is_none_or(|left| !left.is_zero()) {
        match news.recv_timeout(left().unwrap_or(TICK).min(TICK)) {
            Ok(Ok(())) => in_vain += 1,
            Err(RecvTimeoutError::Timeout) => in_vain = 0,
            Ok(Err(error)) => return Err(error.into()),
            Err(RecvTimeoutError::Disconnected) => return Err(broken("nobody listens any more")),
        }
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        // Others may be quicker again and again, or what there is may not be what is looked for.
        std::thread::sleep((REST * in_vain).min(TICK).min(left().unwrap_or(TICK)));
    }
    Ok(None)
}

/// A signal whenever there may be what is awaited. The one who waits takes it before the next is
/// waited for, so that one that somebody else was quicker for is not asked for in a loop. The
/// thread ends with the process.
fn news(
    store: &Arc<dyn Store>,
    awaited: Awaited,
) -> Result<Receiver<Result<(), StoreError>>, CommandError> {
    let (tell, told) = sync_channel(0);
    let store = Arc::clone(store);
    let listen = move || loop {
        let news = block_on(store.wait_for(awaited.clone()));
        let is_over = news.is_err();
        if tell.send(news).is_err() || is_over {
            return;
        }
    };
    let thread = std::thread::Builder::new().name("ah-wait".to_owned());
    thread.spawn(listen).map_err(|error| broken(&error.to_string()))?;
    Ok(told)
}

fn broken(reason: &str) -> CommandError {
    CommandError::new(Exit::Failed, format!("cannot wait: {reason}"))
}
