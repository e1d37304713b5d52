//! Asks a store one operation and gives its answer as JSON.

mod executor;
mod fleet;
mod hive;
mod run;

use std::future::Future;

use ah_model::{
    Agent, AgentImport, Beginning, Event, ExportHeader, IndexState, NewAgent, NewSession, Order,
    Page, PageLimit, PageRequest, RawJson, Renewal, SearchQuery, SessionFilter, SpendingFilter,
    TaskFilter,
};
use ah_store::{Kind, Problem, SessionFork, Store, StoreError};
use serde_json::{Value, json};

use super::operation::{Operation, Start, Stored};
use super::pairs::{Names, Noun, cut_ids};

/// What the store answers, asked in the names it knows.
pub(super) async fn answer(store: &dyn Store, operation: &Operation, names: &Names<'_>) -> Value {
    match perform(store, operation.clone(), names).await {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "refused": refused(&Problem::from(&error)) }),
    }
}

/// What the caller acts on; words for people may differ.
fn refused(problem: &Problem) -> Value {
    let numbered = matches!(problem.kind, Some(Kind::Repo | Kind::Task));
    let id = problem.id.as_ref().map(|id| match numbered {
        true => json!(id.parse::<i64>().unwrap()),
        false => json!(id),
    });
    json!({
        "code": problem.code,
        "kind": problem.kind,
        "id": id,
        "field": problem.field,
        "feature": problem.feature,
    })
}

/// One flat table: an operation, its call.
async fn perform(
    store: &dyn Store,
    operation: Operation,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    use Operation as Op;
    let number = |noun, id| names.number(noun, id);
    Ok(match operation {
        Op::PutAgentKind(kind, metadata) => json!(store.put_agent_kind(kind, metadata).await?),
        Op::ListAgentKinds(start) => {
            pages(start, |page| store.list_agent_kinds(page), |kind| json!(kind)).await?
        }
        Op::PutRuntime(spec, metadata) => json!(store.put_runtime(spec, metadata).await?),
        Op::ListRuntimes(start) => {
            pages(start, |page| store.list_runtimes(page), |runtime| json!(runtime)).await?
        }
        Op::PutRepo(repo) => json!(store.put_repo(repo).await?),
        Op::Repo(id) => json!(store.repo(number(Noun::Repo, id)).await?),
        Op::ListRepos(start) => {
            pages(start, |page| store.list_repos(page), |repo| json!(repo)).await?
        }
        Op::RemoveRepo(id) => json!(store.remove_repo(number(Noun::Repo, id)).await?),
        Op::CreateWorkspace(name, external_id) => {
            json!(store.create_workspace(name, external_id).await?)
        }
        Op::ListWorkspaces(start) => {
            pages(start, |page| store.list_workspaces(page), |space| json!(space)).await?
        }
        Op::CreateSession(new) => json!(store.create_session(session(*new, names)).await?),
        Op::Session(id) => json!(store.session(names.id(&id)).await?),
        Op::SessionOfOrigin(origin) => json!(store.session_of_origin(origin).await?),
        Op::SessionIdsWithPrefix(prefix) => json!(store.session_ids_with_prefix(prefix).await?),
        Op::ListSessions(filter, start) => {
            let filter = session_filter(filter, names);
            let list = |page| store.list_sessions(filter.clone(), page);
            pages(start, list, |session| json!(session)).await?
        }
        Op::SetSessionStatus(id, change) => {
            json!(store.set_session_status(names.id(&id), change).await?)
        }
        Op::RenameSession(id, title) => json!(store.rename_session(names.id(&id), title).await?),
        Op::PinSession(id, pinned) => json!(store.pin_session(names.id(&id), pinned).await?),
        Op::UpdateSession(id, update) => {
            json!(store.update_session(names.id(&id), update).await?)
        }
        Op::ForkSession(id, fork) => {
            let fork = SessionFork { id: fork.id.map(|id| names.id(&id)), ..fork };
            json!(store.fork_session(names.id(&id), fork).await?)
        }
        Op::DeleteSession(id) => json!(store.delete_session(names.id(&id)).await?),
        Op::RestoreSession(given) => json!(store.restore_session(header(*given, names)).await?),
        Op::AppendEvents(id, events) => json!(store.append_events(names.id(&id), events).await?),
        Op::AppendEventsAfter(id, after, events) => {
            json!(store.append_events_after(names.id(&id), after, events).await?)
        }
        Op::Events(id, query) => {
            let events = store.events(names.id(&id), query).await?;
            events.iter().map(event).collect()
        }
        Op::WatchEvents(id, after, stored) => {
            let mut watch = store.watch_events(names.id(&id), after).await?;
            match stored {
                Stored::Nothing => Value::Null,
                // How many come at once is the store's choice.
                Stored::Something => event(&watch.next().await?[0]),
            }
        }
        Op::CreateAgent(new) => agent(&store.create_agent(new_agent(*new, names)).await?),
        Op::Agent(id) => agent(&store.agent(names.id(&id)).await?),
        Op::AgentOfName(name) => {
            store.agent_of_name(name).await?.as_ref().map_or(Value::Null, agent)
        }
        Op::AgentOfOrigin(origin) => {
            store.agent_of_origin(origin).await?.as_ref().map_or(Value::Null, agent)
        }
        Op::AgentIdsWithPrefix(prefix) => json!(store.agent_ids_with_prefix(prefix).await?),
        Op::ListAgents(filter, start) => {
            pages(start, |page| store.list_agents(filter.clone(), page), agent).await?
        }
        Op::UpdateAgent(id, update) => agent(&store.update_agent(names.id(&id), update).await?),
        Op::SetAgentLifecycle(id, to) => {
            agent(&store.set_agent_lifecycle(names.id(&id), to).await?)
        }
        Op::RenewAgent(id, given) => {
            json!(store.renew_agent(names.id(&id), renewal(given, names)).await?)
        }
        Op::AppendToAgent(id, events) => {
            json!(store.append_to_agent(names.id(&id), None, events).await?)
        }
        Op::AgentSessions(id, order, start) => {
            let id = names.id(&id);
            let list = |page| store.agent_sessions(id.clone(), order, page);
            pages(start, list, |session| json!(session)).await?
        }
        Op::ImportAgent(given) => {
            let new = new_agent(given.agent, names);
            import_agent(store, AgentImport { agent: new, ..*given }).await?
        }
        Op::CreateTask(task) => json!(store.create_task(task).await?),
        Op::Task(id) => json!(store.task(number(Noun::Task, id)).await?),
        Op::ListTasks(filter, start) => {
            let filter = TaskFilter {
                batch_id: filter.batch_id.map(|id| names.id(&id)),
                session_id: filter.session_id.map(|id| names.id(&id)),
            };
            let list = |page| store.list_tasks(filter.clone(), page);
            pages(start, list, |task| json!(task)).await?
        }
        Op::ListSpendings(filter, start) => {
            let filter = SpendingFilter {
                session: filter.session.map(|id| names.id(&id)),
                repo_id: filter.repo_id.map(|id| number(Noun::Repo, id)),
                ..filter
            };
            let list = |page| store.list_spendings(filter.clone(), page);
            let listed = pages(start, list, |spending| json!(spending)).await?;
            json!({ "listed": listed, "sums": store.spending_sums(filter).await? })
        }
        Op::Runs(operation) => run::perform(store, operation, names).await?,
        Op::Executors(operation) => executor::perform(store, operation, names).await?,
        Op::Fleets(operation) => fleet::perform(store, operation, names).await?,
        Op::Hive(operation) => hive::perform(store, operation, names).await?,
        Op::SaveDraft(id, fields) => {
            json!(store.save_draft(id.map(|id| names.id(&id)), fields).await?)
        }
        Op::Draft(id) => json!(store.draft(names.id(&id)).await?),
        Op::ListDrafts(start) => {
            pages(start, |page| store.list_drafts(page), |draft| json!(draft)).await?
        }
        Op::DeleteDraft(id) => json!(store.delete_draft(names.id(&id)).await?),
        Op::LaunchDraft(id, task) => json!(store.launch_draft(names.id(&id), task).await?),
        Op::KvGet(scope, key) => json!(store.kv_get(scope, key).await?),
        Op::KvSet(entry) => json!(store.kv_set(entry).await?),
        Op::KvDelete(scope, key) => json!(store.kv_delete(scope, key).await?),
        Op::KvList(scope, start) => {
            let list = |page| store.kv_list(scope.clone(), page);
            pages(start, list, |entry| json!(entry)).await?
        }
        Op::Search(query, start) => search(store, *query, start, names).await?,
        Op::Keyed(key, operation) => {
            let view = store.keyed(key);
            Box::pin(perform(&*view, *operation, names)).await?
        }
    })
}

async fn search(
    store: &dyn Store,
    query: SearchQuery,
    start: Start,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    while store.update_search_index(PageLimit::MAX).await?.state != IndexState::Done {}
    let query = SearchQuery {
        session_id: query.session_id.map(|id| names.id(&id)),
        repo_id: query.repo_id.map(|id| names.number(Noun::Repo, id)),
        ..query
    };
    pages(start, |page| store.search(query.clone(), page), |hit| json!(hit)).await
}

/// Every page from `start` on, following the store's own cursors.
async fn pages<T, F>(
    start: Start,
    mut list: impl FnMut(PageRequest) -> F,
    show: impl Fn(&T) -> Value,
) -> Result<Value, StoreError>
where
    F: Future<Output = Result<Page<T>, StoreError>>,
{
    let Start { limit, mut cursor } = start;
    let mut pages = Vec::new();
    loop {
        let page = list(PageRequest { limit, cursor }).await?;
        pages.push(page.items.iter().map(&show).collect::<Value>());
        match page.next_cursor {
            None => return Ok(Value::Array(pages)),
            next => cursor = next,
        }
    }
}

/// An import mints ids of sessions without naming them: their list follows, so that they are
/// paired.
async fn import_agent(store: &dyn Store, import: AgentImport) -> Result<Value, StoreError> {
    let done = store.import_agent(import).await?;
    let start = Start { limit: PageLimit::MAX, cursor: None };
    let list = |page| store.agent_sessions(done.agent_id.clone(), Order::Oldest, page);
    let sessions = pages(start, list, |session| json!(session)).await?;
    Ok(json!({ "done": done, "sessions": sessions }))
}

/// The payload as text: as a value it would lose its spelling. That of a fence has ids in it.
pub(super) fn event(event: &Event) -> Value {
    json!({
        "sessionId": event.session_id,
        "seq": event.seq,
        "ts": event.ts,
        "type": event.kind,
        "data": cut_ids(event.data.as_str()),
        "dedupKey": event.dedup_key,
    })
}

/// Its values as text, as those of events.
fn agent(agent: &Agent) -> Value {
    let values =
        [&agent.descriptor, &agent.permissions, &agent.tokens, &agent.stats, &agent.metadata];
    let values: Vec<_> = values.into_iter().map(RawJson::as_str).collect();
    let rest = Agent {
        descriptor: RawJson::null(),
        permissions: RawJson::null(),
        tokens: RawJson::null(),
        stats: RawJson::null(),
        metadata: RawJson::null(),
        ..agent.clone()
    };
    json!({ "values": values, "rest": rest })
}

fn new_agent(new: NewAgent, names: &Names<'_>) -> NewAgent {
    NewAgent { id: new.id.map(|id| names.id(&id)), session: session(new.session, names), ..new }
}

fn renewal(given: Renewal, names: &Names<'_>) -> Renewal {
    let how = match given.how {
        Beginning::Fork { session, at_seq } => {
            Beginning::Fork { session: session.map(|id| names.id(&id)), at_seq }
        }
        how @ (Beginning::Reset { .. } | Beginning::Compaction { .. }) => how,
    };
    Renewal {
        how,
        session_id: given.session_id.map(|id| names.id(&id)),
        expected_session: given.expected_session.map(|id| names.id(&id)),
        ..given
    }
}

fn session(new: NewSession, names: &Names<'_>) -> NewSession {
    NewSession {
        id: new.id.map(|id| names.id(&id)),
        parent: new.parent.map(|id| names.id(&id)),
        ..new
    }
}

fn session_filter(filter: SessionFilter, names: &Names<'_>) -> SessionFilter {
    SessionFilter {
        repo_id: filter.repo_id.map(|id| names.number(Noun::Repo, id)),
        parent: filter.parent.map(|id| names.id(&id)),
        forked_from: filter.forked_from.map(|id| names.id(&id)),
        ..filter
    }
}

fn header(header: ExportHeader, names: &Names<'_>) -> ExportHeader {
    let mut session = header.session;
    session.id = names.id(&session.id);
    session.parent_session_id = session.parent_session_id.map(|id| names.id(&id));
    if let Some(fork) = &mut session.forked_from {
        fork.session_id = names.id(&fork.session_id);
    }
    if let Some(place) = &mut session.of_agent {
        place.id = names.id(&place.id);
    }
    let mut tasks = header.tasks;
    for task in &mut tasks {
        task.session_id = session.id.clone();
    }
    ExportHeader { session, tasks, ..header }
}
