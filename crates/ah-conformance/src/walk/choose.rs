//! Chooses the next operation: from small pools, so that conflicts, duplicates, missing things and
//! bad values come up often.

mod agent;
mod executor;
mod fleet;
mod hive;
mod run;
mod search;

use ah_model::{
    Agent, AgentFilter, AgentKindRef, BatchId, Cursor, Day, Delivery, DraftFields, DraftId,
    EventQuery, ExecutorFilter, ExecutorId, Exit, ExportHeader, Fork, KvEntry, Labels, NewEvent,
    NewRepo, NewSession, NewTask, Order, Origin, PageLimit, RawJson, Run, RunFilter, RuntimeSpec,
    RuntimeType, Session, SessionFilter, SessionId, SessionStatus, SpendingFilter, StatusChange,
    Task, TaskFilter, Timestamp, Vcs,
};
use ah_store::{Agents, Clock, Drafts, Executors, Repos, Runs, SessionFork, Sessions, Tasks};

use self::fleet::KeptFleets;
pub(super) use self::hive::KeptHive;
pub(super) use self::run::JUMPS_MS;
use super::operation::{Operation, Start, Stored};
use crate::given::{all, json, kind, labels, remote, repo};
use crate::{ModelStore, Random, TestClock};

const IDS: [&str; 6] = ["s1", "s2", "s3", "S1", "s_", "a~b"];
const TEXTS: [&str; 8] = ["", "x", "Fix ☃", "100%_", "fix", "ÄÖ", "a'b\"c\\", "line\nline"];
const PAYLOADS: [&str; 11] = [
    "0",
    "null",
    "{}",
    "[]",
    r#""""#,
    "1.00",
    r#"{"usage":{"inputTokens":3,"output_tokens":1},"b":1,"a":2}"#,
    r#"{"usage":{"inputTokens":2,"reasoningTokens":5},"model":"m","costUsd":0.25}"#,
    r#"{"usage":{"cacheReadTokens":7},"model":"☃ x"}"#,
    r#""\ud800\u0000""#,
    "123456789012345678901234567890",
];
const METADATA: [&str; 4] = ["null", "{}", "0", r#"{"a":[1,"x"]}"#];

/// What a walk is mostly about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mix {
    Everything,
    Runs,
    Hive,
    Fleets,
    Search,
}

/// A random source with what the oracle holds, so that much of what is asked for exists.
pub(super) struct Chooser<'a> {
    random: &'a mut Random,
    now: Timestamp,
    sessions: Vec<Session>,
    agents: Vec<Agent>,
    repos: Vec<i64>,
    tasks: Vec<Task>,
    runs: Vec<Run>,
    executors: Vec<ExecutorId>,
    outboxes: Vec<executor::Kept>,
    drafts: Vec<DraftId>,
    hive: KeptHive,
    kept: KeptFleets,
}

impl<'a> Chooser<'a> {
    pub(super) async fn new(
        model: &ModelStore,
        clock: &TestClock,
        random: &'a mut Random,
        hive: KeptHive,
    ) -> Self {
        let sessions = model.list_sessions(SessionFilter::default(), all()).await;
        let sessions = sessions.unwrap().items;
        let runs = model.list_runs(RunFilter::default(), all()).await.unwrap().items;
        let executors = model.list_executors(ExecutorFilter::default(), all()).await.unwrap().items;
        let executors: Vec<_> = executors.into_iter().map(|executor| executor.id).collect();
        let outboxes = executor::outboxes(model).await;
        let mut repos = vec![-1, i64::MAX];
        repos.extend(model.list_repos(all()).await.unwrap().items.iter().map(|repo| repo.id));
        let drafts = model.list_drafts(all()).await.unwrap().items;
        let tasks = model.list_tasks(TaskFilter::default(), all()).await;
        let agents = model.list_agents(AgentFilter::default(), all()).await;
        Self {
            random,
            now: clock.now(),
            sessions,
            agents: agents.unwrap().items,
            repos,
            tasks: tasks.unwrap().items,
            runs,
            executors,
            outboxes,
            drafts: drafts.into_iter().map(|draft| draft.id).collect(),
            hive,
            kept: KeptFleets::read(model).await,
        }
    }

    /// Runs come up in every walk, and most else; in some, little else does.
    pub(super) fn operation(&mut self, mix: Mix) -> Operation {
        match (mix, self.random.below(20)) {
            (Mix::Everything, 0..=4) | (Mix::Runs, 0..=15) | (Mix::Hive, 0) => self.run_operation(),
            (Mix::Everything, 5 | 6) | (Mix::Hive, 1..=14) => self.hive_operation(),
            (Mix::Hive, 15..=17) => self.agent_operation(),
            (Mix::Everything, 7) | (Mix::Runs, 16) | (Mix::Fleets, 0..=16) => {
                self.fleet_operation()
            }
            (Mix::Fleets, 17 | 18) => self.run_operation(),
            (Mix::Search, 0..=14) => self.search_operation(),
            (Mix::Everything | Mix::Runs | Mix::Hive | Mix::Fleets | Mix::Search, _) => {
                self.other_operation()
            }
        }
    }

    /// One flat table, the frequent first.
    fn other_operation(&mut self) -> Operation {
        use Operation as Op;
        match self.random.below(76) {
            0..=6 => Op::AppendEvents(self.session_id(), self.events()),
            7..=10 => Op::CreateSession(Box::new(self.new_session())),
            11..=13 => Op::SetSessionStatus(self.session_id(), self.status_change()),
            14 | 15 => Op::ListSessions(self.session_filter(), self.start()),
            16 | 17 => Op::Events(self.session_id(), self.event_query()),
            18 => Op::RenameSession(self.session_id(), self.text()),
            19 => Op::PinSession(self.session_id(), self.random.one_in(2)),
            20 | 21 => Op::ForkSession(self.session_id(), self.fork()),
            22 | 23 => Op::DeleteSession(self.session_id()),
            24 | 25 => Op::RestoreSession(Box::new(self.header())),
            26 => Op::Session(self.session_id()),
            27 => Op::SessionOfOrigin(self.origin()),
            28 => Op::SessionIdsWithPrefix(
                self.random.pick(&["", "s", "S", "s_", "%", "a~b", "\0"]).to_owned(),
            ),
            29 => self.watch(),
            30 | 31 => Op::CreateTask(self.new_task()),
            32 => Op::Task(self.task_number()),
            33 => Op::ListTasks(self.task_filter(), self.start()),
            34 => Op::UpdateSession(self.session_id(), self.session_update()),
            35 | 36 => Op::SaveDraft(self.maybe_draft(), self.draft_fields()),
            37 => Op::Draft(self.draft_id()),
            38 => Op::ListDrafts(self.start()),
            39 => match self.random.one_in(2) {
                true => Op::DeleteDraft(self.draft_id()),
                false => Op::LaunchDraft(self.draft_id(), self.new_task()),
            },
            40 => Op::PutAgentKind(self.agent(), self.metadata()),
            41 => Op::PutRuntime(self.runtime(), self.metadata()),
            42 => Op::PutRepo(self.repo()),
            43 => match self.random.one_in(2) {
                true => Op::Repo(self.random.pick(&self.repos)),
                false => Op::RemoveRepo(self.random.pick(&self.repos)),
            },
            44 => Op::CreateWorkspace(self.text(), self.random.one_in(2).then(|| "e".to_owned())),
            45 => Op::KvGet(self.scope(), self.text()),
            46 | 47 => Op::KvSet(self.pair()),
            48 => Op::KvDelete(self.scope(), self.text()),
            49 | 50 => self.append_after(),
            51 | 52 => self.other_list(),
            _ => self.agent_operation(),
        }
    }

    fn other_list(&mut self) -> Operation {
        let start = self.start();
        match self.random.below(8) {
            0 => Operation::ListRepos(start),
            1 => Operation::ListAgentKinds(start),
            2 => Operation::ListRuntimes(start),
            3 => Operation::ListWorkspaces(start),
            4..=6 => Operation::ListSpendings(self.spending_filter(), start),
            _ => Operation::KvList(self.scope(), start),
        }
    }

    /// Small pages from the beginning; now and then a cursor, which fits only some lists.
    fn start(&mut self) -> Start {
        let limit = PageLimit::new(self.random.pick(&[1, 2, 3, 50])).unwrap();
        let cursor = match self.random.below(12) {
            0 => Some(Cursor::Number(0)),
            1 => Some(Cursor::Text("d2".to_owned())),
            2 => Some(Cursor::Activity { at: self.time(), id: self.random.pick(&IDS).to_owned() }),
            _ => None,
        };
        Start { limit, cursor }
    }

    fn session_id(&mut self) -> SessionId {
        if self.sessions.is_empty() || self.random.one_in(2) {
            return self.random.pick(&IDS).parse().unwrap();
        }
        self.random.pick(&self.sessions).id
    }

    /// Sometimes text that cannot be stored.
    fn text(&mut self) -> String {
        match self.random.below(20) {
            0 => "a\0b".to_owned(),
            1 => "x".repeat(4_097),
            _ => self.random.pick(&TEXTS).to_owned(),
        }
    }

    fn maybe_text(&mut self) -> Option<String> {
        self.random.one_in(3).then(|| self.text())
    }

    fn time(&mut self) -> Timestamp {
        let back = i64::try_from(self.random.below(6_000)).unwrap() - 2_000;
        self.now.minus_ms(back)
    }

    fn labels(&mut self) -> Labels {
        let pool = [
            labels(&[]),
            labels(&[("a", "1")]),
            labels(&[("a", "1"), ("b", "")]),
            labels(&[("a", "2"), ("☃", "%")]),
            labels(&[("model", "m")]),
        ];
        if self.random.one_in(30) {
            return labels(&[("a", "\0")]);
        }
        self.random.pick(&pool)
    }

    fn agent(&mut self) -> AgentKindRef {
        let mut agent = kind(self.random.pick(&["codex", "codex@1", "Codex", "claude"]));
        if self.random.one_in(30) {
            agent.version.clear();
        }
        agent
    }

    fn agents(&mut self) -> Vec<AgentKindRef> {
        let count = self.random.pick(&[0, 1, 1, 1, 2]);
        (0..count).map(|_| self.agent()).collect()
    }

    fn runtime(&mut self) -> RuntimeSpec {
        let pool = [RuntimeType::Local, RuntimeType::Devcontainer, RuntimeType::Disabled];
        let kind = self.random.pick(&pool);
        let has_path = kind == RuntimeType::Devcontainer && self.random.one_in(2);
        RuntimeSpec {
            kind,
            devcontainer_path: (has_path || self.random.one_in(30)).then(|| "/c".to_owned()),
        }
    }

    fn metadata(&mut self) -> Option<RawJson> {
        let text = self.random.pick(&METADATA);
        self.random.one_in(2).then(|| json(text))
    }

    fn repo(&mut self) -> NewRepo {
        let pool = [
            repo("/r/3"),
            repo("/r/1"),
            repo("/r/2"),
            remote("https://h/1"),
            remote("https://h/2"),
        ];
        let mut repo = self.random.pick(&pool);
        repo.vcs = self.random.pick(&[Vcs::Git, Vcs::Jj]);
        if self.random.one_in(4) {
            repo.remote_url = Some("https://h/1".to_owned());
        }
        repo.default_branch = self.maybe_text();
        repo
    }

    fn origin(&mut self) -> Origin {
        Origin {
            source: self.random.pick(&["claude", "codex"]).to_owned(),
            external_id: self.random.pick(&["1", "2", "3"]).to_owned(),
        }
    }

    fn workspace(&mut self) -> Option<String> {
        self.random.one_in(6).then(|| self.text())
    }

    fn new_session(&mut self) -> NewSession {
        let mut new = NewSession::new(self.repo(), self.agent());
        new.id = (!self.random.one_in(4)).then(|| self.random.pick(&IDS).parse().unwrap());
        new.runtime = self.runtime();
        new.workspace = self.workspace();
        new.title = self.maybe_text();
        new.labels = self.labels();
        new.parent = self.random.one_in(4).then(|| self.session_id());
        new.origin = self.random.one_in(4).then(|| self.origin());
        new.details.hostname = self.maybe_text();
        new.details.mux_window = self.random.one_in(3).then_some(0);
        new
    }

    fn status_change(&mut self) -> StatusChange {
        let has_exit = self.random.one_in(3);
        let exit = Exit {
            code: has_exit.then_some(0),
            signal: None,
            reason: has_exit.then(|| self.text()),
        };
        StatusChange { to: self.random.pick(&SessionStatus::ALL), exit }
    }

    fn session_filter(&mut self) -> SessionFilter {
        let mut filter = SessionFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(9) {
                0 => filter.statuses.push(self.random.pick(&SessionStatus::ALL)),
                1 => filter.repo_id = Some(self.random.pick(&self.repos)),
                2 => filter.agent = Some(self.agent().name),
                3 => filter.labels = self.labels(),
                4 => filter.since = Some(self.time()),
                5 => filter.until = Some(self.time()),
                6 => filter.title = Some(self.text()),
                7 => filter.forked_from = Some(self.session_id()),
                _ => filter.parent = Some(self.session_id()),
            }
        }
        filter
    }

    fn spending_filter(&mut self) -> SpendingFilter {
        let mut filter = SpendingFilter::default();
        match self.random.below(10) {
            0 => filter.since = Some(Day::of(self.time())),
            1 => filter.until = Some(Day::of(self.time())),
            2 => filter.session = Some(self.session_id()),
            3 => filter.repo_id = Some(self.random.pick(&self.repos)),
            4 => filter.agent = Some(self.agent().name),
            _ => {}
        }
        filter
    }

    fn fork(&mut self) -> SessionFork {
        let at_seq = self.random.below(4);
        SessionFork {
            at_seq: self.random.one_in(2).then_some(at_seq),
            id: self.random.one_in(2).then(|| self.session_id()),
            title: self.maybe_text(),
        }
    }

    /// What an export of a session here, or of one elsewhere, might say.
    fn header(&mut self) -> ExportHeader {
        let id = self.session_id();
        let known = self.sessions.iter().find(|session| session.id == id).cloned();
        let mut session = known.unwrap_or_else(|| {
            let elsewhere = Timestamp::from_unix_ms(1_000_000);
            let forked_from = self.random.one_in(3).then(|| self.fork_point());
            let created = Session::created(self.new_session(), id, 0, elsewhere);
            Session { forked_from, ..created }
        });
        if self.random.one_in(6) {
            session.last_seq = self.random.below(4);
        }
        if self.random.one_in(8) {
            session.created_at = self.time();
        }
        if self.random.one_in(3) {
            session.of_agent = Some(self.membership());
        }
        session.title = self.maybe_text();
        session.pinned = self.random.one_in(2);
        session.status = self.random.pick(&SessionStatus::ALL);
        session.last_activity_at = self.time();
        session.usage.input_tokens = self.random.below(9);
        let mut tasks = self.tasks.clone();
        tasks.retain(|task| task.session_id == session.id);
        for task in &mut tasks {
            task.status = session.status;
        }
        ExportHeader::new(session, tasks)
    }

    fn fork_point(&mut self) -> Fork {
        Fork { session_id: self.session_id(), at_seq: self.random.below(4) }
    }

    fn events(&mut self) -> Vec<NewEvent> {
        let count = self.random.pick(&[0, 1, 1, 1, 2, 3, 4]);
        (0..count).map(|_| self.event()).collect()
    }

    /// Mostly behind the newest event, sometimes anywhere.
    fn append_after(&mut self) -> Operation {
        let id = self.session_id();
        let known = self.sessions.iter().find(|session| session.id == id);
        let end = known.map_or(0, |session| session.last_seq);
        let after = match self.random.one_in(3) {
            true => self.random.pick(&[0, 1, 2, end + 1, u64::MAX]),
            false => end,
        };
        Operation::AppendEventsAfter(id, after, self.events())
    }

    fn event(&mut self) -> NewEvent {
        let key = self.random.pick(&["k1", "k2", "k3", "k4", ""]);
        let has_key = self.random.one_in(if key.is_empty() { 30 } else { 2 });
        NewEvent {
            kind: self.random.pick(&["a", "b", "A", "☃", "a", "b"]).to_owned(),
            data: json(self.random.pick(&PAYLOADS)),
            dedup_key: has_key.then(|| key.to_owned()),
            ts: self.random.one_in(3).then(|| self.time()),
        }
    }

    fn event_query(&mut self) -> EventQuery {
        let types = self.random.pick(&[vec![], vec![], vec!["a"], vec!["b", "☃"], vec!["x"]]);
        EventQuery {
            after: self.random.pick(&[0, 0, 1, 3, u64::MAX]),
            up_to: self.random.pick(&[None, None, Some(0), Some(2), Some(u64::MAX)]),
            types: types.into_iter().map(str::to_owned).collect(),
            order: self.random.pick(&[Order::Oldest, Order::Newest]),
            limit: PageLimit::new(self.random.pick(&[1, 2, 50])).unwrap(),
        }
    }

    fn watch(&mut self) -> Operation {
        let id = self.session_id();
        let after = self.random.below(3);
        let stored = self.sessions.iter().any(|s| s.id == id && s.last_seq > after);
        let stored = match stored {
            true => Stored::Something,
            false => Stored::Nothing,
        };
        Operation::WatchEvents(id, after, stored)
    }

    fn new_task(&mut self) -> NewTask {
        NewTask {
            prompt: self.text(),
            agents: self.agents(),
            instances: self.random.pick(&[1, 1, 1, 2, 2, 0]),
            repo: self.repo(),
            runtime: self.runtime(),
            workspace: self.workspace(),
            branch: self.maybe_text(),
            delivery: self.random.pick(&[None, Some(Delivery::Pr), Some(Delivery::Patch)]),
            labels: self.labels(),
            project_dir: self.maybe_text(),
            execution: None,
        }
    }

    fn task_number(&mut self) -> i64 {
        if self.tasks.is_empty() || self.random.one_in(4) {
            return -1;
        }
        self.random.pick(&self.tasks).id.unwrap()
    }

    fn task_filter(&mut self) -> TaskFilter {
        let batch: BatchId = match self.tasks.is_empty() {
            true => "b".parse().unwrap(),
            false => self.random.pick(&self.tasks).batch_id,
        };
        TaskFilter {
            batch_id: self.random.one_in(3).then_some(batch),
            session_id: self.random.one_in(3).then(|| self.session_id()),
        }
    }

    fn draft_id(&mut self) -> DraftId {
        if self.drafts.is_empty() || self.random.one_in(2) {
            return self.random.pick(&["d1", "d2", "D1"]).parse().unwrap();
        }
        self.random.pick(&self.drafts)
    }

    fn maybe_draft(&mut self) -> Option<DraftId> {
        (!self.random.one_in(3)).then(|| self.draft_id())
    }

    fn draft_fields(&mut self) -> DraftFields {
        DraftFields {
            description: self.text(),
            repository: self.text(),
            branch: self.maybe_text(),
            models: vec![self.random.pick(&["codex", "a@1", "a b"]).to_owned()],
        }
    }

    fn scope(&mut self) -> String {
        self.random.pick(&["user", "repo", "user", "repo", ""]).to_owned()
    }

    fn pair(&mut self) -> KvEntry {
        KvEntry { scope: self.scope(), key: self.text(), value: self.text() }
    }
}
