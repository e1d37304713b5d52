//! Databases as the Agent Coordinator made them, of both ages, and all that a store keeps of them.

use std::fs;
use std::path::{Path, PathBuf};

use ah_conformance::block_on;
use ah_import::{
    CoordinatorReport, ImportError, ImportOptions, Progress, RecordCounts, import_coordinator,
};
use ah_model::{PageLimit, PageRequest, Run, Session, SessionFilter, Timestamp};
use ah_store::Store;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{events, ignore, options as daycare_options, store};

/// January 2026, as its document has it. Runs were in memory.
pub(crate) const SEED: &str = "
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    project_dir TEXT,
    agent_name TEXT,
    last_resumed_at TEXT,
    parent_session_id TEXT REFERENCES sessions(session_id) ON DELETE SET NULL,
    executor_session_id TEXT,
    executor_profile TEXT,
    hostname TEXT
);
CREATE INDEX idx_sessions_executor ON sessions(executor_session_id);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    tool_name TEXT,
    tool_input TEXT,
    tool_output TEXT,
    error TEXT,
    exit_code INTEGER,
    reason TEXT,
    role TEXT,
    content TEXT,
    FOREIGN KEY (session_id) REFERENCES sessions(session_id) ON DELETE CASCADE
);
CREATE INDEX idx_events_session ON events(session_id, timestamp DESC);
";

/// What was added by March 2026.
const SINCE: &str = "
ALTER TABLE events ADD COLUMN result_text TEXT;
ALTER TABLE events ADD COLUMN result_data TEXT;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    type TEXT NOT NULL,
    agent_name TEXT,
    parameters TEXT NOT NULL,
    project_dir TEXT,
    parent_session_id TEXT,
    execution_mode TEXT NOT NULL DEFAULT 'sync',
    demands TEXT,
    status TEXT NOT NULL DEFAULT 'pending',
    runner_id TEXT,
    error TEXT,
    created_at TEXT NOT NULL,
    claimed_at TEXT,
    started_at TEXT,
    completed_at TEXT,
    timeout_at TEXT,
    scope TEXT,
    resolved_agent_blueprint TEXT,
    FOREIGN KEY (session_id) REFERENCES sessions(session_id) ON DELETE CASCADE
);
";

/// The schema of March 2026.
pub(crate) fn head() -> String {
    format!("{SEED}{SINCE}")
}

/// A time of the fixtures as the program writes it: so many seconds past ten on a day in January.
pub(crate) fn at(seconds: u32) -> String {
    format!("2026-01-06T10:{:02}:{:02}.000000+00:00", seconds / 60, seconds % 60)
}

pub(crate) fn options() -> ImportOptions {
    ImportOptions { kind: "agent-coordinator".parse().unwrap(), ..daycare_options() }
}

/// A database of its own directory.
pub(crate) struct CoordinatorDb(TempDir);

impl CoordinatorDb {
    /// With what `statements` make of it.
    pub(crate) fn new(statements: &str) -> Self {
        let file = Self(tempfile::tempdir().unwrap());
        file.run(statements);
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("observability.db")
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    #[expect(clippy::disallowed_methods, reason = "stands for the Agent Coordinator")]
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Changes it as the Agent Coordinator would: with a journal, mostly without foreign keys.
    pub(crate) fn run(&self, statements: &str) {
        let connection = self.connect();
        connection.execute_batch("PRAGMA foreign_keys = OFF;").unwrap();
        connection.execute_batch(statements).unwrap();
        connection.close().unwrap();
    }

    pub(crate) fn import(&self, store: &dyn Store) -> CoordinatorReport {
        self.try_import(store).unwrap()
    }

    pub(crate) fn dry_run(&self, store: &dyn Store) -> CoordinatorReport {
        let options = ImportOptions { dry_run: true, ..options() };
        block_on(import_coordinator(store, &self.path(), &options, &mut ignore)).unwrap()
    }

    pub(crate) fn try_import(&self, store: &dyn Store) -> Result<CoordinatorReport, ImportError> {
        self.import_with(store, &mut ignore)
    }

    pub(crate) fn import_with(
        &self,
        store: &dyn Store,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<CoordinatorReport, ImportError> {
        block_on(import_coordinator(store, &self.path(), &options(), progress))
    }

    /// Imports and compares what was told and what is kept. A dry run foretells it and writes
    /// nothing, a second run finds nothing new, and no file changes.
    pub(crate) fn check(&self, expected: &str) {
        let before = self.files();
        let store = store();
        let foretold = self.dry_run(&*store);
        assert_eq!(kept(&*store), "", "a dry run writes nothing");
        let report = self.import(&*store);
        let found = format!("{}\n{}", told(&report), kept(&*store));
        assert_eq!(found, expected.trim_matches('\n'), "{found}");
        assert_eq!(CoordinatorReport { dry_run: false, ..foretold }, report);
        self.check_unchanged(&*store);
        assert_eq!(self.files(), before);
    }

    /// Imports again and expects nothing new.
    pub(crate) fn check_unchanged(&self, store: &dyn Store) {
        let before = kept(store);
        let foretold = self.dry_run(store);
        let report = self.import(store);
        assert_eq!(report.sessions.unchanged, report.sessions.found - report.sessions.failed);
        assert_eq!((report.records.imported, report.runs.imported), (0, 0));
        assert_eq!(kept(store), before);
        assert_eq!(CoordinatorReport { dry_run: false, ..foretold }, report);
    }

    /// The files beside each other, with their bytes.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.dir()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
        files.sort();
        files
    }
}

/// The counts and remarks of a report, a session after the other.
pub(crate) fn told(report: &CoordinatorReport) -> String {
    let RecordCounts { untimed, kept_raw, .. } = report.records;
    let runs = report.runs;
    let mut lines = vec![format!(
        "runs {} new, {} present; untimed {untimed}, raw {kept_raw}",
        runs.imported, runs.present
    )];
    for remark in &report.remarks {
        lines.push(format!("{}: {}", remark.file, remark.what));
    }
    for session in &report.details {
        let outcome = format!("{:?}", session.outcome).to_lowercase();
        let reason = session.reason.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        lines.push(format!(
            "{} {outcome}{reason}; runs {}, records {}, present {}, raw {}",
            session.id, session.runs, session.records, session.present, session.kept_raw
        ));
        for remark in &session.remarks {
            let line = remark.line.map(|line| format!(":{line}")).unwrap_or_default();
            lines.push(format!("  {}{line}: {}", remark.file, remark.what));
        }
    }
    lines.join("\n")
}

/// Every session that a store has, in the order of their origins.
pub(crate) fn sessions(store: &dyn Store) -> Vec<Session> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let request = PageRequest { limit: PageLimit::MAX, cursor };
        let page = block_on(store.list_sessions(SessionFilter::default(), request)).unwrap();
        found.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    found.sort_by_key(|session| session.origin.as_ref().map(|origin| origin.external_id.clone()));
    found
}

/// The session that was `id` there.
pub(crate) fn session(store: &dyn Store, id: &str) -> Session {
    let is = |session: &Session| session.origin.as_ref().is_some_and(|o| o.external_id == id);
    sessions(store).into_iter().find(is).unwrap()
}

/// Everything that a store keeps of its sessions.
pub(crate) fn kept(store: &dyn Store) -> String {
    let mut lines = Vec::new();
    for session in sessions(store) {
        show_session(&session, &mut lines);
        for event in events(store, &session) {
            let data = short(event.data.as_str());
            lines.push(format!("    {} {}@{} {data}", event.seq, event.kind, shown(event.ts)));
        }
        for run in block_on(store.session_runs(session.id.clone())).unwrap() {
            show_run(&run, &mut lines);
        }
    }
    lines.join("\n")
}

fn show_session(session: &Session, lines: &mut Vec<String>) {
    let origin = session.origin.as_ref().unwrap();
    assert_eq!(origin.source, "agent-coordinator");
    let id = if session.id.as_str() == origin.external_id { "same" } else { "minted" };
    let mut line = format!(
        "{} id {id} {} {} in {} {}..",
        origin.external_id,
        session.agent,
        session.status,
        session.repo.root_path.as_ref().or(session.repo.remote_url.as_ref()).unwrap(),
        shown(session.created_at),
    );
    if let Some(ended_at) = session.ended_at {
        line.push_str(&shown(ended_at));
    }
    line.push_str(&format!(
        " started {} active {}",
        shown(session.started_at),
        shown(session.last_activity_at)
    ));
    lines.push(line);
    let details = &session.details;
    let resumed = session.last_resumed_at.map(shown);
    let code = session.exit.code.map(|code| code.to_string());
    let parent = session.parent_session_id.as_ref().map(ToString::to_string);
    let parts = [
        ("parent", &parent),
        ("project", &details.project_dir),
        ("host", &details.hostname),
        ("profile", &details.executor_profile),
        ("type", &details.executor_type),
        ("executor", &details.executor_session_id),
        ("resumed", &resumed),
        ("code", &code),
        ("reason", &session.exit.reason),
    ];
    let parts =
        parts.iter().filter_map(|(name, value)| Some(format!("{name}={}", (*value).as_ref()?)));
    let labels = session.labels.0.iter().map(|(key, value)| format!("[{key}={value}]"));
    let parts: Vec<String> = parts.chain(labels).collect();
    if !parts.is_empty() {
        lines.push(format!("  {}", parts.join(" ")));
    }
}

fn show_run(run: &Run, lines: &mut Vec<String>) {
    let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), shown);
    let mut line = format!(
        "    {} {} {} {} {}/{}/{}/{} {}",
        run.id,
        run.kind.as_str(),
        run.status,
        run.execution_mode.as_str(),
        shown(run.created_at),
        time(run.claimed_at),
        time(run.started_at),
        time(run.ended_at),
        short(run.parameters.as_str()),
    );
    let demands = serde_json::to_string(&run.demands).unwrap();
    let timeout = run.timeout_ms.map(|ms| ms.to_string());
    let parts = [
        ("by", run.executor_id.as_ref().map(ToString::to_string)),
        ("parent", run.parent_session_id.as_ref().map(ToString::to_string)),
        ("demands", (demands != "{}").then_some(demands)),
        ("timeout", timeout),
        ("error", run.error.clone()),
    ];
    for (name, value) in parts {
        line.push_str(&value.map(|value| format!(" {name}={value}")).unwrap_or_default());
    }
    lines.push(line);
}

/// Seconds past ten on the day of the fixtures.
fn shown(time: Timestamp) -> String {
    let ten: Timestamp = "2026-01-06T10:00:00Z".parse().unwrap();
    format!("{}", (time.unix_ms() - ten.unix_ms()) as f64 / 1000.0)
}

fn short(text: &str) -> String {
    match text.len() {
        ..=1_000 => text.to_owned(),
        bytes => format!("({bytes} bytes)"),
    }
}
