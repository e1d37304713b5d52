use std::collections::BTreeMap;
use std::sync::Arc;

use ah_model::{Fence, Fleet, MemberName, NewFence, NewStep, Run, RunStatus};
use ah_store::{Store, block_on};

use super::output::Screen;
use super::{fencing, view};
use crate::app::App;
use crate::commands::variable::variable;
use crate::commands::waiting::{Following, REST, TICK};
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// Who runs it: leader, followers, all, or names of members, with commas between them
    #[arg(long, value_name = "WHO", default_value = "all")]
    on: String,
    /// How long members may take to have the leader's files, and then to take the program
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    timeout: String,
    /// A variable of the program; may be given several times
    #[arg(long, value_name = "K=V")]
    env: Vec<String>,
    /// Do not wait: print the fence that was begun
    #[arg(long)]
    detach: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    argv: Vec<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let timeout_ms = when::span(&args.timeout)?;
    let env = args.env.iter().map(|pair| variable(pair)).collect::<Result<_, _>>()?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let session_id = app.session_id(&*store, &args.session)?;
    let fleet = block_on(store.fleet(session_id.clone()))?;
    let step = NewStep {
        argv: args.argv.clone(),
        env,
        on: chosen(&fleet, &args.on)?,
        timeout_ms: Some(timeout_ms),
    };
    let new = NewFence { session_id, timeout_ms, step: Some(step), requested_by: app.user() };
    let (fence, mut following) = fencing::begin(&store, new)?;
    if args.detach {
        return app.output.result(&fence, view::fence);
    }
    let mut screen = Screen::new(app, &fence);
    let show = |event: &_| screen.show(event);
    let fence = fencing::ended(app, &*store, &fence, &mut following, show)?;
    fencing::require_consistent(&fence)?;
    screen.runs_are(&fence);
    let ended = follow(&*store, &fence, &mut following, &mut screen)?;
    screen.end()?;
    report(app, &fence, &ended)
}

/// The members that `words` name, each once.
fn chosen(fleet: &Fleet, words: &str) -> Result<Vec<MemberName>, CommandError> {
    let all = || fleet.members.iter().map(|member| member.name.clone());
    let mut on: Vec<MemberName> = Vec::new();
    for word in words.split(',') {
        let named: Vec<MemberName> = match word {
            "all" => all().collect(),
            "leader" => vec![fleet.leader.clone()],
            "followers" => all().filter(|name| *name != fleet.leader).collect(),
            name => vec![name.parse()?],
        };
        for name in named {
            if !on.contains(&name) {
                on.push(name);
            }
        }
    }
    if on.is_empty() {
        let (id, leader) = (&fleet.session_id, &fleet.leader);
        let message = format!("the fleet of session {id} has no followers: {leader} is alone");
        let hint = format!("`ah fleet add {id} NAME` adds one");
        return Err(CommandError::new(Exit::Conflict, message).hint(hint));
    }
    Ok(on)
}

/// Shows what the step's runs write until all have ended; how they did.
fn follow(
    store: &dyn Store,
    fence: &Fence,
    following: &mut Following,
    screen: &mut Screen<'_>,
) -> Result<BTreeMap<MemberName, Run>, CommandError> {
    let runs = fence.step.iter().flat_map(|step| &step.runs);
    let mut open: BTreeMap<_, _> = runs.collect();
    let mut ended = BTreeMap::new();
    let mut exited = 0;
    while !open.is_empty() {
        // The end of a run is stored right behind its last event.
        let wait = if exited > ended.len() { REST } else { TICK };
        // Without an event the runs are looked at: who was lost says nothing.
        if let Some(event) = following.next(wait)? {
            screen.show(&event)?;
            if !screen.is_exit(&event) {
                continue;
            }
            exited += 1;
        }
        for (name, id) in open.clone() {
            let run = block_on(store.run(id.clone()))?;
            if !run.status.is_live() {
                open.remove(name);
                ended.insert(name.clone(), run);
            }
        }
    }
    let last = block_on(store.session(fence.session_id.clone()))?.last_seq;
    while !following.has(last) {
        if let Some(event) = following.next(TICK)? {
            screen.show(&event)?;
        }
    }
    Ok(ended)
}

/// How each member's program ended; an error when one did not end well.
fn report(app: &App, fence: &Fence, ended: &BTreeMap<MemberName, Run>) -> Result<(), CommandError> {
    let mut bad: Vec<String> = Vec::new();
    for (name, run) in ended {
        let how = how(run);
        if !app.output.is_json() {
            app.output.talk(&format!("{name}: {how}"));
        }
        if run.status != RunStatus::Completed {
            bad.push(format!("{name} ({how}, run {})", run.id));
        }
    }
    if bad.is_empty() {
        return Ok(());
    }
    let session = &fence.session_id;
    let message = format!("the step did not end well on {}", bad.join(", "));
    Err(CommandError::new(Exit::Failed, message)
        .hint(format!("`ah run show RUN` shows more, `ah session events {session}` all of it")))
}

fn how(run: &Run) -> String {
    match (&run.error, run.status) {
        (_, RunStatus::Completed) => "exit code 0".to_owned(),
        (Some(error), _) => error.clone(),
        (None, status) => status.to_string(),
    }
}
