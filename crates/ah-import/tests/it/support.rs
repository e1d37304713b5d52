//! A store, folders to import, and everything that a store keeps as text.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_conformance::{Harness, ModelHarness, block_on};
use ah_import::{ImportError, ImportOptions, ImportReport, Progress, RecordCounts, import_daycare};
use ah_model::{
    Agent, AgentFilter, Event, EventQuery, Order, PageLimit, PageRequest, Session, Timestamp,
};
use ah_store::{Capabilities, Store};
use tempfile::TempDir;

/// 2026-02-16T00:00:00.000Z, which times are shown relative to.
pub(crate) const T0: i64 = 1_771_200_000_000;

/// The permissions of most fixtures.
const USUAL: &str = r#"{"workspaceDir":"/srv/demo","workingDir":"/srv/demo/desk","writeDirs":["/srv/demo/desk"],"readDirs":[],"network":true,"events":false}"#;

/// Payloads longer than this are shown by their length.
const SHOWN_BYTES_MAX: usize = 1_000;

pub(crate) fn store() -> Arc<dyn Store> {
    ModelHarness::new(Capabilities { workspaces: false }, 7).store()
}

pub(crate) fn options() -> ImportOptions {
    let now = Timestamp::from_unix_ms(T0 + 1_000_000);
    ImportOptions { dry_run: false, kind: "daycare".parse().unwrap(), now }
}

/// A data directory with a directory `agents` in it.
pub(crate) struct DataDir(TempDir);

impl DataDir {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("agents")).unwrap();
        Self(dir)
    }

    /// With copies of these folders of agents, by the beginning of their names.
    pub(crate) fn with_fixtures(cases: &[&str]) -> Self {
        let dir = Self::new();
        for case in cases {
            let from = fixture(case);
            let to = dir.agent(from.file_name().unwrap().to_str().unwrap());
            fs::create_dir(&to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
        dir
    }

    /// With one agent that has only a history.
    pub(crate) fn with_history(id: &str, history: impl AsRef<[u8]>) -> Self {
        let dir = Self::new();
        dir.write(id, "history.jsonl", history);
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder of an agent.
    pub(crate) fn agent(&self, id: &str) -> PathBuf {
        self.0.path().join("agents").join(id)
    }

    pub(crate) fn write(&self, id: &str, file: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.agent(id)).unwrap();
        fs::write(self.agent(id).join(file), bytes).unwrap();
    }

    pub(crate) fn append(&self, id: &str, bytes: impl AsRef<[u8]>) {
        let path = self.agent(id).join("history.jsonl");
        let mut history = fs::read(&path).unwrap();
        history.extend_from_slice(bytes.as_ref());
        fs::write(path, history).unwrap();
    }

    pub(crate) fn import(&self, store: &dyn Store) -> ImportReport {
        self.try_import(store).unwrap()
    }

    pub(crate) fn try_import(&self, store: &dyn Store) -> Result<ImportReport, ImportError> {
        self.import_with(store, &options())
    }

    pub(crate) fn dry_run(&self, store: &dyn Store) -> ImportReport {
        self.import_with(store, &ImportOptions { dry_run: true, ..options() }).unwrap()
    }

    pub(crate) fn import_with(
        &self,
        store: &dyn Store,
        options: &ImportOptions,
    ) -> Result<ImportReport, ImportError> {
        block_on(import_daycare(store, self.path(), options, &mut ignore))
    }
}

pub(crate) fn ignore(_: Progress<'_>) {}

/// The folder of the case whose name begins with `case`.
pub(crate) fn fixture(case: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/daycare");
    for set in ["agents", "poison/agents"] {
        for entry in fs::read_dir(fixtures.join(set)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_str().unwrap().starts_with(case) {
                return entry.path();
            }
        }
    }
    panic!("no fixture {case}");
}

/// The counts and remarks of a report, an agent after the other.
pub(crate) fn told(report: &ImportReport) -> String {
    let RecordCounts { markers, untimed, blank, .. } = report.records;
    let mut lines = vec![format!("markers {markers}, untimed {untimed}, blank {blank}")];
    for remark in &report.remarks {
        lines.push(format!("{}: {}", remark.file, remark.what));
    }
    for agent in &report.details {
        let outcome = format!("{:?}", agent.outcome).to_lowercase();
        let reason = agent.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(format!(
            "{} {outcome}{reason}; sessions {}, records {}, present {}, raw {}",
            agent.id, agent.sessions, agent.records, agent.present, agent.kept_raw
        ));
        for remark in &agent.remarks {
            let line = remark.line.map(|line| format!(":{line}")).unwrap_or_default();
            lines.push(format!("  {}{line}: {}", remark.file, remark.what));
        }
        if agent.more_remarks > 0 {
            lines.push(format!("  and {} more", agent.more_remarks));
        }
    }
    lines.join("\n")
}

/// Everything that a store keeps of its agents; paths below `dir` begin with `DIR`.
pub(crate) fn kept(store: &dyn Store, dir: &Path) -> String {
    let mut lines = Vec::new();
    for agent in agents(store) {
        show_agent(store, &agent, &mut lines);
    }
    let dir = dir.canonicalize().unwrap();
    lines.join("\n").replace(dir.to_str().unwrap(), "DIR").replace(USUAL, "USUAL")
}

fn show_agent(store: &dyn Store, agent: &Agent, lines: &mut Vec<String>) {
    let origin = agent.origin.as_ref().unwrap();
    lines.push(format!(
        "agent {} id {} from {} {}: {} {}{} {}..{}",
        agent.name,
        if agent.id.as_str() == origin.external_id { "same" } else { "minted" },
        origin.source,
        origin.external_id,
        agent.agent_type,
        agent.lifecycle,
        agent.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default(),
        shown(agent.created_at),
        shown(agent.updated_at),
    ));
    let values = [
        ("descriptor", &agent.descriptor),
        ("permissions", &agent.permissions),
        ("tokens", &agent.tokens),
        ("stats", &agent.stats),
        ("metadata", &agent.metadata),
    ];
    for (name, value) in values {
        if !["{}", "null"].contains(&value.as_str()) {
            lines.push(format!("  {name} {}", short(value.as_str())));
        }
    }
    for session in sessions(store, agent) {
        let active = agent.active_session_id.as_ref() == Some(&session.id);
        show_session(&session, active, lines);
        for event in events(store, &session) {
            let data = short(event.data.as_str());
            let line = format!("    {} {}@{} {data}", event.seq, event.kind, shown(event.ts));
            lines.push(line);
        }
    }
}

fn show_session(session: &Session, active: bool, lines: &mut Vec<String>) {
    let of_agent = session.of_agent.as_ref().unwrap();
    let mut line = format!(
        "  session {} {} {} {}{} in {}",
        of_agent.number,
        session.origin.as_ref().unwrap().external_id,
        of_agent.cause.as_str(),
        session.status,
        if active { " active" } else { "" },
        session.repo.root_path.as_ref().unwrap(),
    );
    if let Some(dir) = &session.details.project_dir {
        line.push_str(&format!(" at {dir}"));
    }
    line.push_str(&format!(" {}..", shown(session.created_at)));
    if let Some(ended_at) = session.ended_at {
        let reason = session.exit.reason.as_deref().unwrap_or_default();
        line.push_str(&format!("{} {reason}", shown(ended_at)));
    }
    if let Some(id) = &session.details.inference_session_id {
        line.push_str(&format!(" inference {id}"));
    }
    if let Some(message) = &session.details.reset_message {
        line.push_str(&format!(" message {}", short(&format!("{message:?}"))));
    }
    lines.push(line);
}

/// Milliseconds since [`T0`].
fn shown(time: Timestamp) -> i64 {
    time.unix_ms() - T0
}

fn short(text: &str) -> String {
    match text.len() {
        ..=SHOWN_BYTES_MAX => text.to_owned(),
        bytes => format!("({bytes} bytes)"),
    }
}

fn all() -> PageRequest {
    PageRequest { limit: PageLimit::MAX, cursor: None }
}

pub(crate) fn agents(store: &dyn Store) -> Vec<Agent> {
    block_on(store.list_agents(AgentFilter::default(), all())).unwrap().items
}

pub(crate) fn sessions(store: &dyn Store, agent: &Agent) -> Vec<Session> {
    block_on(store.agent_sessions(agent.id.clone(), Order::Oldest, all())).unwrap().items
}

pub(crate) fn events(store: &dyn Store, session: &Session) -> Vec<Event> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let query = EventQuery { after, limit: PageLimit::MAX, ..EventQuery::default() };
        let page = block_on(store.events(session.id.clone(), query)).unwrap();
        let Some(last) = page.last() else {
            return found;
        };
        after = last.seq;
        found.extend(page);
    }
}

/// Every event of every agent.
pub(crate) fn all_events(store: &dyn Store) -> Vec<Event> {
    let agents = agents(store);
    let sessions = agents.iter().flat_map(|agent| sessions(store, agent));
    sessions.flat_map(|session| events(store, &session)).collect()
}

/// Imports a fixture and compares what was told and what is kept. A dry run foretells it and writes
/// nothing, and a second run finds nothing new.
pub(crate) fn check(case: &str, expected: &str) {
    let dir = DataDir::with_fixtures(&[case]);
    let store = store();
    let foretold = dir.dry_run(&*store);
    assert_eq!(kept(&*store, dir.path()), "", "a dry run writes nothing");
    let report = dir.import(&*store);
    let found = format!("{}\n{}", told(&report), kept(&*store, dir.path()));
    assert_eq!(found, expected.trim_matches('\n'), "{found}");
    assert_eq!(ImportReport { dry_run: false, ..foretold }, report);
    check_unchanged(&dir, &*store);
}

/// Imports again and expects nothing new.
pub(crate) fn check_unchanged(dir: &DataDir, store: &dyn Store) {
    let before = (kept(store, dir.path()), revisions(store));
    let foretold = dir.dry_run(store);
    let report = dir.import(store);
    assert_eq!(
        report.agents.unchanged,
        report.agents.found - report.agents.skipped - report.agents.failed
    );
    assert_eq!((report.sessions, report.records.imported), (0, 0));
    assert_eq!((kept(store, dir.path()), revisions(store)), before);
    assert_eq!(ImportReport { dry_run: false, ..foretold }, report);
}

fn revisions(store: &dyn Store) -> Vec<u64> {
    agents(store).iter().map(|agent| agent.revision).collect()
}
