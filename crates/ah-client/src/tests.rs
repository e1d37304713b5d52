//! Every method is the request that `docs/design/0005-rest.md` says.

use std::collections::BTreeSet;
use std::time::Duration;

use ah_model::{
    AgentFilter, AgentImport, AgentKindRef, AgentUpdate, Beginning, DraftFields, Earnest,
    Enrolment, EventQuery, ExecutorChange, ExecutorFilter, ExecutorId, ExecutorStatus,
    ExportHeader, FeedCursor, Happened, KvEntry, Lease, Lifecycle, NewAgent, NewEvent, NewExecutor,
    NewMessage, NewRepo, NewRun, NewSession, NewTask, NewToken, Offer, Order, Origin, PageLimit,
    PageRequest, Party, RawJson, Relocation, Renewal, RepoMarks, RepoSighting, ReportItem, Reports,
    RequestKey, Run, RunClaim, RunEnd, RunFilter, RunKind, RunOutcome, RunStatus, RuntimeSpec,
    Session, SessionFilter, SessionStatus, SessionUpdate, StatusChange, TaskFilter, Timestamp,
    TokenRole, TokenSecret, Vcs,
};
use ah_store::{Kind, SessionFork, Store, StoreError, block_on};

use crate::test_server::{Answer, Received, TestServer};
use crate::{RestOptions, RestStore};

const MISSING: &str = r#"{"code":"not-found","kind":"key","id":"k"}"#;
const PAGE: &str = "limit=50";

/// Runs a method against a server that knows nothing, and gives the request it sent.
macro_rules! request {
    ($store:ident . $method:ident ( $($argument:expr),* )) => {{
        let server = TestServer::new(|_, _| Answer::problem(404, MISSING));
        let $store: &dyn Store = &server.store();
        let error = block_on($store.$method($($argument),*)).err().expect("nothing is found");
        assert!(matches!(error, StoreError::NotFound { kind: Kind::Key, .. }), "{error:?}");
        let sent = server.received().remove(0);
        (server.lines().remove(0).replace("/api/v1", ""), sent.body)
    }};
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn sends(request: (String, String), line: &str, body: &str) {
    assert_eq!(request, (text(line), text(body)));
}

/// As [`sends`], for a body that is a model value: its form is tested there.
fn sends_value(request: (String, String), line: &str, value: &impl serde::Serialize) {
    sends(request, line, &serde_json::to_string(value).unwrap());
}

fn origin() -> Origin {
    Origin { source: text("a&b"), external_id: text("1/2") }
}

fn kind() -> AgentKindRef {
    "codex@1".parse().unwrap()
}

fn repo() -> NewRepo {
    let (remote_url, default_branch) = (None, None);
    NewRepo { vcs: Vcs::Git, root_path: Some(text("/r")), remote_url, default_branch }
}

fn new_session() -> NewSession {
    NewSession::new(repo(), kind())
}

fn new_task() -> NewTask {
    let task = r#"{"prompt":"p","agents":[{"type":"codex","version":"1"}],
        "repo":{"vcs":"git","rootPath":"/r"}}"#;
    serde_json::from_str(task).unwrap()
}

fn event() -> NewEvent {
    NewEvent { kind: text("x"), data: RawJson::null(), dedup_key: None, ts: None }
}

const EVENT: &str = r#"{"type":"x","data":null}"#;

mod hive;

#[test]
fn kinds_runtimes_repos_and_workspaces() {
    let some = || Some(RawJson::empty_object());
    sends(
        request!(store.put_agent_kind(kind(), some())),
        "PUT /agents",
        r#"{"agent":{"type":"codex","version":"1"},"metadata":{}}"#,
    );
    sends(
        request!(store.put_agent_kind(kind(), None)),
        "PUT /agents",
        r#"{"agent":{"type":"codex","version":"1"}}"#,
    );
    let page = PageRequest::default;
    sends(request!(store.list_agent_kinds(page())), &format!("GET /agents?{PAGE}"), "");
    sends(
        request!(store.put_runtime(RuntimeSpec::default(), some())),
        "PUT /runtimes",
        r#"{"runtime":{"type":"local"},"metadata":{}}"#,
    );
    sends(request!(store.list_runtimes(page())), &format!("GET /runtimes?{PAGE}"), "");
    sends_value(request!(store.put_repo(repo())), "PUT /repos", &repo());
    sends(request!(store.repo(-7)), "GET /repos/-7", "");
    sends(request!(store.list_repos(page())), &format!("GET /repos?{PAGE}"), "");
    sends(request!(store.remove_repo(7)), "DELETE /repos/7", "");
    let sighting =
        RepoSighting { found: repo(), marks: RepoMarks::default(), gone: vec![text("/old")] };
    sends_value(request!(store.see_repo(sighting.clone())), "PUT /repo-sightings", &sighting);
    let like = request!(store.repos_like(text("git:1&2")));
    sends(like, "GET /repo-fingerprints?fingerprint=git%3A1%262", "");
    sends(request!(store.repo_at(text("/a b"))), "GET /repo-paths?path=%2Fa%20b", "");
    sends(request!(store.repo_paths(7)), "GET /repos/7/paths", "");
    let (from, to, host) = (text("/a"), text("/b"), Some(text("h")));
    let relocation = Relocation { from, to, host, earnest: Earnest::Plan };
    sends_value(request!(store.relocate(relocation.clone())), "PUT /repo-relocations", &relocation);
    sends(
        request!(store.create_workspace(text("w"), Some(text("e")))),
        "POST /workspaces",
        r#"{"name":"w","externalId":"e"}"#,
    );
    let plain = request!(store.create_workspace(text("w"), None));
    sends(plain, "POST /workspaces", r#"{"name":"w"}"#);
    sends(request!(store.list_workspaces(page())), &format!("GET /workspaces?{PAGE}"), "");
}

#[test]
fn drafts_pairs_and_tasks() {
    let page = PageRequest::default;
    let id = || "d".parse().unwrap();
    let fields = || DraftFields {
        description: text("x"),
        repository: text("/r"),
        branch: None,
        models: vec![],
    };
    sends_value(request!(store.save_draft(None, fields())), "POST /drafts", &fields());
    sends_value(request!(store.save_draft(Some(id()), fields())), "PUT /drafts/d", &fields());
    sends(request!(store.draft(id())), "GET /drafts/d", "");
    sends(request!(store.list_drafts(page())), &format!("GET /drafts?{PAGE}"), "");
    sends(request!(store.delete_draft(id())), "DELETE /drafts/d", "");
    let launch = request!(store.launch_draft(id(), new_task()));
    sends_value(launch, "POST /drafts/d/launch", &new_task());

    let (scope, key) = (|| text("s s"), || text("k&/?"));
    let entry = || KvEntry { scope: scope(), key: key(), value: text("v") };
    let place = "/kv/entry?scope=s%20s&key=k%26%2F%3F";
    sends(request!(store.kv_get(scope(), key())), &format!("GET {place}"), "");
    sends_value(request!(store.kv_set(entry())), "PUT /kv/entry", &entry());
    sends(request!(store.kv_delete(scope(), key())), &format!("DELETE {place}"), "");
    sends(request!(store.kv_list(scope(), page())), &format!("GET /kv?scope=s%20s&{PAGE}"), "");

    sends_value(request!(store.create_task(new_task())), "POST /tasks", &new_task());
    sends(request!(store.task(7)), "GET /tasks/7", "");
    let filter = TaskFilter { batch_id: Some("b".parse().unwrap()), session_id: None };
    let line = format!("GET /tasks?batchId=b&{PAGE}");
    sends(request!(store.list_tasks(filter.clone(), page())), &line, "");
}

fn new_run() -> NewRun {
    NewRun::new("s".parse().unwrap(), RunKind::Start, RawJson::null())
}

fn run() -> Run {
    let session = Session::created(new_session(), "s".parse().unwrap(), 1, Timestamp::EPOCH);
    Run::queued(new_run(), "r".parse().unwrap(), &session, Timestamp::EPOCH)
}

fn claim() -> RunClaim {
    RunClaim { executor_id: executor_id(), offer: Offer::default(), lease_ms: 1_000, run_id: None }
}

fn executor_id() -> ExecutorId {
    "spiffe://harbor/x y?".replace(' ', "~").parse().unwrap()
}

const EXECUTOR: &str = "/executors/spiffe%3A%2F%2Fharbor%2Fx~y%3F";

#[test]
fn runs() {
    let session_id = || "s".parse().unwrap();
    sends_value(request!(store.create_run(new_run())), "POST /runs", &new_run());
    sends(request!(store.run("r".parse().unwrap())), "GET /runs/r", "");
    sends(request!(store.session_runs(session_id())), "GET /sessions/s/runs", "");
    let filter = RunFilter { statuses: vec![RunStatus::Pending], ..RunFilter::default() };
    let list = request!(store.list_runs(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /runs?status=pending&{PAGE}"), "");
    let stop = request!(store.stop_session(session_id()));
    sends(stop, "POST /sessions/s/stop?return=session", "");
    sends(request!(store.stop_run("r".parse().unwrap())), "POST /runs/r/stop", "");
    sends(request!(store.sweep_runs()), "POST /runs/sweep", "");
    sends(request!(store.callbacks(session_id())), "GET /sessions/s/callbacks", "");
    sends_value(request!(store.restore_run(run())), "PUT /run-imports/r", &run());
}

#[test]
fn runs_of_a_holder() {
    let lease = || Lease { run_id: "r".parse().unwrap(), epoch: 3 };
    sends_value(request!(store.claim_run(claim())), "POST /runs/claim", &claim());
    let renewed = request!(store.renew_run(lease(), 1_000));
    sends(renewed, "POST /runs/r/renew", r#"{"epoch":3,"leaseMs":1000}"#);
    sends(request!(store.start_run(lease())), "POST /runs/r/start", r#"{"epoch":3}"#);
    let update = SessionUpdate { hostname: Some(text("h")), ..SessionUpdate::default() };
    let bound = request!(store.bind_run(lease(), update.clone()));
    let session = serde_json::to_string(&update).unwrap();
    sends(bound, "POST /runs/r/bind", &format!(r#"{{"epoch":3,"session":{session}}}"#));
    let append = request!(store.append_to_run(lease(), vec![event()]));
    sends(append, "POST /runs/r/events", &format!(r#"{{"epoch":3,"events":[{EVENT}]}}"#));
    let end = RunEnd::new(RunOutcome::Completed);
    let finished = request!(store.finish_run(lease(), end.clone()));
    let end = serde_json::to_string(&end).unwrap();
    sends(finished, "POST /runs/r/finish", &format!(r#"{{"epoch":3,"end":{end}}}"#));
    let orders = request!(store.stop_orders(executor_id()));
    sends(orders, &format!("POST {EXECUTOR}/stop-orders"), "");
}

#[test]
fn executors() {
    let id = executor_id;
    let new = || NewExecutor { id: id(), offer: Offer::default(), details: RawJson::null() };
    sends_value(request!(store.register_executor(new())), &format!("PUT {EXECUTOR}"), &new());
    sends(request!(store.executor(id())), &format!("GET {EXECUTOR}"), "");
    let list = request!(store.list_executors(ExecutorFilter::default(), PageRequest::default()));
    sends(list, &format!("GET /executors?{PAGE}"), "");
    sends(request!(store.executor_seen(id())), &format!("POST {EXECUTOR}/seen"), "");
    sends(request!(store.ask_executor_to_go(id())), &format!("POST {EXECUTOR}/removal"), "");
    sends(request!(store.remove_executor(id())), &format!("DELETE {EXECUTOR}"), "");
}

#[test]
fn what_executors_are_and_do() {
    let id = executor_id;
    let new = || Enrolment {
        id: id(),
        identity_provider: "files".to_owned(),
        identity: RawJson::null(),
        offer: Offer::default(),
        details: RawJson::null(),
        machine: None,
        capacity: Some(2),
    };
    let enrolled = request!(store.enrol_executor(new()));
    sends_value(enrolled, &format!("PUT {EXECUTOR}/enrolment"), &new());
    let by = Some("ann".to_owned());
    let drained = ExecutorChange::to(ExecutorStatus::Draining);
    let changed = request!(store.change_executor(id(), drained, by));
    let body = r#"{"change":{"status":"draining"},"by":"ann"}"#;
    sends(changed, &format!("POST {EXECUTOR}/changes"), body);
    let noted = request!(store.note_executor(id(), "drift".to_owned(), RawJson::null()));
    sends(noted, &format!("POST {EXECUTOR}/events"), r#"{"kind":"drift","data":null}"#);
    let page = PageRequest::default;
    let all = request!(store.executor_history(None, page()));
    sends(all, &format!("GET /executor-events?{PAGE}"), "");
    let one = request!(store.executor_history(Some("e".parse().unwrap()), page()));
    sends(one, &format!("GET /executor-events?{PAGE}&executorId=e"), "");
    let lease = Lease { run_id: "r".parse().unwrap(), epoch: 3 };
    let renewed = request!(store.renew_runs(id(), vec![lease], 1_000));
    let body = r#"{"leases":[{"runId":"r","epoch":3}],"leaseMs":1000}"#;
    sends(renewed, &format!("POST {EXECUTOR}/renewals"), body);
    let reports = || Reports {
        executor_id: id(),
        outbox_id: "o".parse().unwrap(),
        items: vec![ReportItem {
            seq: 1,
            run_id: "r".parse().unwrap(),
            epoch: 3,
            session_id: "s".parse().unwrap(),
            dedup_key: "k".to_owned(),
            at: Timestamp::EPOCH,
            what: Happened::Started {},
        }],
    };
    let taken = request!(store.take_reports(reports()));
    sends_value(taken, &format!("POST {EXECUTOR}/reports"), &reports());
    let through = request!(store.reported_through(id(), "o".parse().unwrap()));
    sends(through, &format!("GET {EXECUTOR}/reports?outboxId=o"), "");
}

#[test]
fn tokens() {
    let id = || "t".parse().unwrap();
    let new = || NewToken {
        id: id(),
        hash: TokenSecret::new(id(), [7; 32]).hash(),
        role: TokenRole::Viewer,
        agent: None,
        name: None,
        expires_at: None,
    };
    sends_value(request!(store.create_token(new())), "POST /tokens", &new());
    sends(request!(store.credentials(id())), "GET /tokens/t/credentials", "");
    let list = request!(store.list_tokens(PageRequest::default()));
    sends(list, &format!("GET /tokens?{PAGE}"), "");
    sends(request!(store.revoke_token(id())), "DELETE /tokens/t", "");
    sends(request!(store.token_used(id())), "POST /tokens/t/used", "");
}

#[test]
fn the_feed() {
    sends(request!(store.feed_end()), "GET /feed/end", "");
    let after = FeedCursor { event: 3, change: 4 };
    let page = request!(store.feed(after, PageLimit::MAX));
    sends(page, "GET /feed?after=3-4&limit=1000", "");
}

#[test]
fn a_claim_may_wait_longer_than_other_requests_may_take() {
    let server = TestServer::new(|_, _| {
        std::thread::sleep(Duration::from_millis(300));
        Answer::json(r#"{"run":null}"#)
    });
    let options = RestOptions { timeout: Duration::from_millis(100), ..server.options() };
    let store = RestStore::connect(options).unwrap();
    let claimed = store.claim_run_within(&claim(), Duration::from_secs(5)).unwrap();
    assert_eq!((claimed, server.lines()), (None, vec![text("POST /api/v1/runs/claim?wait=5")]));
}

#[test]
fn what_is_done_once_carries_its_key_and_nothing_else_does() {
    let server = TestServer::new(|_, _| Answer::problem(404, MISSING));
    let key = RequestKey::new("k-1", [&b"x"[..]]).unwrap();
    let keyed = server.store().keyed(key);
    let id = || "s".parse().unwrap();
    let _ = block_on(keyed.create_run(new_run()));
    let _ = block_on(keyed.append_events(id(), vec![event()]));
    let _ = block_on(keyed.stop_session(id()));
    let message = NewMessage::new(Party::Operator, Party::Operator, "b");
    let _ = block_on(keyed.send_message(message));
    let _ = block_on(keyed.revive_agent("a".parse().unwrap()));
    let _ = block_on(keyed.rename_session(id(), text("t")));
    let _ = block_on(keyed.session(id()));
    let has_key = |request: &Received| {
        request.headers.iter().any(|line| line.eq_ignore_ascii_case("idempotency-key: k-1"))
    };
    let keys: Vec<bool> = server.received().iter().map(has_key).collect();
    assert_eq!(keys, [true, true, true, true, true, false, false]);
}

#[test]
fn any_key_is_sent_each_as_another() {
    let long = "x".repeat(256);
    let keys = ["k", "a b", "a\nb", "ü", " k", "k ", &long, "sha256:x", "x\t"];
    let server = TestServer::new(|_, _| Answer::problem(404, MISSING));
    let store = server.store();
    for key in keys {
        let key = RequestKey { key: text(key), fingerprint: text("f") };
        let _ = block_on(store.keyed(key).create_run(new_run()));
    }
    let header = |request: &Received| {
        let mut lines = request.headers.iter();
        lines.find_map(|line| line.strip_prefix("idempotency-key: ").map(str::to_owned)).unwrap()
    };
    let sent: Vec<String> = server.received().iter().map(header).collect();
    assert_eq!(sent[..2], ["k", "a b"]);
    let others: BTreeSet<_> = sent[2..].iter().collect();
    assert_eq!(others.len(), keys.len() - 2);
    assert!(others.iter().all(|key| key.starts_with("sha256:") && key.len() == 71), "{sent:?}");
}

#[test]
fn sessions_and_events() {
    let id = || "s:1".parse().unwrap();
    let at = "/sessions/s%3A1";
    sends_value(request!(store.create_session(new_session())), "POST /sessions", &new_session());
    sends(request!(store.session(id())), &format!("GET {at}"), "");
    let filter = SessionFilter { statuses: vec![SessionStatus::Idle], ..SessionFilter::default() };
    let list = request!(store.list_sessions(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /sessions?status=idle&{PAGE}"), "");
    sends(request!(store.delete_session(id())), &format!("DELETE {at}"), "");
    let line = "GET /session-origins?source=a%26b&externalId=1%2F2";
    sends(request!(store.session_of_origin(origin())), line, "");
    let prefix = request!(store.session_ids_with_prefix(text("0 ")));
    sends(prefix, "GET /session-ids?prefix=0%20", "");
    let change: StatusChange = serde_json::from_str(r#"{"to":"running"}"#).unwrap();
    let status = request!(store.set_session_status(id(), change.clone()));
    sends_value(status, &format!("PUT {at}/status"), &change);
    let update = SessionUpdate { pid_agent: Some(7), ..SessionUpdate::default() };
    let updated = request!(store.update_session(id(), update.clone()));
    sends_value(updated, &format!("PATCH {at}"), &update);
    let title = request!(store.rename_session(id(), text("t")));
    sends(title, &format!("PUT {at}/title"), r#"{"title":"t"}"#);
    let pinned = request!(store.pin_session(id(), true));
    sends(pinned, &format!("PUT {at}/pinned"), r#"{"pinned":true}"#);
    let fork = SessionFork { at_seq: Some(3), ..SessionFork::default() };
    let forked = request!(store.fork_session(id(), fork.clone()));
    sends_value(forked, &format!("POST {at}/fork"), &fork);
    let session = Session::created(new_session(), id(), 1, Timestamp::EPOCH);
    let header = ExportHeader::new(session, vec![]);
    let restored = request!(store.restore_session(header.clone()));
    sends_value(restored, &format!("PUT {at}/export"), &header);

    let line = format!("POST {at}/events");
    let append = request!(store.append_events(id(), vec![event()]));
    sends(append, &line, &format!(r#"{{"events":[{EVENT}]}}"#));
    let append = request!(store.append_events_after(id(), 0, vec![event()]));
    sends(append, &line, &format!(r#"{{"events":[{EVENT}],"after":0}}"#));
    let events = request!(store.events(id(), EventQuery::default()));
    sends(events, &format!("GET {at}/events?after=0&order=oldest&{PAGE}"), "");
    sends(request!(store.watch_events(id(), 0)), &format!("GET {at}"), "");
}

#[test]
fn agents() {
    let id = || "a".parse().unwrap();
    let agent = || NewAgent { origin: Some(origin()), ..NewAgent::new("n", new_session()) };
    sends_value(request!(store.create_agent(agent())), "POST /agent-instances", &agent());
    sends(request!(store.agent(id())), "GET /agent-instances/a", "");
    let filter = AgentFilter { name: Some(text("n")), ..AgentFilter::default() };
    let list = request!(store.list_agents(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /agent-instances?name=n&{PAGE}"), "");
    let update = AgentUpdate { model: Some(text("m")), ..AgentUpdate::default() };
    let updated = request!(store.update_agent(id(), update.clone()));
    sends_value(updated, "PATCH /agent-instances/a", &update);
    sends(request!(store.agent_of_name(text("n"))), "GET /agent-names?name=n", "");
    let line = "GET /agent-origins?source=a%26b&externalId=1%2F2";
    sends(request!(store.agent_of_origin(origin())), line, "");
    sends(request!(store.agent_ids_with_prefix(text("0"))), "GET /agent-ids?prefix=0", "");
    let life = request!(store.set_agent_lifecycle(id(), Lifecycle::Dead));
    sends(life, "PUT /agent-instances/a/lifecycle", r#"{"lifecycle":"dead"}"#);
    let renewal = Renewal::new(Beginning::Reset { message: None });
    let renewed = request!(store.renew_agent(id(), renewal.clone()));
    sends_value(renewed, "POST /agent-instances/a/sessions", &renewal);

    let line = "POST /agent-instances/a/events";
    let append = request!(store.append_to_agent(id(), None, vec![event()]));
    sends(append, line, &format!(r#"{{"events":[{EVENT}]}}"#));
    let session = Some("s".parse().unwrap());
    let append = request!(store.append_to_agent(id(), session, vec![event()]));
    sends(append, line, &format!(r#"{{"events":[{EVENT}],"expectedSession":"s"}}"#));
    let sessions = request!(store.agent_sessions(id(), Order::Newest, PageRequest::default()));
    sends(sessions, &format!("GET /agent-instances/a/sessions?order=newest&{PAGE}"), "");
    let import = || AgentImport {
        agent: agent(),
        lifecycle: Lifecycle::Active,
        created_at: Timestamp::EPOCH,
        updated_at: Timestamp::EPOCH,
        sessions: vec![],
    };
    sends_value(request!(store.import_agent(import())), "POST /agent-imports", &import());
}

#[test]
fn what_no_store_takes_is_not_sent() {
    let server = TestServer::new(|_, _| Answer::HangUp);
    let store: &dyn Store = &server.store();
    let id = "s".parse().unwrap();
    let error = block_on(store.append_events(id, vec![])).unwrap_err();
    assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    assert_eq!(server.received(), []);
}

#[test]
fn nothing_is_found_only_when_the_server_says_so() {
    for (body, found) in [(r#"{"session":null,"agent":null,"links":{}}"#, true), ("{}", false)] {
        let server = TestServer::new(|_, _| Answer::json(body));
        let store: &dyn Store = &server.store();
        let session = block_on(store.session_of_origin(origin()));
        let agent = block_on(store.agent_of_name(text("n")));
        assert_eq!((session.is_ok(), agent.is_ok()), (found, found), "{body}");
        assert!(session.is_ok_and(|session| session.is_none()) == found);
        assert!(agent.is_ok_and(|agent| agent.is_none()) == found);
    }
}
