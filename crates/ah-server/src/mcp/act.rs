//! One call of a tool: who calls, and what the tool may use.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ah_hive::{Host, HostError};
use ah_model::{Agent, Awaited, Party};
use ah_store::{Kind, Store, StoreError};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::Caller;
use super::round::Rounds;
use crate::limits::{MCP_ASIDE_MAX, MCP_LOOK_EVERY};
use crate::problem::Failure;
use crate::state::ServerState;

/// How the store lets somebody wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// Its futures hold no thread.
    Here,
    /// They may: a remote store asks its server and blocks meanwhile.
    Aside,
}

/// One call.
#[derive(Clone)]
pub(super) struct Act {
    pub(super) state: ServerState,
    pub(super) caller: Caller,
    /// The call as the client's program names it.
    pub(super) tool_call: Option<String>,
    /// The client's program.
    pub(super) client: Option<String>,
    pub(super) waits: Waits,
    /// What the client brings from the round before, and whether there may be another.
    pub(super) rounds: Rounds,
}

impl Act {
    /// Asks the store. Carried through even if the client goes away meanwhile.
    pub(super) async fn call<T, F>(
        &self,
        work: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
        T: Send + 'static,
    {
        self.state.call(work).await
    }

    /// Asks the host, as [`Self::call`] the store.
    pub(super) async fn host<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Host) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.state.host_call(work).await
    }

    /// Who acts.
    pub(super) fn party(&self, named: Option<&str>) -> Result<Party, Failure> {
        self.caller.party(named)
    }

    /// The agent of that name.
    pub(super) async fn agent(&self, name: &str) -> Result<Agent, Failure> {
        let asked = name.to_owned();
        let found = self.call(|store| async move { store.agent_of_name(asked).await }).await?;
        found.ok_or_else(|| StoreError::not_found(Kind::Agent, name).into())
    }

    /// A word for who holds what is leased: the session, else the program.
    pub(super) fn holder(&self) -> String {
        let known = self.caller.session().or(self.client.as_deref());
        known.unwrap_or("mcp").to_owned()
    }

    /// What `look` finds: as soon as `done` says it is enough, else what there is when the time is
    /// over or the server stops. Time alone wakes nobody, so there is a look now and then.
    pub(super) async fn look_until<T, F>(
        &self,
        awaited: Awaited,
        wait: Duration,
        mut look: impl FnMut() -> F,
        done: impl Fn(&T) -> bool,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let end = Instant::now() + wait;
        let mut waiting = Waiting { state: &self.state, waits: self.waits, awaited, aside: None };
        loop {
            let found = look().await?;
            let now = Instant::now();
            if done(&found) || now >= end || self.state.is_closing() {
                return Ok(found);
            }
            tokio::select! {
                // However it is waited: who waits has a last look when the server stops.
                () = self.state.closing() => {}
                () = waiting.wait(end.min(now + MCP_LOOK_EVERY)) => {}
            }
        }
    }
}

/// Somebody who waits, for a moment at a time.
struct Waiting<'a> {
    state: &'a ServerState,
    waits: Waits,
    awaited: Awaited,
    /// The thread that waits, over several moments.
    aside: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Waiting<'_> {
    /// Waits until there may be what is awaited, at most until `end`.
    async fn wait(&mut self, end: Instant) {
        let waited = match self.waits {
            Waits::Here => {
                let left = end.saturating_duration_since(Instant::now());
                self.state.waited_for(self.awaited.clone(), left).await.is_ok()
            }
            Waits::Aside => self.wait_aside(end).await,
        };
        if !waited {
            // A store that cannot wait is looked at now and then.
            sleep_until(end).await;
        }
    }

    /// A thread that is still asking its server when nobody waits any more ends soon after.
    async fn wait_aside(&mut self, end: Instant) -> bool {
        let (store, awaited) = (Arc::clone(&self.state.store), self.awaited.clone());
        let handle = Handle::current();
        let begin = || {
            spawn_blocking(move || {
                let waited = timeout(MCP_ASIDE_MAX, store.wait_for(awaited));
                handle.block_on(waited).unwrap_or(Ok(()))
            })
        };
        let aside = self.aside.get_or_insert_with(begin);
        let Ok(waited) = timeout_at(end, aside).await else { return true };
        self.aside = None;
        matches!(waited, Ok(Ok(())))
    }
}
