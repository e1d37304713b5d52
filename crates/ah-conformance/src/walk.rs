//! A seeded random walk: any store and the oracle are asked the same, and must answer the same.
//!
//! Both read one clock, which goes forth and back between the steps. Numbers and minted ids are
//! each store's own, so they are paired in the order they appear; everything else is equal.

mod choose;
mod happenings;
mod operation;
mod pairs;
mod perform;

use ah_model::limits::REQUEST_KEY_MS;
use ah_model::{
    AgentFilter, ApprovalFilter, EventQuery, ExecutorFilter, FleetFilter, MessageFilter, Order,
    PageLimit, QuestionFilter, RunFilter, SessionFilter, TaskFilter, Timestamp,
};
use ah_store::{Agents, Clock, Sessions, Store};

use self::choose::{Chooser, JUMPS_MS, KeptHive, Mix};
use self::happenings::{Changes, Feeds};
use self::operation::{
    ExecutorOperation, FleetOperation, HiveOperation, Operation, RunOperation, Start,
};
use self::pairs::{Names, Pairs};
use crate::given::all;
use crate::harness::oracle;
use crate::{Harness, ModelStore, Random, TestClock};

/// Steps of each walk in the list of behaviours: enough for every kind of answer to come up.
const STEPS: usize = 450;
/// More of them, for it takes several until a fence is reached by all.
const FLEET_STEPS: usize = 1_200;

pub async fn a_walk_of_seed_1_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 1, STEPS).await;
}

pub async fn a_walk_of_seed_2_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 2, STEPS).await;
}

pub async fn a_walk_of_seed_3_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk(h, 3, STEPS).await;
}

pub async fn a_walk_of_runs_of_seed_4_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_runs(h, 4, STEPS).await;
}

pub async fn a_walk_of_runs_of_seed_5_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_runs(h, 5, STEPS).await;
}

pub async fn a_walk_of_runs_of_seed_6_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_runs(h, 6, STEPS).await;
}

pub async fn a_walk_of_the_hive_of_seed_7_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_the_hive(h, 7, STEPS).await;
}

pub async fn a_walk_of_the_hive_of_seed_8_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_the_hive(h, 8, STEPS).await;
}

pub async fn a_walk_of_the_hive_of_seed_9_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_the_hive(h, 9, STEPS).await;
}

pub async fn a_walk_of_fleets_of_seed_10_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_fleets(h, 10, FLEET_STEPS).await;
}

pub async fn a_walk_of_fleets_of_seed_11_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_fleets(h, 11, FLEET_STEPS).await;
}

pub async fn a_walk_of_search_of_seed_12_agrees_with_the_oracle(h: &mut dyn Harness) {
    walk_of_search(h, 12, STEPS).await;
}

/// Takes `steps` random steps of `seed` and compares every answer, then everything that is kept.
///
/// The store must be fresh. Panics with seed, step and operation where the answers part.
pub async fn walk(h: &mut dyn Harness, seed: u64, steps: usize) {
    wander(h, seed, steps, Mix::Everything).await;
}

/// As [`walk`], mostly about runs.
pub async fn walk_of_runs(h: &mut dyn Harness, seed: u64, steps: usize) {
    wander(h, seed, steps, Mix::Runs).await;
}

/// As [`walk`], mostly about mail, approvals, questions and who they are between.
pub async fn walk_of_the_hive(h: &mut dyn Harness, seed: u64, steps: usize) {
    wander(h, seed, steps, Mix::Hive).await;
}

/// As [`walk`], mostly about fleets, their members and their fences.
pub async fn walk_of_fleets(h: &mut dyn Harness, seed: u64, steps: usize) {
    wander(h, seed, steps, Mix::Fleets).await;
}

/// As [`walk`], mostly about what events say and what is looked for.
pub async fn walk_of_search(h: &mut dyn Harness, seed: u64, steps: usize) {
    wander(h, seed, steps, Mix::Search).await;
}

async fn wander(h: &mut dyn Harness, seed: u64, steps: usize, mix: Mix) {
    let model = oracle(h.clock(), h.store().capabilities(), seed);
    let mut random = Random::new(seed);
    let mut pairs = Pairs::default();
    let mut feeds = Feeds::default();
    let mut time = Time::new(h.clock());
    for step in 0..steps {
        let hive = KeptHive::read(&model).await;
        time.step(&mut random);
        if random.one_in(50) {
            time.leave_the_past();
            h.reopen().await;
        }
        let operation = Chooser::new(&model, h.clock(), &mut random, hive).await.operation(mix);
        let at = format!("seed {seed}, step {step}");
        compare(&model, &*h.store(), &operation, &mut pairs, &at).await;
        for unnamed in what_is_not_named() {
            compare(&model, &*h.store(), &unnamed, &mut pairs, &at).await;
        }
        let changes = match operation {
            Operation::Runs(RunOperation::Restore(_)) => Changes::Free,
            _ => Changes::Compared,
        };
        let told = feeds.agree(&*model, &*h.store(), &mut pairs, changes).await;
        if let Err(difference) = told {
            panic!("{at}: {difference}\n{operation:#?}");
        }
    }
    for operation in everything(&model).await {
        let at = format!("seed {seed}, the end");
        compare(&model, &*h.store(), &operation, &mut pairs, &at).await;
    }
}

/// What gets a number or an id without being in the answer is paired here: the repository that a
/// task registers, the run that carries a callback, the session of an agent that came back, notices.
/// Reading notices and questions applies what is due, in both stores at the same time.
fn what_is_not_named() -> [Operation; 6] {
    let start = || Start { limit: PageLimit::MAX, cursor: None };
    let runs = RunOperation::List(RunFilter::default(), start());
    let messages = HiveOperation::ListMessages(MessageFilter::default(), start());
    let questions = HiveOperation::ListQuestions(QuestionFilter::default(), start());
    [
        Operation::ListRepos(start()),
        Operation::Runs(runs),
        Operation::Hive(messages),
        Operation::Hive(questions),
        Operation::ListAgents(AgentFilter::default(), start()),
        Operation::ListSessions(SessionFilter::default(), start()),
    ]
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

    /// Often not at all, mostly a little forward, sometimes back; now and then so far forward that
    /// leases are over, seldom by a day.
    fn step(&mut self, random: &mut Random) {
        let far = i64::try_from(random.below(5_000)).unwrap();
        let ms = match random.below(150) {
            0 => REQUEST_KEY_MS + 1,
            1..=10 => random.pick(&JUMPS_MS),
            _ => 0,
        };
        let ms = i64::try_from(ms).unwrap() + random.pick(&[0, 0, 1, 1, far, -far]);
        self.clock.advance_ms(ms);
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
        Operation::Runs(RunOperation::List(RunFilter::default(), start())),
        Operation::Executors(ExecutorOperation::List(ExecutorFilter::default(), start())),
        Operation::Executors(ExecutorOperation::History(None, start())),
        Operation::Runs(RunOperation::ListTokens(start())),
        Operation::Fleets(FleetOperation::List(FleetFilter::default(), start())),
        Operation::Fleets(FleetOperation::Open),
        Operation::Hive(HiveOperation::ListApprovals(ApprovalFilter::default(), start())),
        Operation::Hive(HiveOperation::ListReceipts(start())),
        Operation::KvList("user".to_owned(), start()),
        Operation::KvList("repo".to_owned(), start()),
    ];
    let sessions = model.list_sessions(SessionFilter::default(), all()).await;
    for session in sessions.unwrap().items {
        let query = EventQuery { limit: PageLimit::MAX, ..EventQuery::default() };
        operations.push(Operation::Events(session.id.clone(), query));
        let fences = FleetOperation::Fences(session.id.clone(), start());
        operations.push(Operation::Fleets(fences));
        let runs = RunOperation::OfSession(session.id.clone());
        operations.push(Operation::Runs(runs));
        operations.push(Operation::Runs(RunOperation::Callbacks(session.id)));
    }
    let agents = model.list_agents(AgentFilter::default(), all()).await;
    for agent in agents.unwrap().items {
        operations.push(Operation::AgentSessions(agent.id, Order::Oldest, start()));
    }
    operations
}
