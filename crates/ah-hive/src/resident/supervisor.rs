//! Keeps the loops of all resident agents running.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ah_model::{Agent, AgentFilter, Lifecycle, PageLimit, PageRequest};
use ah_store::{Store, StoreError, block_on};

use super::ResidentError;
use super::mark::is_resident;
use super::stop::Stop;
use super::turn_loop::{Ran, Resident, Tell};

/// How often it looks which agents are resident.
const LOOK: Duration = Duration::from_secs(2);
/// How long a loop that ended by itself rests at first, and at most.
const REST: Duration = Duration::from_secs(1);
const REST_MAX: Duration = Duration::from_secs(60);

/// Makes the loop of an agent.
pub type MakeLoop = Box<dyn Fn(&Agent, Stop) -> Result<Resident, ResidentError> + Send>;

/// Keeps the loops of all resident agents running: begins those that are missing, begins again after
/// a rest those that ended, and ends those whose agents are resident no more.
pub struct Supervisor {
    store: Arc<dyn Store>,
    make: MakeLoop,
    tell: Tell,
    stop: Stop,
    loops: BTreeMap<String, Kept>,
    news: Receiver<News>,
    sender: Sender<News>,
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("loops", &self.loops.keys()).finish_non_exhaustive()
    }
}

/// A supervisor at work.
#[derive(Debug)]
pub struct Supervised {
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Supervised {
    /// The word that ends it.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Ends all loops and waits for them.
    pub fn end(self) {
        self.stop.say();
        // A panic of a loop has been told by then.
        let _ = self.thread.join();
    }
}

enum News {
    Stop,
    /// The loop of that agent ended.
    Ended(String, Result<Ran, ResidentError>),
}

/// The loop of one agent.
struct Kept {
    running: Option<Running>,
    /// How long it rests when it ends.
    rest: Duration,
    /// Not begun before.
    again: Instant,
    /// The last thing that was told of it.
    told: Option<String>,
}

struct Running {
    stop: Stop,
    since: Instant,
    thread: JoinHandle<()>,
}

impl Supervisor {
    /// A supervisor of the agents of `store`.
    pub fn new(store: Arc<dyn Store>, make: MakeLoop, tell: Tell, stop: Stop) -> Self {
        let (sender, news) = channel();
        let ring = sender.clone();
        stop.wakes(move || drop(ring.send(News::Stop)));
        Self { store, make, tell, stop, loops: BTreeMap::new(), news, sender }
    }

    /// Begins, in a thread of its own.
    pub fn start(self) -> Result<Supervised, ResidentError> {
        let stop = self.stop.clone();
        let builder = std::thread::Builder::new().name("ah-residents".to_owned());
        let thread = builder.spawn(move || self.run()).map_err(ResidentError::Thread)?;
        Ok(Supervised { stop, thread })
    }

    fn run(mut self) {
        while !self.stop.is_said() {
            match residents(&*self.store) {
                Ok(agents) => self.keep(&agents),
                Err(error) => (self.tell)(&format!("residents: {error}")),
            }
            if let Ok(News::Ended(name, ran)) = self.news.recv_timeout(LOOK) {
                self.ended(&name, ran);
            }
        }
        self.loops.values().filter_map(|kept| kept.running.as_ref()).for_each(|one| one.stop.say());
        for (_, kept) in std::mem::take(&mut self.loops) {
            // What ended a loop was told by itself.
            kept.running.map(|running| running.thread.join());
        }
    }

    /// Begins and ends loops so that there is one for each of `agents`.
    fn keep(&mut self, agents: &[Agent]) {
        let wanted = |name: &String| agents.iter().any(|agent| agent.name == *name);
        for (name, kept) in &self.loops {
            if let Some(running) = kept.running.as_ref().filter(|_| !wanted(name)) {
                running.stop.say();
            }
        }
        self.loops.retain(|name, kept| kept.running.is_some() || wanted(name));
        for agent in agents {
            self.begin(agent);
        }
    }

    fn begin(&mut self, agent: &Agent) {
        let now = Instant::now();
        let new = || Kept { running: None, rest: REST, again: now, told: None };
        let kept = self.loops.entry(agent.name.clone()).or_insert_with(new);
        if kept.running.is_some() || now < kept.again {
            return;
        }
        let stop = Stop::default();
        let (name, sender) = (agent.name.clone(), self.sender.clone());
        let begun = (self.make)(agent, stop.clone()).and_then(|resident| {
            let builder = std::thread::Builder::new().name("ah-resident".to_owned());
            let work = move || {
                let ran = catch_unwind(AssertUnwindSafe(|| resident.run()));
                let ran = ran.unwrap_or(Err(ResidentError::Panicked));
                let _ = sender.send(News::Ended(name, ran));
            };
            builder.spawn(work).map_err(ResidentError::Thread)
        });
        match begun {
            Ok(thread) => {
                kept.running = Some(Running { stop, since: now, thread });
                (self.tell)(&format!("{}: waits for mail", agent.name));
            }
            Err(error) => kept.failed(&agent.name, &error, &self.tell),
        }
    }

    fn ended(&mut self, name: &str, ran: Result<Ran, ResidentError>) {
        let Some(kept) = self.loops.get_mut(name) else {
            return;
        };
        if let Some(running) = kept.running.take() {
            if running.since.elapsed() > REST_MAX {
                kept.rest = REST;
            }
            // It has said its last word.
            let _ = running.thread.join();
        }
        match ran {
            Ok(_) => (self.tell)(&format!("{name}: its loop ended")),
            Err(error) => kept.failed(name, &error, &self.tell),
        }
    }
}

impl Kept {
    /// Rests, longer every time; the same reason is told once.
    fn failed(&mut self, name: &str, error: &ResidentError, tell: &Tell) {
        let why = error.to_string();
        if self.told.as_ref() != Some(&why) {
            tell(&format!("{name}: {why}"));
            self.told = Some(why);
        }
        self.again = Instant::now() + self.rest;
        self.rest = (self.rest * 2).min(REST_MAX);
    }
}

/// The agents that are resident now.
fn residents(store: &dyn Store) -> Result<Vec<Agent>, StoreError> {
    let filter = AgentFilter { lifecycles: vec![Lifecycle::Active], ..AgentFilter::default() };
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut found = Vec::new();
    loop {
        let page = block_on(store.list_agents(filter.clone(), request.clone()))?;
        found.extend(page.items.into_iter().filter(is_resident));
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(found),
        }
    }
}
