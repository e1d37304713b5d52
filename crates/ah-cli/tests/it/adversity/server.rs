//! Servers that are killed again and again under load: what they acknowledged is there, no run has
//! two holders, and who worked through one goes on, at it or at another, without registering again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ah_client::{RestOptions, RestStore};
use ah_model::{
    EventQuery, ExecutionMode, NewEvent, NewExecutor, NewRepo, NewRun, NewSession, Offer,
    PageLimit, PageRequest, RawJson, RequestKey, Run, RunClaim, RunEnd, RunFilter, RunKind,
    RunOutcome, RunStatus, SessionId, Vcs,
};
use ah_store::{Store, StoreError, block_on};

use super::random::Random;
use crate::support::Home;

const KILLS: usize = 50;
const KILLS_OF_TWO: usize = 13;
const APPENDERS: usize = 2;
const RUNNERS: usize = 3;
/// Longer than the whole test: no lease runs out, so every run must be done by its first holder.
const LEASE_MS: u64 = 10 * 60 * 1_000;
/// A client that is cut off tries again this often.
const AGAIN: Duration = Duration::from_millis(10);
const DONE_WITHIN: Duration = Duration::from_secs(60);

/// An access point that can be killed and started again at the same address.
pub(super) struct Victim {
    pub(super) home: Home,
    /// The database, when it is not the home's own file.
    database: Option<String>,
    port: u16,
    child: Option<Child>,
}

impl Victim {
    pub(super) fn new(database: Option<&str>) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let database = database.map(str::to_owned);
        let mut victim = Self { home: Home::new(), database, port, child: None };
        victim.start();
        victim
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn start(&mut self) {
        let bind = format!("127.0.0.1:{}", self.port);
        let mut command = self.home.ah(&["agent", "access-point", "--no-auth", "--bind", &bind]);
        if let Some(url) = &self.database {
            command.args(["--database-url", url]);
        }
        self.child = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A schema of its own on the server that the tests use; gone with it.
pub(super) struct Database {
    server: String,
    schema: String,
    pub(super) url: String,
}

impl Database {
    /// Nothing when the tests are told to skip PostgreSQL.
    #[expect(clippy::disallowed_methods, reason = "tests are told where their server is")]
    pub(super) fn new(name: &str) -> Option<Self> {
        let server = std::env::var("AH_TEST_POSTGRES").unwrap_or_default();
        assert!(!server.is_empty(), "AH_TEST_POSTGRES is not set: run `cargo xtask test`");
        if server == "skip" {
            return None;
        }
        let schema = format!("{name}_{}", std::process::id());
        let separator = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{separator}options=-csearch_path%3D{schema}");
        let database = Self { server, schema, url };
        database.execute(&format!("CREATE SCHEMA {}", database.schema));
        Some(database)
    }

    fn execute(&self, sql: &str) {
        let mut client = postgres::Client::connect(&self.server, postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
    }
}

/// A client that does not give up, and goes to the next server when one does not answer. What it
/// sends twice has a key, or says the same twice.
pub(super) struct Client {
    urls: Vec<String>,
    pub(super) name: String,
    requests: AtomicU64,
}

impl Client {
    pub(super) fn new(urls: &[String], name: &str) -> Self {
        Self { urls: urls.to_vec(), name: name.to_owned(), requests: AtomicU64::new(0) }
    }

    /// Asks until there is an answer; a refusal is one.
    pub(super) fn ask<T>(
        &self,
        ask: impl Fn(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let key = RequestKey::new(format!("{}-{number}", self.name), []).unwrap();
        let first = usize::try_from(number).unwrap();
        for url in self.urls.iter().cycle().skip(first % self.urls.len()) {
            let timeout = Duration::from_secs(5);
            let options = RestOptions { timeout, ..RestOptions::new(url) };
            let done =
                RestStore::connect(options).and_then(|store| ask(&*store.keyed(key.clone())));
            match done {
                Err(StoreError::Unreachable { .. } | StoreError::Busy { .. }) => {
                    thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
        unreachable!("there is always a next server")
    }
}

fn session(id: &str) -> NewSession {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
    NewSession { id: Some(id.parse().unwrap()), ..NewSession::new(repo, "t".parse().unwrap()) }
}

fn event(kind: &str, text: &str) -> NewEvent {
    let data = RawJson::of(&text).unwrap();
    NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: None }
}

/// Everything that was acknowledged.
#[derive(Default)]
struct Ledger {
    appended: Mutex<Vec<(String, u64, String)>>,
    queued: Mutex<BTreeSet<String>>,
    /// By run, who claimed it with which epoch.
    claimed: Mutex<Vec<(String, u64)>>,
    finished: Mutex<BTreeSet<String>>,
    stopped: Mutex<BTreeSet<String>>,
    children: Mutex<BTreeSet<String>>,
}

impl Ledger {
    /// Whether enough was acknowledged to be worth a look.
    fn says_something(&self, least: usize) -> bool {
        self.appended.lock().unwrap().len() > least
            && self.queued.lock().unwrap().len() > least
            && self.children.lock().unwrap().len() > 2
            && !self.stopped.lock().unwrap().is_empty()
    }
}

#[derive(Clone)]
struct World {
    urls: Vec<String>,
    ledger: Arc<Ledger>,
    /// No more work is made.
    closing: Arc<AtomicBool>,
    /// Nobody works any more.
    over: Arc<AtomicBool>,
}

impl World {
    fn spawn(&self, name: String, work: fn(&Self, &Client)) -> JoinHandle<()> {
        let world = self.clone();
        thread::spawn(move || work(&world, &Client::new(&world.urls, &name)))
    }
}

fn append(world: &World, client: &Client) {
    let id: SessionId = format!("log-{}", client.name).parse().unwrap();
    client.ask(|store| block_on(store.create_session(session(id.as_str())))).unwrap();
    for number in 0.. {
        if world.closing.load(Ordering::Relaxed) {
            return;
        }
        let text = format!("{}-{number}", client.name);
        let events = vec![event("note", &text)];
        let done = client.ask(|store| block_on(store.append_events(id.clone(), events.clone())));
        let done = done.unwrap();
        world.ledger.appended.lock().unwrap().push((id.to_string(), done.first_seq, text));
    }
}

/// Queues runs with their sessions; every third is a child that calls back, every fourth is stopped.
fn queue(world: &World, client: &Client) {
    client.ask(|store| block_on(store.create_session(session("parent")))).unwrap();
    let first = NewRun::new("parent".parse().unwrap(), RunKind::Start, RawJson::null());
    let first = client.ask(|store| block_on(store.create_run(first.clone()))).unwrap();
    world.ledger.queued.lock().unwrap().insert(first.id.to_string());
    for number in 0.. {
        if world.closing.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("work-{number}");
        let mut new = NewRun::new(id.parse().unwrap(), RunKind::Start, RawJson::null());
        new.session = Some(Box::new(session(&id)));
        if number % 3 == 0 {
            new.execution_mode = ExecutionMode::AsyncCallback;
            new.parent_session_id = Some("parent".parse().unwrap());
        }
        let run = client.ask(|store| block_on(store.create_run(new.clone()))).unwrap();
        world.ledger.queued.lock().unwrap().insert(run.id.to_string());
        if number % 3 == 0 {
            world.ledger.children.lock().unwrap().insert(run.id.to_string());
        }
        if number % 4 == 1 {
            stop(world, client, &run);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn stop(world: &World, client: &Client, run: &Run) {
    // One that has just ended refuses; that is an answer too.
    match client.ask(|store| block_on(store.stop_run(run.id.clone()))) {
        Ok(_) => drop(world.ledger.stopped.lock().unwrap().insert(run.id.to_string())),
        Err(StoreError::Conflict { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// A runner: registers once, then takes and does runs until all is over.
fn work(world: &World, client: &Client) {
    let id = client.name.parse().unwrap();
    let me = NewExecutor { id, offer: Offer::default(), details: RawJson::null() };
    client.ask(|store| block_on(store.register_executor(me.clone()))).unwrap();
    while !world.over.load(Ordering::Relaxed) {
        let claim = RunClaim {
            executor_id: me.id.clone(),
            offer: Offer::default(),
            lease_ms: LEASE_MS,
            run_id: None,
        };
        match client.ask(|store| block_on(store.claim_run(claim.clone()))).unwrap() {
            Some(run) => execute(world, client, &run),
            None => thread::sleep(AGAIN),
        }
    }
}

fn execute(world: &World, client: &Client, run: &Run) {
    let lease = run.lease();
    let ledger = &world.ledger;
    ledger.claimed.lock().unwrap().push((run.id.to_string(), lease.epoch));
    client.ask(|store| block_on(store.start_run(lease.clone()))).unwrap();
    let events = vec![event("work", run.id.as_str())];
    client.ask(|store| block_on(store.append_to_run(lease.clone(), events.clone()))).unwrap();
    let renewed = client.ask(|store| block_on(store.renew_run(lease.clone(), LEASE_MS))).unwrap();
    let outcome = match renewed.status {
        RunStatus::Stopping => RunOutcome::Stopped,
        _ => RunOutcome::Completed,
    };
    let end = RunEnd::new(outcome);
    client.ask(|store| block_on(store.finish_run(lease.clone(), end.clone()))).unwrap();
    ledger.finished.lock().unwrap().insert(run.id.to_string());
}

fn all_runs(store: &dyn Store, statuses: Vec<RunStatus>) -> Vec<Run> {
    let filter = RunFilter { statuses, ..RunFilter::default() };
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut runs = Vec::new();
    loop {
        let page = block_on(store.list_runs(filter.clone(), request.clone())).unwrap();
        runs.extend(page.items);
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return runs,
        }
    }
}

fn events_of(store: &dyn Store, session: &str) -> Vec<(u64, String, String)> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let query = EventQuery { after, limit: PageLimit::MAX, ..EventQuery::default() };
        let page = block_on(store.events(session.parse().unwrap(), query)).unwrap();
        let Some(last) = page.last() else { return found };
        after = last.seq;
        let text = |json: &RawJson| serde_json::from_str(json.as_str()).unwrap();
        found.extend(page.iter().map(|event| (event.seq, event.kind.clone(), text(&event.data))));
    }
}

/// Puts `victims` under load, does `harm` to them, lets the work be finished, and looks. At least so
/// many appends and runs must have come through for that to say anything.
fn survive(victims: &mut [Victim], least: usize, harm: impl FnOnce(&mut [Victim])) {
    let urls: Vec<String> = victims.iter().map(Victim::url).collect();
    let world = World {
        urls: urls.clone(),
        ledger: Arc::default(),
        closing: Arc::default(),
        over: Arc::default(),
    };
    let mut makers: Vec<_> =
        (0..APPENDERS).map(|number| world.spawn(format!("a{number}"), append)).collect();
    makers.push(world.spawn("queue".to_owned(), queue));
    let runners: Vec<_> =
        (0..RUNNERS).map(|number| world.spawn(format!("r{number}"), work)).collect();
    harm(victims);
    let began = Instant::now();
    // A slow machine does less meanwhile: what is looked at below must have happened.
    while !world.ledger.says_something(least) {
        assert!(began.elapsed() < DONE_WITHIN, "too little came through");
        thread::sleep(AGAIN);
    }
    world.closing.store(true, Ordering::Relaxed);
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    let client = Client::new(&urls, "end");
    let began = Instant::now();
    let live =
        vec![RunStatus::Pending, RunStatus::Claimed, RunStatus::Running, RunStatus::Stopping];
    while client.ask(|store| Ok(!all_runs(store, live.clone()).is_empty())).unwrap() {
        assert!(began.elapsed() < DONE_WITHIN, "runs are left that nobody takes");
        thread::sleep(AGAIN);
    }
    world.over.store(true, Ordering::Relaxed);
    runners.into_iter().for_each(|runner| runner.join().unwrap());
    let check = |store: &dyn Store| {
        check_logs(store, &world.ledger, least);
        check_runs(store, &world.ledger, least);
        check_callbacks(store, &world.ledger);
        Ok(())
    };
    client.ask(check).unwrap();
}

#[test]
fn a_server_killed_fifty_times_loses_nothing_and_leases_nothing_twice() {
    let mut victims = [Victim::new(None)];
    survive(&mut victims, KILLS, |victims| {
        let mut random = Random::new(11);
        for _ in 0..KILLS {
            thread::sleep(Duration::from_millis(40 + random.next() % 260));
            victims[0].kill();
            victims[0].start();
        }
    });
    victims[0].kill();
    let check = victims[0].home.run(&["db", "check"]);
    assert!(check.status.success(), "{check:?}");
}

/// Two on one database: each is killed in turn, and the other goes on with all that was its; at the
/// end one is gone for good. A program that uses the database itself is at work all the time.
#[test]
fn of_two_access_points_on_one_database_either_may_die() {
    let Some(database) = Database::new("two_access_points") else { return };
    let mut victims = [Victim::new(Some(&database.url)), Victim::new(Some(&database.url))];
    let direct = Home::new();
    let url = ["--database-url", database.url.as_str()];
    survive(&mut victims, KILLS_OF_TWO, |victims| {
        let mut random = Random::new(12);
        for kill in 0..KILLS_OF_TWO {
            thread::sleep(Duration::from_millis(40 + random.next() % 260));
            let victim = &mut victims[kill % 2];
            victim.kill();
            if kill + 1 < KILLS_OF_TWO {
                victim.start();
            }
            direct.json(&[&["run", "list", "--limit", "5"], &url[..]].concat());
        }
    });
    let check = direct.run(&[&["db", "check"], &url[..]].concat());
    assert!(check.status.success(), "{check:?}");
}

/// Every acknowledged event is where it was said to be, and nothing is there twice.
fn check_logs(store: &dyn Store, ledger: &Ledger, least: usize) {
    let appended = ledger.appended.lock().unwrap();
    assert!(appended.len() > least, "only {} appends came through", appended.len());
    let mut logs: BTreeMap<&str, BTreeMap<u64, String>> = BTreeMap::new();
    for (session, seq, text) in &*appended {
        let log = logs.entry(session).or_insert_with(|| {
            events_of(store, session).into_iter().map(|(seq, _, text)| (seq, text)).collect()
        });
        assert_eq!(log.get(seq), Some(text), "acknowledged and lost");
    }
    for (session, log) in logs {
        let texts: BTreeSet<_> = log.values().collect();
        assert_eq!(texts.len(), log.len(), "session {session} has something twice");
    }
}

/// Every acknowledged run, claim, end and stop is there; each run was done once, by one holder.
fn check_runs(store: &dyn Store, ledger: &Ledger, least: usize) {
    let runs: BTreeMap<String, Run> =
        all_runs(store, Vec::new()).into_iter().map(|run| (run.id.to_string(), run)).collect();
    let queued = ledger.queued.lock().unwrap();
    assert!(queued.len() > least, "only {} runs came through", queued.len());
    for id in &*queued {
        assert!(runs.contains_key(id), "run {id} was acknowledged and lost");
    }
    let claimed = ledger.claimed.lock().unwrap();
    let once: BTreeSet<_> = claimed.iter().map(|(id, _)| id).collect();
    assert_eq!(once.len(), claimed.len(), "a run was given to two");
    for (id, epoch) in &*claimed {
        assert_eq!(runs[id].lease_epoch, *epoch, "run {id} has another holder");
    }
    for id in &*ledger.finished.lock().unwrap() {
        assert!(!runs[id].status.is_live(), "the end of run {id} was acknowledged and lost");
        let work = events_of(store, runs[id].session_id.as_str());
        let times = work.iter().filter(|(_, kind, text)| kind == "work" && text == id).count();
        assert_eq!(times, 1, "run {id} was done {times} times");
    }
    for id in &*ledger.stopped.lock().unwrap() {
        assert!(runs[id].stop_requested_at.is_some(), "the stop of run {id} was lost");
    }
    assert!(!ledger.stopped.lock().unwrap().is_empty(), "nothing was stopped");
}

/// Every child that ended has told its parent, once, and a run of the parent carries it.
fn check_callbacks(store: &dyn Store, ledger: &Ledger) {
    let told = block_on(store.callbacks("parent".parse().unwrap())).unwrap();
    let told: BTreeMap<_, _> =
        told.into_iter().map(|callback| (callback.run_id.to_string(), callback)).collect();
    let children = ledger.children.lock().unwrap();
    assert!(children.len() > 2, "only {} children", children.len());
    assert_eq!(told.keys().collect::<Vec<_>>(), children.iter().collect::<Vec<_>>());
    for (run, callback) in told {
        assert!(callback.delivered_by.is_some(), "the callback of run {run} waits for ever");
    }
}
