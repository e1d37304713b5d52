//! Runs: asked for, listed, shown.

use std::collections::HashMap;

use ah_model::{
    Demands, ExecutionMode, Labels, NewRun, NewSession, PageLimit, PageRequest, RawJson,
    RequestKey, Run, RunFilter, RunKind, RunStatus, Session, SessionId,
};
use ah_store::{Kind, Store, StoreError};
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::blueprint::{self, Blueprint};
use super::demands::{AskedDemands, Dialect, merged};
use super::detail::{Answer, Detail};
use super::given::{Asked, Given, PathRun, object, read_as};
use super::key::key;
use super::lease::newest_run;
use super::parts::{self, Pages};
use super::shape::{Extras, RunShape};
use super::{parameters, words};
use crate::answer::{created, ok};
use crate::auth::Caller;
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

/// The label that says who created a session.
pub(super) const CREATED_BY: &str = "created_by";

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RunType {
    StartSession,
    ResumeSession,
}

#[derive(Deserialize)]
struct AskedRun {
    r#type: RunType,
    parameters: Option<RawJson>,
    prompt: Option<String>,
    session_id: Option<String>,
    agent_name: Option<String>,
    project_dir: Option<String>,
    parent_session_id: Option<String>,
    execution_mode: Option<ExecutionMode>,
    #[serde(default, deserialize_with = "object")]
    additional_demands: Option<AskedDemands>,
    scope: Option<RawJson>,
    created_by: Option<String>,
}

/// A text that is there: an empty one is not, as in the original.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn session_id(field: &str, text: &str) -> Result<SessionId, Detail> {
    let read: Result<SessionId, _> = text.parse();
    read.map_err(|invalid| Detail::invalid(&["body", field], "value_error", invalid.reason))
}

/// A run that is asked for, as far as the request alone decides.
struct Wanted {
    kind: RunKind,
    dialect: Dialect,
    parameters: RawJson,
    session_id: Option<SessionId>,
    agent_name: Option<String>,
    project_dir: Option<String>,
    parent: Option<SessionId>,
    execution_mode: ExecutionMode,
    additional: Demands,
    scope: Option<RawJson>,
    created_by: Option<String>,
}

impl TryFrom<AskedRun> for Wanted {
    type Error = Detail;

    fn try_from(asked: AskedRun) -> Result<Self, Detail> {
        let (parameters, dialect) = match (asked.parameters, asked.prompt) {
            (Some(parameters), _) => (parameters, Dialect::Parameters),
            (None, Some(prompt)) => (RawJson::of(&json!({ "prompt": prompt }))?, Dialect::Prompt),
            (None, None) => return Err(Detail::misfit("missing field `parameters`")),
        };
        let objects = [("parameters", Some(&parameters)), ("scope", asked.scope.as_ref())];
        for (name, part) in objects {
            if part.is_some_and(|part| !part.as_str().starts_with('{')) {
                return Err(Detail::invalid(&["body", name], "dict_type", "not an object"));
            }
        }
        let kind = match asked.r#type {
            RunType::StartSession => RunKind::Start,
            RunType::ResumeSession => RunKind::Resume,
        };
        let named = said(asked.session_id).map(|id| session_id("session_id", &id)).transpose()?;
        if kind == RunKind::Resume && named.is_none() {
            return Err(Detail::text(400, "session_id is required for resume_session runs"));
        }
        let parent = said(asked.parent_session_id);
        let parent = parent.map(|id| session_id("parent_session_id", &id)).transpose()?;
        Ok(Self {
            kind,
            dialect,
            parameters,
            session_id: named,
            agent_name: said(asked.agent_name),
            project_dir: said(asked.project_dir),
            parent,
            execution_mode: asked.execution_mode.unwrap_or_default(),
            additional: asked.additional_demands.unwrap_or_default().into(),
            scope: asked.scope,
            created_by: said(asked.created_by),
        })
    }
}

pub(super) async fn create(
    State(state): State<ServerState>,
    caller: Caller,
    headers: HeaderMap,
    Given(body, _share): Given<RawJson, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    let wanted = Wanted::try_from(read_as::<AskedRun>(&body)?)?;
    let asked = Asker { by: caller.user(None), key: key(&caller, &headers, "runs", &body)? };
    let run = queue(&state, wanted, asked).await?;
    Ok(created(&json!({ "run_id": run.id, "session_id": run.session_id, "status": run.status }))?)
}

/// Who asks for a run, and the key of the request.
struct Asker {
    by: Option<String>,
    key: Option<RequestKey>,
}

/// Checks everything that can be wrong, and only then writes: the session and its run at once.
async fn queue(
    state: &ServerState,
    mut wanted: Wanted,
    Asker { by, key }: Asker,
) -> Result<Run, Detail> {
    let around = Around::read(state, &wanted).await?;
    let resumed = around.resumed.as_ref();
    let agent_name = match &wanted.agent_name {
        None => resumed.and_then(|session| words::agent_name(&session.agent)).map(str::to_owned),
        name => name.clone(),
    };
    let blueprint = around.blueprint.as_ref();
    if let Some(blueprint) = blueprint {
        parameters::check_agent(blueprint, wanted.kind)?;
    }
    parameters::check(&wanted.parameters, wanted.kind, agent_name.as_deref(), blueprint)?;
    let additional = std::mem::take(&mut wanted.additional);
    let (demands, timeout_ms) = merged(blueprint, resumed, additional, wanted.dialect);
    let run = NewRun { demands, timeout_ms, requested_by: by, ..wanted.into_run(around.scope)? };
    run.check()?;
    let told = Told { session: run.session_id.clone(), parent: run.parent_session_id.clone() };
    let queued = state.call(|store| async move {
        match key {
            Some(key) => store.keyed(key).create_run(run).await,
            None => store.create_run(run).await,
        }
    });
    let run = queued.await.map_err(|failure| told.refusal(failure))?;
    state.claims.queued(&run);
    Ok(run)
}

/// What the store knows that a run depends on.
struct Around {
    resumed: Option<Session>,
    blueprint: Option<Blueprint>,
    scope: Option<RawJson>,
}

impl Around {
    async fn read(state: &ServerState, wanted: &Wanted) -> Result<Self, Detail> {
        words::agent_kind(wanted.agent_name.as_deref())?;
        let resumed = match wanted.kind {
            RunKind::Resume => wanted.session_id.clone(),
            RunKind::Start => None,
        };
        let (agent_name, parent) = (wanted.agent_name.clone(), wanted.parent.clone());
        let read = state.call(|store| async move {
            let store = &*store;
            let resumed = match resumed {
                Some(id) => Some(store.session(id).await?),
                None => None,
            };
            let of_session = || resumed.as_ref().and_then(|it| words::agent_name(&it.agent));
            let blueprint = match agent_name.as_deref().or_else(of_session) {
                Some(name) => blueprint::find(store, name).await?,
                None => None,
            };
            let scope = match parent {
                Some(parent) => scope_of(store, &parent).await?,
                None => None,
            };
            Ok(Self { resumed, blueprint, scope })
        });
        Ok(read.await?)
    }
}

/// The scope that a child is given by its parent's last run.
async fn scope_of(store: &dyn Store, parent: &SessionId) -> Result<Option<RawJson>, StoreError> {
    let run = newest_run(store, parent).await?;
    Ok(run.and_then(|run| Extras::split(&run.parameters).1.scope))
}

/// The parent's scope with the child's own on top.
fn joined_scope(parent: Option<RawJson>, own: Option<RawJson>) -> Result<Option<RawJson>, Detail> {
    let (Some(parent), Some(own)) = (&parent, &own) else { return Ok(own.or(parent)) };
    let mut joined: blueprint::Members = parent.read().unwrap_or_default();
    joined.extend(own.read::<blueprint::Members>().unwrap_or_default());
    Ok(Some(RawJson::of(&joined)?))
}

impl Wanted {
    fn into_run(self, parents_scope: Option<RawJson>) -> Result<NewRun, Detail> {
        let id = match &self.session_id {
            Some(id) => id.clone(),
            None => words::fresh_id("ses_")?.parse()?,
        };
        let resume = self.kind == RunKind::Resume;
        let extras = Extras {
            scope: joined_scope(parents_scope, self.scope.clone())?,
            agent_name: self.agent_name.clone().filter(|_| resume),
            project_dir: self.project_dir.clone().filter(|_| resume),
        };
        let parameters = extras.joined(self.parameters.clone())?;
        let session = match self.kind {
            RunKind::Resume => None,
            RunKind::Start => Some(Box::new(self.session(id.clone())?)),
        };
        Ok(NewRun {
            id: Some(words::fresh_id("run_")?.parse()?),
            session,
            execution_mode: self.execution_mode,
            parent_session_id: self.parent,
            ..NewRun::new(id, self.kind, parameters)
        })
    }

    fn session(&self, id: SessionId) -> Result<NewSession, Detail> {
        let repo = words::repo(self.project_dir.as_deref());
        let agent = words::agent_kind(self.agent_name.as_deref())?;
        let created_by = self.created_by.clone();
        let labels = created_by.map(|name| (CREATED_BY.to_owned(), name)).into_iter().collect();
        let mut session = NewSession::new(repo, agent);
        session.id = Some(id);
        session.labels = Labels(labels);
        session.parent = self.parent.clone();
        session.details.project_dir = self.project_dir.clone();
        Ok(session)
    }
}

/// What a refusal of the store is about.
struct Told {
    session: SessionId,
    parent: Option<SessionId>,
}

impl Told {
    fn refusal(&self, failure: Failure) -> Detail {
        let problem = failure.problem();
        let about = |id: &SessionId| problem.id.as_deref() == Some(id.as_str());
        let taken = problem.reason.as_deref().is_some_and(|reason| reason.contains("exist"));
        match (problem.code.as_str(), problem.kind) {
            ("not-found", Some(Kind::Session)) if self.parent.as_ref().is_some_and(about) => {
                Detail::text(404, format!("Parent session '{}' not found", self.parent_text()))
            }
            ("conflict", Some(Kind::Session)) if taken => {
                Detail::text(409, format!("Session '{}' already exists", self.session))
            }
            _ => problem.into(),
        }
    }

    fn parent_text(&self) -> &str {
        self.parent.as_ref().map_or("", SessionId::as_str)
    }
}

pub(super) async fn show(State(state): State<ServerState>, PathRun(id): PathRun) -> Answer {
    let found = state.call(|store| async move {
        let run = store.run(id).await?;
        let session = store.session(run.session_id.clone()).await?;
        Ok(RunShape::of(run, &session))
    });
    Ok(ok(&found.await?)?)
}

pub(super) async fn list(State(state): State<ServerState>, asked: Asked) -> Answer {
    let status = asked.0.get("status").filter(|word| !word.is_empty());
    let known: Option<Vec<RunStatus>> = status.map(|word| word.parse().into_iter().collect());
    let none = known.as_ref().is_some_and(Vec::is_empty);
    let filter = RunFilter { statuses: known.unwrap_or_default(), ..RunFilter::default() };
    let page = PageRequest { limit: PageLimit::default(), cursor: None };
    let queue = Queue { state, filter, page: (!none).then_some(page) };
    Ok(parts::list("runs", queue).await?)
}

/// Every run, the newest first.
struct Queue {
    state: ServerState,
    filter: RunFilter,
    /// The next page; none after the last.
    page: Option<PageRequest>,
}

impl Pages for Queue {
    type Item = RunShape;

    async fn next(&mut self) -> Result<Option<Vec<RunShape>>, Failure> {
        let Some(page) = self.page.take() else { return Ok(None) };
        let (filter, wanted) = (self.filter.clone(), page.clone());
        let found = self.state.call(|store| async move {
            let found = store.list_runs(filter, wanted).await?;
            Ok((shapes(&*store, found.items).await?, found.next_cursor))
        });
        let (runs, cursor) = found.await?;
        self.page = cursor.map(|cursor| PageRequest { cursor: Some(cursor), ..page });
        Ok(Some(runs))
    }
}

/// Runs with what their sessions say; one whose session has gone meanwhile is passed over.
async fn shapes(store: &dyn Store, runs: Vec<Run>) -> Result<Vec<RunShape>, StoreError> {
    let mut sessions: HashMap<SessionId, Session> = HashMap::new();
    let mut shapes = Vec::with_capacity(runs.len());
    for run in runs {
        let id = run.session_id.clone();
        if !sessions.contains_key(&id) {
            match store.session(id.clone()).await {
                Ok(session) => drop(sessions.insert(id.clone(), session)),
                Err(StoreError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            }
        }
        shapes.extend(sessions.get(&id).map(|session| RunShape::of(run, session)));
    }
    Ok(shapes)
}
