//! Runners: registered, alive, listed, gone. They are executors.

use ah_model::{
    Executor, ExecutorId, NewExecutor, Offer, PageLimit, PageRequest, RawJson, SessionFilter,
    SessionStatus, StatusChange, Timestamp,
};
use ah_store::{Store, StoreError};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::blueprint::Members;
use super::detail::{Answer, Detail};
use super::given::{Asked, Given, PathRunner, object, read_as};
use super::lease::newest_run;
use super::limits::{HEARTBEAT_SECONDS, POLL_SECONDS, STALE_MS};
use super::{blueprint, lease, stop_orders, words};
use crate::access::Access;
use crate::answer::ok;
use crate::auth::Caller;
use crate::state::ServerState;

#[derive(Deserialize)]
struct Registration {
    hostname: String,
    project_dir: String,
    executor_profile: String,
    #[serde(default, deserialize_with = "object")]
    executor: Option<Program>,
    tags: Option<Vec<String>>,
    require_matching_tags: Option<bool>,
    agents: Option<Vec<Members>>,
}

#[derive(Deserialize)]
struct Program {
    r#type: Option<String>,
    command: Option<String>,
}

impl Registration {
    /// Newer runners are told apart by their program as well.
    fn id(&self) -> Result<ExecutorId, Detail> {
        let mut parts =
            vec![self.hostname.as_str(), self.project_dir.as_str(), self.executor_profile.as_str()];
        parts.extend(self.executor.as_ref().and_then(|program| program.command.as_deref()));
        Ok(words::runner_id(&parts)?)
    }

    /// Whether it brings agents; one without a name or a command is refused.
    fn brings_agents(&self) -> Result<bool, Detail> {
        let agents = self.agents.as_deref().unwrap_or_default();
        for (agent, part) in agents.iter().flat_map(|it| [(it, "name"), (it, "command")]) {
            let text = agent.get(part).and_then(|part| part.read::<String>().ok());
            if text.is_none_or(|text| text.is_empty()) {
                let place = ["body", "agents", part];
                return Err(Detail::invalid(&place, "missing", "Field required"));
            }
        }
        Ok(!agents.is_empty())
    }

    fn into_offer(self) -> Offer {
        let program = self.executor.and_then(|program| program.r#type);
        Offer {
            hostname: Some(self.hostname),
            project_dir: Some(self.project_dir),
            executor_profile: Some(self.executor_profile),
            executor_type: Some(words::executor_type(program.as_deref()).to_owned()),
            tags: self.tags.unwrap_or_default(),
            require_matching_tags: self.require_matching_tags.unwrap_or_default(),
        }
    }
}

/// Registers a runner. One that is known is another process of the same runner: what its last one
/// had is not kept any more.
pub(super) async fn register(
    State(state): State<ServerState>,
    Given(details, _share): Given<RawJson>,
) -> Answer {
    let registration: Registration = read_as(&details)?;
    let id = registration.id()?;
    if registration.brings_agents()? {
        refuse_taken(&state, id.clone(), details.clone()).await?;
    }
    let executor = NewExecutor { id, offer: registration.into_offer(), details };
    let executor =
        state.call(|store| async move { store.register_executor(executor).await }).await?;
    Ok(ok(&json!({
        "runner_id": executor.id,
        "poll_endpoint": "/runner/runs",
        "poll_timeout_seconds": POLL_SECONDS,
        "heartbeat_interval_seconds": HEARTBEAT_SECONDS,
    }))?)
}

/// Refuses an agent of a name that somebody else has.
async fn refuse_taken(state: &ServerState, id: ExecutorId, details: RawJson) -> Result<(), Detail> {
    let now = state.options.clock.now();
    let taken =
        state.call(move |store| async move { blueprint::taken(&*store, &id, &details, now).await });
    let Some((name, owner)) = taken.await? else { return Ok(()) };
    Err(Detail::new(
        409,
        json!({
            "error": "agent_name_collision",
            "message": format!("Agent name '{name}' is already registered"),
            "agent_name": name,
            "existing_runner_id": owner,
        }),
    ))
}

/// A request of a runner that says nothing else.
#[derive(Deserialize)]
pub(super) struct RunnerId {
    pub(super) runner_id: String,
}

/// The runner that says to be `text`; a text that no runner can have is of none.
pub(super) fn runner(text: &str) -> Result<ExecutorId, Detail> {
    text.parse().map_err(|_| Detail::runner_not_registered())
}

pub(super) async fn heartbeat(
    State(state): State<ServerState>,
    Given(RunnerId { runner_id }, _share): Given<RunnerId>,
) -> Answer {
    let (runner, now) = (runner(&runner_id)?, state.options.clock.now());
    state.call(move |store| async move { lease::seen(&*store, runner, now).await }).await?;
    Ok(ok(&json!({ "ok": true }))?)
}

#[derive(Serialize)]
struct RunnerShape {
    runner_id: ExecutorId,
    registered_at: String,
    last_heartbeat: String,
    hostname: String,
    project_dir: String,
    executor_profile: String,
    executor: RawJson,
    tags: Vec<String>,
    require_matching_tags: bool,
    status: &'static str,
    seconds_since_heartbeat: f64,
}

impl RunnerShape {
    fn of(executor: Executor, now: Timestamp) -> Self {
        #[derive(Deserialize)]
        struct Said {
            executor: Option<RawJson>,
        }
        let said = executor.details.read::<Said>().ok().and_then(|said| said.executor);
        let silent_ms = now.unix_ms() - executor.seen_at.unix_ms();
        let Offer { hostname, project_dir, executor_profile, tags, .. } = executor.offer;
        Self {
            runner_id: executor.id,
            registered_at: words::time(executor.registered_at),
            last_heartbeat: words::time(executor.seen_at),
            hostname: hostname.unwrap_or_default(),
            project_dir: project_dir.unwrap_or_default(),
            executor_profile: executor_profile.unwrap_or_default(),
            executor: said.unwrap_or_else(RawJson::empty_object),
            tags,
            require_matching_tags: executor.offer.require_matching_tags,
            status: if silent_ms > STALE_MS { "stale" } else { "online" },
            // Exact for any span of time that a runner lives.
            seconds_since_heartbeat: silent_ms as f64 / 1_000.0,
        }
    }
}

#[derive(Serialize)]
struct Runners {
    runners: Vec<RunnerShape>,
}

pub(super) async fn list(State(state): State<ServerState>) -> Answer {
    let executors = state.call(|store| async move { blueprint::executors(&*store).await }).await?;
    let now = state.options.clock.now();
    let shape = |executor| RunnerShape::of(executor, now);
    Ok(ok(&Runners { runners: executors.into_iter().map(shape).collect() })?)
}

pub(super) async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    PathRunner(id): PathRunner,
    asked: Asked,
) -> Answer {
    let (message, initiated_by) = if asked.flag("self", false)? {
        let gone = state.call(|store| async move { part(&*store, id).await });
        gone.await.map_err(|failure| Detail::from(failure).or_runner_not_found())?;
        ("Runner deregistered", "self")
    } else {
        check_may_send_away(&caller)?;
        let silent_since = state.options.clock.now().minus_ms(STALE_MS);
        let asked = state.call(move |store| async move {
            let executor = store.ask_executor_to_go(id).await?;
            match executor.seen_at < silent_since {
                // Nobody is there to be told.
                true => part(&*store, executor.id).await,
                false => Ok(()),
            }
        });
        asked.await.map_err(|failure| Detail::from(failure).or_runner_not_found())?;
        ("Runner marked for deregistration", "external")
    };
    Ok(ok(&json!({ "ok": true, "message": message, "initiated_by": initiated_by }))?)
}

/// Lets only people send a runner away; it may leave by itself.
fn check_may_send_away(caller: &Caller) -> Result<(), Detail> {
    match caller {
        Caller::Token(token) if !Access::OPERATE.allows(token.role) => {
            let (needed, role) = (Access::OPERATE.words(), token.role);
            let text = format!(
                "this needs the role {needed}, the token's is {role}; a runner that leaves by \
                 itself says self=true"
            );
            Err(Detail::text(403, text))
        }
        Caller::Token(_) | Caller::Open => Ok(()),
    }
}

/// Forgets a runner: what it has is lost at once, and the sessions whose processes waited with it
/// for their next turn are over.
pub(super) async fn part(store: &dyn Store, id: ExecutorId) -> Result<(), StoreError> {
    store.executor(id.clone()).await?;
    let filter = SessionFilter { statuses: vec![SessionStatus::Idle], ..SessionFilter::default() };
    let mut waiting = Vec::new();
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let sessions = store.list_sessions(filter.clone(), page.clone()).await?;
        for session in sessions.items {
            let run = newest_run(store, &session.id).await?;
            if run.is_some_and(|run| run.executor_id.as_ref() == Some(&id)) {
                waiting.push(session.id);
            }
        }
        page.cursor = sessions.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    store.remove_executor(id.clone()).await?;
    for session in waiting {
        let change = StatusChange { to: SessionStatus::Succeeded, exit: ah_model::Exit::default() };
        match store.set_session_status(session, change).await {
            // It moved on meanwhile.
            Ok(_) | Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    stop_orders::drop_all(store, &id).await
}
