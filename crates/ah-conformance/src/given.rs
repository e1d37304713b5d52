//! What behaviours start from, and how they say what they saw.

use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Barrier};
use std::thread;

use ah_model::{
    Agent, AgentFilter, AgentId, AgentKindRef, AgentType, Beginning, Cursor, DraftFields, Event,
    EventQuery, ExecutorFilter, FeedCursor, FeedEntry, Labels, Lifecycle, NewAgent, NewEvent,
    NewRepo, NewSession, NewTask, Order, Origin, Page, PageLimit, PageRequest, RawJson, Renewal,
    RuntimeSpec, RuntimeType, Session, SessionDetails, SessionFilter, SessionId, SessionStatus,
    StatusChange, Vcs,
};
use ah_store::{Clock, Problem, Store, StoreError};

use crate::Harness;

pub(crate) fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

pub(crate) fn agent_id(text: &str) -> AgentId {
    text.parse().unwrap()
}

pub(crate) fn kind(text: &str) -> AgentKindRef {
    text.parse().unwrap()
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse("data", text, usize::MAX).unwrap()
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Labels(pairs.collect())
}

/// A clone at `path` of which nothing else is known.
pub(crate) fn repo(path: &str) -> NewRepo {
    NewRepo {
        vcs: Vcs::Git,
        root_path: Some(path.to_owned()),
        remote_url: None,
        default_branch: None,
    }
}

/// A repository that has no clone on this machine.
pub(crate) fn remote(url: &str) -> NewRepo {
    NewRepo { root_path: None, remote_url: Some(url.to_owned()), ..repo("") }
}

pub(crate) fn new_session(session: &str) -> NewSession {
    NewSession {
        id: Some(id(session)),
        ..NewSession::new(repo("/srv/harbor"), kind("claude-code"))
    }
}

pub(crate) fn origin(source: &str, external_id: &str) -> Option<Origin> {
    Some(Origin { source: source.to_owned(), external_id: external_id.to_owned() })
}

/// A session with a value in every field.
pub(crate) fn full_session(session: &str) -> NewSession {
    let text = |name: &str| Some(format!("{name} ☃"));
    NewSession {
        id: Some(id(session)),
        repo: repo("/r/full"),
        agent: kind("codex@1.2.3"),
        runtime: RuntimeSpec { kind: RuntimeType::Devcontainer, devcontainer_path: text("path") },
        workspace: None,
        title: text("title"),
        labels: labels(&[("a", ""), ("b", "ü=%_'\"")]),
        parent: None,
        origin: origin("claude", "x/y z"),
        details: SessionDetails {
            project_dir: text("project_dir"),
            hostname: text("hostname"),
            executor_session_id: text("executor_session_id"),
            executor_profile: text("executor_profile"),
            executor_type: text("executor_type"),
            inference_session_id: text("inference_session_id"),
            reset_message: text("reset_message"),
            multiplexer_kind: text("multiplexer_kind"),
            mux_session: text("mux_session"),
            mux_window: Some(i64::MAX),
            pane_left: text("pane_left"),
            pane_right: text("pane_right"),
            pid_agent: Some(-1),
            log_path: text("log_path"),
            workspace_path: text("workspace_path"),
        },
    }
}

/// A permanent agent whose id is its name and whose first session is that with `-1` behind it.
pub(crate) fn new_agent(name: &str) -> NewAgent {
    let session = new_session(&format!("{name}-1"));
    NewAgent { id: Some(agent_id(name)), ..NewAgent::new(name, session) }
}

/// An agent with a value in every field, spelled as no program of ours would.
pub(crate) fn full_agent(name: &str) -> NewAgent {
    NewAgent {
        id: Some(agent_id(&format!("{name}~id"))),
        name: name.to_owned(),
        agent_type: AgentType::User,
        descriptor: Some(json(
            r#"{"userId":"u ☃","connector":"\u0074elegram","channelId":"c","z":1.00,"a":"\u0000"}"#,
        )),
        permissions: json(r#"{"workspaceDir":"/w","allow":[],"network":false}"#),
        tokens: json(r#"{"provider":"p","model":"m","size":{"input":12345678901234567890}}"#),
        stats: json(r#"{"p":{"m":{"input":1e3}}}"#),
        metadata: json(r#"{"b":"\ud800","a":{}}"#),
        model: Some("model ☃".to_owned()),
        protected: false,
        origin: origin("daycare", &format!("{name}/x y")),
        session: full_session(&format!("{name}-1")),
    }
}

pub(crate) fn new_task(prompt: &str) -> NewTask {
    NewTask {
        prompt: prompt.to_owned(),
        agents: vec![kind("codex")],
        instances: 1,
        repo: repo("/srv/harbor"),
        runtime: RuntimeSpec::default(),
        workspace: None,
        branch: None,
        delivery: None,
        labels: Labels::default(),
        project_dir: None,
        execution: None,
    }
}

pub(crate) fn draft_fields(description: &str) -> DraftFields {
    DraftFields {
        description: description.to_owned(),
        repository: "/srv/harbor".to_owned(),
        branch: None,
        models: vec!["codex".to_owned()],
    }
}

pub(crate) fn note(data: &str) -> NewEvent {
    NewEvent { kind: "note".to_owned(), data: json(data), dedup_key: None, ts: None }
}

pub(crate) fn keyed(data: &str, key: &str) -> NewEvent {
    NewEvent { dedup_key: Some(key.to_owned()), ..note(data) }
}

/// The event that `new` becomes at `seq` when it is appended now.
pub(crate) fn kept(h: &dyn Harness, session: &str, seq: u64, new: &NewEvent) -> Event {
    Event {
        session_id: id(session),
        seq,
        ts: new.ts.unwrap_or(h.clock().now()),
        kind: new.kind.clone(),
        data: new.data.clone(),
        dedup_key: new.dedup_key.clone(),
    }
}

pub(crate) async fn create(h: &dyn Harness, session: &str) -> Session {
    h.store().create_session(new_session(session)).await.unwrap()
}

pub(crate) async fn create_agent(h: &dyn Harness, name: &str) -> Agent {
    h.store().create_agent(new_agent(name)).await.unwrap()
}

/// The agent as it is kept now.
pub(crate) async fn agent(h: &dyn Harness, name: &str) -> Agent {
    h.store().agent(agent_id(name)).await.unwrap()
}

pub(crate) async fn set_lifecycle(h: &dyn Harness, name: &str, to: Lifecycle) -> Agent {
    h.store().set_agent_lifecycle(agent_id(name), to).await.unwrap()
}

pub(crate) fn reset(message: &str) -> Beginning {
    Beginning::Reset { message: Some(message.to_owned()) }
}

/// A renewal whose session gets the id `session`.
pub(crate) fn renewal(how: Beginning, session: &str) -> Renewal {
    Renewal { session_id: Some(id(session)), ..Renewal::new(how) }
}

/// The agent goes on in the new session `session`.
pub(crate) async fn renew(h: &dyn Harness, name: &str, how: Beginning, session: &str) -> Session {
    h.store().renew_agent(agent_id(name), renewal(how, session)).await.unwrap()
}

/// Appends to the session the agent goes on in, and returns that session's id.
pub(crate) async fn tell(h: &dyn Harness, name: &str, event: NewEvent) -> SessionId {
    let appended = h.store().append_to_agent(agent_id(name), None, vec![event]).await;
    appended.unwrap().session_id
}

/// All sessions of an agent, oldest first.
pub(crate) async fn sessions_of(h: &dyn Harness, name: &str) -> Vec<Session> {
    let page = h.store().agent_sessions(agent_id(name), Order::Oldest, all()).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.items
}

/// Appends one event and returns its seq.
pub(crate) async fn append(h: &dyn Harness, session: &str, event: NewEvent) -> u64 {
    let appended = h.store().append_events(id(session), vec![event]).await;
    appended.unwrap().first_seq
}

/// The whole log.
pub(crate) async fn log(h: &dyn Harness, session: &str) -> Vec<Event> {
    let query = EventQuery { limit: PageLimit::MAX, ..EventQuery::default() };
    h.store().events(id(session), query).await.unwrap()
}

pub(crate) async fn set_status(h: &dyn Harness, session: &str, to: SessionStatus) -> Session {
    let exit = ah_model::Exit::default();
    let change = StatusChange { to, exit };
    h.store().set_session_status(id(session), change).await.unwrap()
}

/// The ids of the sessions that pass, in the order of the list.
pub(crate) async fn listed(h: &dyn Harness, filter: SessionFilter) -> Vec<String> {
    let page = h.store().list_sessions(filter, all()).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.items.iter().map(|s| s.id.to_string()).collect()
}

pub(crate) fn all() -> PageRequest {
    PageRequest { limit: PageLimit::MAX, cursor: None }
}

pub(crate) fn from_cursor(cursor: Cursor) -> PageRequest {
    PageRequest { cursor: Some(cursor), ..all() }
}

/// Every item of a list, read in pages of `size`; no page but the last is short.
pub(crate) async fn paged<T, F>(size: u32, mut list: impl FnMut(PageRequest) -> F) -> Vec<T>
where
    F: Future<Output = Result<Page<T>, StoreError>>,
{
    let limit = PageLimit::new(size).unwrap();
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let page = list(PageRequest { limit, cursor }).await.unwrap();
        let full = page.items.len() == limit.get();
        items.extend(page.items);
        match page.next_cursor {
            None => return items,
            // A cursor is text on its way to the caller and back.
            Some(next) => cursor = Some(next.to_string().parse().unwrap()),
        }
        assert!(full, "a page with a next one holds {size} items");
        assert!(items.len() < 1_000, "the pages do not end");
    }
}

/// What a refusal is for its caller: code, then kind and id, or the field, or the feature.
pub(crate) fn refusal<T: Debug>(result: Result<T, StoreError>) -> String {
    said(&Problem::from(&result.unwrap_err()))
}

pub(crate) fn said(problem: &Problem) -> String {
    let kind = problem.kind.map(|kind| kind.to_string());
    let feature = problem.feature.map(|feature| format!("{feature:?}"));
    let parts = [kind, problem.id.clone(), problem.field.clone(), feature];
    let parts = parts.into_iter().flatten();
    [problem.code.clone()].into_iter().chain(parts).collect::<Vec<_>>().join(" ")
}

/// Everything a store lists, to show that a refused call left nothing behind.
pub(crate) async fn everything(h: &dyn Harness) -> String {
    let store = h.store();
    // Reading these applies what is due, so they come before the feed.
    let mut parts = vec![
        format!("{:?}", store.list_messages(<_>::default(), all()).await.unwrap()),
        format!("{:?}", store.list_questions(<_>::default(), all()).await.unwrap()),
        format!("{:?}", store.list_approvals(<_>::default(), all()).await.unwrap()),
        format!("{:?}", store.list_receipts(all()).await.unwrap()),
    ];
    let sessions = store.list_sessions(SessionFilter::default(), all()).await.unwrap();
    parts.push(format!("{sessions:?}"));
    for session in sessions.items {
        parts.push(format!("{:?}", log(h, session.id.as_str()).await));
        parts.push(format!("{:?}", store.session_runs(session.id.clone()).await.unwrap()));
        let fences = store.list_fences(session.id.clone(), all()).await.unwrap();
        parts.push(format!("{fences:?}"));
        parts.push(format!("{:?}", store.callbacks(session.id).await.unwrap()));
    }
    parts.push(format!("{:?}", store.list_runs(<_>::default(), all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_fleets(<_>::default(), all()).await.unwrap()));
    parts.push(format!(
        "{:?}",
        store.list_executors(ExecutorFilter::default(), all()).await.unwrap()
    ));
    parts.push(format!("{:?}", store.executor_history(None, all()).await.unwrap()));
    for token in store.list_tokens(all()).await.unwrap().items {
        let credentials = store.credentials(token.id).await.unwrap();
        parts.push(format!("{:?} {}", credentials.token, credentials.hash));
    }
    parts.extend(feed(h).await.iter().map(|entry| format!("{entry:?}")));
    let agents = store.list_agents(AgentFilter::default(), all()).await.unwrap();
    parts.push(format!("{agents:?}"));
    parts.push(format!("{:?}", store.list_spendings(<_>::default(), all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_tasks(<_>::default(), all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_repos(all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_agent_kinds(all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_runtimes(all()).await.unwrap()));
    parts.push(format!("{:?}", store.list_drafts(all()).await.unwrap()));
    parts.push(format!("{:?}", store.kv_list("user".to_owned(), all()).await.unwrap()));
    if store.capabilities().workspaces {
        parts.push(format!("{:?}", store.list_workspaces(all()).await.unwrap()));
    }
    parts.join("\n")
}

/// Everything that happened so far, and its place in the feed.
pub(crate) async fn feed(h: &dyn Harness) -> Vec<FeedEntry> {
    feed_after(h, FeedCursor::default()).await
}

/// Everything that happened behind `after`.
pub(crate) async fn feed_after(h: &dyn Harness, after: FeedCursor) -> Vec<FeedEntry> {
    let mut entries: Vec<FeedEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(after, |last| last.cursor);
        let page = h.store().feed(after, PageLimit::MAX).await.unwrap();
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
        assert!(entries.len() < 100_000, "the feed does not end");
    }
}

/// Runs `work` on every thread at once and returns what each answered.
pub(crate) fn race<T: Send + 'static>(
    h: &dyn Harness,
    threads: u64,
    work: impl Fn(Arc<dyn Store>, u64) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let start = Arc::new(Barrier::new(usize::try_from(threads).unwrap()));
    let work = Arc::new(work);
    let spawn = |index| {
        let (store, start, work) = (h.store(), start.clone(), work.clone());
        thread::spawn(move || {
            start.wait();
            work(store, index)
        })
    };
    let running: Vec<_> = (0..threads).map(spawn).collect();
    running.into_iter().map(|thread| thread.join().unwrap()).collect()
}
