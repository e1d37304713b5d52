//! Sockets below one directory: `host.sock` of the operator, `manager/mcp.sock`, and
//! `agents/<name>/mcp.sock` of every living agent; and `hook.sock`, where hooks hand over.
//!
//! Who reaches a socket is who it is for, so directories are 0700, sockets 0600, and the other side
//! must be the same user. One server has a directory at a time. What cannot be made for one agent
//! is told and does not keep the others from theirs.

mod listen;
pub(super) mod place;

use std::collections::BTreeMap;
use std::io::Result;
use std::path::Path;

use ah_model::ChangeKind;
use ah_model::{
    Agent, AgentFilter, AgentId, FeedCursor, Happening, Lifecycle, PageLimit, PageRequest,
};
use tokio::time::sleep;

use super::caller::MANAGER;
use super::{Caller, Powers};
use crate::hook::HOOK_SOCKET;
use crate::limits::MCP_SOCKETS_EVERY;
use crate::log::JobLine;
use crate::problem::Failure;
use crate::state::ServerState;
use listen::{Listening, Service};
use place::Place;

/// The name of a socket in its directory.
const SOCKET: &str = "mcp.sock";

/// The sockets of a server.
pub(crate) struct Sockets {
    place: Place,
    state: ServerState,
    host: Listening,
    /// Where hooks hand their calls over.
    hooks: Option<Listening>,
    /// By the agent's name.
    agents: BTreeMap<String, Registered>,
    /// The changes of agents that were seen.
    seen: FeedCursor,
}

/// The socket of an agent.
struct Registered {
    id: AgentId,
    powers: Powers,
    listening: Listening,
}

impl Sockets {
    /// Takes the directory for this server, and makes the sockets of everybody there is. One that
    /// is not safe, or that another server has, is refused.
    pub(crate) async fn open(state: &ServerState, dir: &Path) -> Result<Self> {
        let place = match state.mcp.taken() {
            Some(place) => place,
            None => Place::take(dir)?,
        };
        let path = place.root().join("host.sock");
        let host = Listening::begin(path, state.clone(), Service::Mcp(Caller::operator()))?;
        let hooks = match &state.options.hooks {
            Some(desk) => {
                let path = place.root().join(HOOK_SOCKET);
                Some(Listening::begin(path, state.clone(), Service::Hooks(desk.clone()))?)
            }
            None => None,
        };
        let (agents, seen) = (BTreeMap::new(), FeedCursor::default());
        let mut sockets = Self { place, state: state.clone(), host, hooks, agents, seen };
        // A store that cannot say who there is is asked again in a moment.
        let _ = sockets.follow().await;
        Ok(sockets)
    }

    /// Follows the agents until the server stops and nobody is answered any more.
    pub(crate) async fn run(mut self) {
        let state = self.state.clone();
        let work = async {
            loop {
                sleep(MCP_SOCKETS_EVERY).await;
                // A store that fails is asked again; whoever works with it hears of it.
                let _ = self.follow().await;
            }
        };
        tokio::select! {
            () = state.closing() => {}
            () = work => {}
        }
        self.host.ended().await;
        if let Some(hooks) = &mut self.hooks {
            hooks.ended().await;
        }
        for agent in self.agents.values_mut() {
            agent.listening.ended().await;
        }
    }

    /// Makes and removes sockets if agents have changed since the last time.
    async fn follow(&mut self) -> std::result::Result<(), Failure> {
        let seen = match self.seen {
            FeedCursor { change: 0, .. } => Some(self.end().await?),
            after => self.news(after).await?,
        };
        let gone = self.agents.values().any(|agent| !agent.listening.is_there());
        if seen.is_some() || gone {
            let living = self.living().await?;
            self.settle(living);
        }
        // Only now: what failed is done again.
        self.seen = seen.unwrap_or(self.seen);
        Ok(())
    }

    /// The end of the feed, past all events: only changes are followed from there.
    async fn end(&self) -> std::result::Result<FeedCursor, Failure> {
        let end = self.state.call(|store| async move { store.feed_end().await }).await?;
        Ok(FeedCursor { event: i64::MAX.unsigned_abs(), ..end })
    }

    /// Where the changes end, if one of them was about agents.
    async fn news(
        &mut self,
        after: FeedCursor,
    ) -> std::result::Result<Option<FeedCursor>, Failure> {
        let read = move |store: std::sync::Arc<dyn ah_store::Store>| async move {
            store.feed(after, PageLimit::MAX).await
        };
        let entries = self.state.call(read).await?;
        let Some(last) = entries.last() else { return Ok(None) };
        let about_agents = entries.iter().any(|entry| match &entry.happening {
            Happening::Change(change) => {
                matches!(change.kind, ChangeKind::AgentUpdated | ChangeKind::ChangesTrimmed)
            }
            Happening::Event(_) => false,
        });
        let cursor = FeedCursor { change: last.cursor.change, ..after };
        if !about_agents {
            self.seen = cursor;
        }
        Ok(about_agents.then_some(cursor))
    }

    /// Every agent that is not dead.
    async fn living(&self) -> std::result::Result<Vec<Agent>, Failure> {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let lifecycles = vec![Lifecycle::Active, Lifecycle::Sleeping];
            let filter = AgentFilter { lifecycles, ..AgentFilter::default() };
            let page = PageRequest { limit: PageLimit::MAX, cursor };
            let read =
                self.state.call(|store| async move { store.list_agents(filter, page).await });
            let page = read.await?;
            found.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// Brings the sockets to what there must be for the `living`.
    fn settle(&mut self, living: Vec<Agent>) {
        let names: Vec<_> = living.iter().map(|agent| agent.name.as_str()).collect();
        self.agents.retain(|name, _| names.contains(&name.as_str()));
        self.place.forget_others(&names);
        let mut without = BTreeMap::new();
        for agent in living {
            if let Err(error) = self.register(&agent) {
                without.insert(agent.name, error.to_string());
            }
        }
        for text in self.state.mcp.set_without_socket(without) {
            self.state.tell(&JobLine::Skipped { job: "sockets", reason: &text });
        }
    }

    /// The socket of an agent: the one it has, else a new one in place of any other. Connections of
    /// one that is replaced end.
    fn register(&mut self, agent: &Agent) -> Result<()> {
        let caller = Caller::agent(agent);
        let powers = caller.powers();
        let stays = self.agents.get(&agent.name).is_some_and(|known| {
            known.id == agent.id && known.powers == powers && known.listening.is_there()
        });
        if stays {
            return Ok(());
        }
        // The old one goes first, so that it does not remove the new one's file.
        self.agents.remove(&agent.name);
        let dir = match powers {
            Powers::Manager => self.place.dir(&[MANAGER])?,
            Powers::Agent | Powers::Admin => self.place.dir(&["agents", &agent.name])?,
        };
        let listening =
            Listening::begin(dir.join(SOCKET), self.state.clone(), Service::Mcp(caller))?;
        let registered = Registered { id: agent.id.clone(), powers, listening };
        self.agents.insert(agent.name.clone(), registered);
        Ok(())
    }
}
