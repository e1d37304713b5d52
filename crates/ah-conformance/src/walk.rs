//! A seeded random walk: any store and the oracle are asked the same, and must answer the same.
//!
//! Both read one clock, which goes forth and back between the steps. Numbers and minted ids are
//! each store's own, so they are paired in the order they appear; everything else is equal.

mod choose;
mod operation;
mod pairs;
mod perform;

use ah_model::{AgentFilter, EventQuery, Order, PageLimit, SessionFilter, TaskFilter, Timestamp};
use ah_store::{Agents, Clock, Sessions, Store};

use self::choose::Chooser;
use self::operation::{Operation, Start};
use self::pairs::{Names, Pairs};
use crate::given::all;
use crate::harness::oracle;
use crate::{Harness, ModelStore, Random, TestClock};

/// Steps of each walk in the list of behaviours: enough for every kind of answer to come up.
const STEPS: usize = 450;

pub async fn a_walk_of_seed_1_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 1, STEPS).await;
}

pub async fn a_walk_of_seed_2_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 2, STEPS).await;
}

pub async fn a_walk_of_seed_3_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 3, STEPS).await;
}

/// Takes `steps` random steps of `seed` and compares every answer, then everything that is kept.
///
/// The store must be fresh. Panics with seed, step and operation where the answers part.
pub async fn walk(h: &mut dyn Harness, seed: u64, steps: usize) {
    let model = oracle(h.clock(), h.store().capabilities(), seed);
    let mut random = Random::new(seed);
    let mut pairs = Pairs::default();
    let mut time = Time::new(h.clock());
    for step in 0..steps {
        time.step(&mut random);
        if random.one_in(50) {
            time.leave_the_past();
            h.reopen().await;
        }
        let operation = Chooser::new(&model, h.clock(), &mut random).await.operation();
        let at = format!("seed {seed}, step {step}");
        compare(&model, &*h.store(), &operation, &mut pairs, &at).await;
        // A task registers a repository without naming it: its number is paired here.
        let repos = Operation::ListRepos(Start { limit: PageLimit::MAX, cursor: None });
        compare(&model, &*h.store(), &repos, &mut pairs, &at).await;
    }
    for operation in everything(&model).await {
        let at = format!("seed {seed}, the end");
        compare(&model, &*h.store(), &operation, &mut pairs, &at).await;
    }
}

/// Moves the clock. A store that is opened again has forgotten how far its minted ids had come, so
/// the clock does not go back behind a reopening; ids would sort otherwise than the oracle's.
struct Time {
    clock: TestClock,
    earliest: Timestamp,
    latest: Timestamp,
}

impl Time {
    fn new(clock: &TestClock) -> Self {
        Self { clock: clock.clone(), earliest: Timestamp::from_unix_ms(0), latest: clock.now() }
    }

    /// Often not at all, mostly a little forward, sometimes back.
    fn step(&mut self, random: &mut Random) {
        let far = i64::try_from(random.below(5_000)).unwrap();
        self.clock.advance_ms(random.pick(&[0, 0, 1, 1, far, -far]));
        self.clock.set(self.clock.now().max(self.earliest));
        self.latest = self.latest.max(self.clock.now());
    }

    fn leave_the_past(&mut self) {
        self.clock.set(self.latest);
        self.clock.advance_ms(1);
        self.latest = self.clock.now();
        self.earliest = self.latest;
    }
}

async fn compare(
    model: &ModelStore,
    store: &dyn Store,
    operation: &Operation,
    pairs: &mut Pairs,
    at: &str,
) {
    let ours = perform::answer(model, operation, &Names::Ours).await;
    let theirs = perform::answer(store, operation, &Names::Theirs(pairs)).await;
    if let Err(difference) = pairs.agree(operation.noun(), &ours, &theirs) {
        panic!("{at}: {difference}\n{operation:#?}\noracle: {ours:#}\nstore: {theirs:#}");
    }
}

/// What lists and reads all that is kept.
async fn everything(model: &ModelStore) -> Vec<Operation> {
    let start = || Start { limit: PageLimit::default(), cursor: None };
    let mut operations = vec![
        Operation::ListSessions(SessionFilter::default(), start()),
        Operation::ListAgents(AgentFilter::default(), start()),
        Operation::ListTasks(TaskFilter::default(), start()),
        Operation::ListRepos(start()),
        Operation::ListAgentKinds(start()),
        Operation::ListRuntimes(start()),
        Operation::ListWorkspaces(start()),
        Operation::ListDrafts(start()),
        Operation::KvList("user".to_owned(), start()),
        Operation::KvList("repo".to_owned(), start()),
    ];
    let sessions = model.list_sessions(SessionFilter::default(), all()).await;
    for session in sessions.unwrap().items {
        let query = EventQuery { limit: PageLimit::MAX, ..EventQuery::default() };
        operations.push(Operation::Events(session.id.clone(), query));
        operations.push(Operation::SessionRuns(session.id));
    }
    let agents = model.list_agents(AgentFilter::default(), all()).await;
    for agent in agents.unwrap().items {
        operations.push(Operation::AgentSessions(agent.id, Order::Oldest, start()));
    }
    operations
}
