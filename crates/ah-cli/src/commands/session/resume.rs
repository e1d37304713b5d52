use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ah_model::{
    Demands, Exit as SessionExit, NewRun, NewSession, RawJson, Run, RunKind, RunParameters,
    Session, SessionDetails, SessionStatus, StatusChange, limits,
};
use ah_run::Local;
use ah_store::{ContextLimit, Store, StoreError, block_on, session_context};
use serde_json::json;

use crate::app::App;
use crate::commands::{local, waiting};
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::input::{ask_text, text_or_file};
use crate::whereabouts;

/// How much of a conversation another tool is told, at most.
const TOLD: ContextLimit = ContextLimit { records: 500, bytes: 1024 * 1024 };
/// How long who holds a run may take to end it before it is taken away.
const PATIENCE: Duration = Duration::from_secs(12);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// What the agent is told
    #[arg(value_name = "PROMPT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// Read the prompt from a file, or stdin for `-`
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Go on with this agent kind; another than before gets a session of its own, told what was said
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Run it in a process of its own that outlives this terminal
    #[arg(long)]
    detach: bool,
    /// End whoever works on the session first
    #[arg(long)]
    take_over: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let id = app.session_id(&*store, &args.id)?;
    let session = followed(app, &*store, block_on(store.session(id))?)?;
    let kind = args.agent.clone().unwrap_or_else(|| session.agent.name.clone());
    let local = local::machine(app, Arc::clone(&store))?;
    let is_other = kind != session.agent.name;
    match is_other {
        true => drop(local.check_kind(&kind)?),
        false => local.check_resume(&session, &kind)?,
    }
    let (text, file) = (args.prompt.as_deref(), args.prompt_file.as_deref());
    let prompt = match text_or_file("prompt", text, file, limits::PROMPT_BYTES_MAX)? {
        Some(prompt) => prompt,
        None => ask_text(app.asking(), "prompt", "PROMPT")?,
    };
    let run = match is_other {
        true => primed(&*store, &local, &session, &kind, &prompt)?,
        false => {
            if args.take_over {
                take_over(app, &store, &local, &session)?;
            }
            again(app, &*store, &local, &session, &prompt)?
        }
    };
    match args.detach {
        true => detached(app, &local, &run),
        false => foreground(app, &local, &run),
    }
}

/// The session; where its directory is gone, after a look whether its repository is here now.
fn followed(app: &App, store: &dyn Store, session: Session) -> Result<Session, CommandError> {
    if whereabouts::present_dir(store, &session).is_ok() {
        return Ok(session);
    }
    if let Ok(here) = app.repo() {
        app.settled(store, here)?;
    }
    Ok(block_on(store.session(session.id))?)
}

fn foreground(app: &App, local: &Local, run: &Run) -> Result<(), CommandError> {
    let done = local::foreground(app, local, &run.id)?;
    if app.output.is_json() {
        app.output.json(&done.run)?;
    }
    local::outcome(app, &done)
}

fn detached(app: &App, local: &Local, run: &Run) -> Result<(), CommandError> {
    let process = local::detach(app, local, &run.id)?;
    app.output.result(run, |run| run.id.to_string())?;
    let session = &run.session_id;
    app.output.talk(&format!(
        "session {session} runs in process {process}; `ah session attach {session}` follows it"
    ));
    Ok(())
}

fn here(local: &Local) -> Demands {
    let executor_id = Some(local.executor().clone());
    Demands { executor_id, hostname: hostname(), ..Demands::default() }
}

/// A run that goes on with the session; refused with who works on it.
fn again(
    app: &App,
    store: &dyn Store,
    local: &Local,
    session: &Session,
    prompt: &str,
) -> Result<Run, CommandError> {
    let told = RunParameters { prompt: prompt.to_owned(), ..RunParameters::default() };
    let parameters = RawJson::of(&told)?;
    let new = NewRun {
        demands: here(local),
        requested_by: app.user(),
        ..NewRun::new(session.id.clone(), RunKind::Resume, parameters)
    };
    match block_on(store.create_run(new)) {
        Err(error @ StoreError::Conflict { .. }) => Err(held(store, local, session, error)),
        other => Ok(other?),
    }
}

/// Says who works on the session, since when, and how to take over.
fn held(store: &dyn Store, local: &Local, session: &Session, error: StoreError) -> CommandError {
    let id = &session.id;
    let take_over = format!("`ah session resume {id} PROMPT --take-over` ends it and goes on");
    let Some(run) = local::live_run(store, id).ok().flatten() else {
        return match session.status {
            SessionStatus::Running => {
                let message =
                    format!("session {id} is at work outside of any run, as its hooks tell");
                CommandError::new(Exit::Conflict, message).hint(take_over)
            }
            _ => error.into(),
        };
    };
    let who = match &run.executor_id {
        Some(executor) => executor.to_string(),
        None => "nobody yet".to_owned(),
    };
    let process = local.folders().of(&run.id).worker_process();
    let process = process.map_or_else(String::new, |id| format!(", process {id} of this machine"));
    let since = run.claimed_at.unwrap_or(run.created_at);
    let message = format!(
        "session {id} is worked on: run {} is {}, held by {who}{process}, since {since}",
        run.id, run.status
    );
    CommandError::new(Exit::Conflict, message)
        .hint(format!("`ah session attach {id}` follows it"))
        .hint(take_over)
        .hint(format!("`ah run stop {}` only ends it", run.id))
}

/// Ends whoever works on the session: asked first, then fenced off, so that nothing it says later
/// counts.
fn take_over(
    app: &App,
    store: &Arc<dyn Store>,
    local: &Local,
    session: &Session,
) -> Result<(), CommandError> {
    let Some(run) = local::live_run(&**store, &session.id)? else {
        if session.status == SessionStatus::Running {
            let change = StatusChange { to: SessionStatus::Idle, exit: SessionExit::default() };
            block_on(store.set_session_status(session.id.clone(), change))?;
        }
        return Ok(());
    };
    app.output.talk(&format!("run {} is asked to end", run.id));
    block_on(store.stop_run(run.id.clone()))?;
    let look = || {
        let now = block_on(store.run(run.id.clone()))?;
        Ok(Some(now).filter(|now| !now.status.is_live()))
    };
    if waiting::until_changed(store, PATIENCE, look)?.is_some() {
        return Ok(());
    }
    app.output.talk(&format!("run {} does not end; it is taken away from its holder", run.id));
    if local.end_worker(&run.id) {
        return Ok(());
    }
    let now = block_on(store.run(run.id.clone()))?;
    if now.status.is_live() {
        block_on(store.lose_run(now.lease()))?;
    }
    Ok(())
}

/// A session of another tool, which is told what was said.
fn primed(
    store: &dyn Store,
    local: &Local,
    session: &Session,
    kind: &str,
    prompt: &str,
) -> Result<Run, CommandError> {
    let context = block_on(session_context(store, session.id.clone(), TOLD))?;
    let told = RunParameters {
        prompt: ah_run::primed(&context, &session.agent.name, prompt),
        agent: Some(kind.to_owned()),
        ..RunParameters::default()
    };
    let new = NewSession {
        title: session.title.clone(),
        labels: session.labels.clone(),
        parent: Some(session.id.clone()),
        details: SessionDetails {
            project_dir: session.details.project_dir.clone(),
            ..SessionDetails::default()
        },
        ..NewSession::new(session.repo.clone(), kind.parse()?)
    };
    let made = block_on(store.create_session(new))?;
    let note = ah_model::NewEvent {
        kind: "session_primed".to_owned(),
        data: RawJson::of(&json!({
            "sessionId": session.id,
            "agent": session.agent.name,
            "upToSeq": context.last_seq,
        }))?,
        dedup_key: Some(format!("primed/{}", session.id)),
        ts: None,
    };
    block_on(store.append_events(made.id.clone(), vec![note]))?;
    let run = NewRun {
        demands: here(local),
        ..NewRun::new(made.id, RunKind::Start, RawJson::of(&told)?)
    };
    Ok(block_on(store.create_run(run))?)
}
