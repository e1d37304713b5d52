//! Access points and executors on threads of their own, for programs that have no runtime.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use ah_store::{Clock, Store};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::executor::{Executor, ExecutorHandle, Mailbox, Parts};
use crate::keyring::Keyring;
use crate::link::{Limits, LinkError, Listener, Transports};
use crate::point::{AccessPoint, PointHandle, PointOptions};

/// How often identities and lists of revocations are looked at.
const REFRESH: Duration = Duration::from_secs(5);

/// Why something cannot be begun.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system gives no thread.
    #[error("no thread can be started")]
    Thread(#[from] io::Error),
    /// The address or the identity cannot be used.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Something that serves on a thread of its own.
pub struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Asks it to end, and waits until it has.
    pub fn end(self) {
        // It may have ended by itself.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// What an access point is made of.
pub struct PointParts {
    /// Where it listens.
    pub address: SocketAddr,
    /// Over what.
    pub transports: Transports,
    /// What it brings to connections.
    pub keyring: Arc<Keyring>,
    /// What it keeps everything in.
    pub store: Arc<dyn Store>,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// How it behaves.
    pub options: PointOptions,
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().thread_name("ah-access").build()
}

/// Begins to serve executors: where it listens, and who speaks with it.
pub fn start_point(parts: PointParts) -> Result<(Running, PointHandle, SocketAddr), RunError> {
    let runtime = runtime()?;
    let (stop, stopped) = oneshot::channel();
    let (said, heard) = sync_channel(1);
    let serve = move || {
        runtime.block_on(async move {
            let PointParts { address, transports, keyring, store, clock, options } = parts;
            let bound = Listener::bind(address, transports, keyring.terms(), Limits::listener());
            let listener = match bound {
                Ok(listener) => Arc::new(listener),
                Err(error) => return drop(said.send(Err(error))),
            };
            let point = AccessPoint::new(Arc::clone(&listener), store, clock, options);
            let _ = said.send(Ok((point.handle(), listener.address())));
            let fresh = tokio::spawn(keep_fresh(keyring, move |terms| {
                if let Some(terms) = terms {
                    // What cannot be used is not: the identity before stays.
                    let _ = listener.set_terms(terms);
                }
                drop(listener.recheck());
            }));
            point.serve(async move { drop(stopped.await) }).await;
            fresh.abort();
        });
    };
    let thread = std::thread::Builder::new().name("ah-access-point".to_owned()).spawn(serve)?;
    match heard.recv() {
        Ok(Ok((handle, address))) => Ok((Running { stop, thread }, handle, address)),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(io::Error::other("it ended before it began").into()),
    }
}

/// Begins to serve as an executor.
pub fn start_executor(
    parts: Parts,
    mailbox: Mailbox,
    keyring: Arc<Keyring>,
) -> Result<Running, RunError> {
    let runtime = runtime()?;
    let (stop, stopped) = oneshot::channel();
    let handle: ExecutorHandle = mailbox.handle();
    let executor = Executor::new(parts, mailbox);
    let serve = move || {
        runtime.block_on(async move {
            let fresh = tokio::spawn(keep_fresh(keyring, move |terms| {
                if terms.is_some() {
                    handle.rotate();
                }
            }));
            executor.serve(async move { drop(stopped.await) }).await;
            fresh.abort();
        });
        // Whoever still reads a file may go on by itself.
        runtime.shutdown_background();
    };
    let thread = std::thread::Builder::new().name("ah-executor".to_owned()).spawn(serve)?;
    Ok(Running { stop, thread })
}

/// Looks at the identity now and then, and passes a new one on.
async fn keep_fresh(
    keyring: Arc<Keyring>,
    tell: impl Fn(Option<Arc<crate::tls::Terms>>) + Send + 'static,
) {
    let mut looks = interval(REFRESH);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let keyring = Arc::clone(&keyring);
        let refreshed = tokio::task::spawn_blocking(move || keyring.refresh()).await;
        // One that did not work is tried again; the identity before stays in use.
        tell(refreshed.ok().and_then(Result::ok).flatten());
    }
}
