use std::sync::Arc;
use std::time::Duration;

use ah_model::{Fleet, FleetFiles, MemberName, NewFleet, RunStatus};
use ah_store::{Store, block_on};

use super::members::MemberDemands;
use super::{refused, view};
use crate::app::App;
use crate::commands::waiting;
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// A member, and which executor shall be it: its id, its name or the last part of its id; may
    /// be given several times
    #[arg(long = "member", value_name = "NAME[=EXECUTOR]", required = true)]
    members: Vec<String>,
    /// Who leads, whose files the others get; the first member when not given
    #[arg(long, value_name = "NAME")]
    leader: Option<String>,
    /// The directory on every machine; where its executor starts programs when not given
    #[arg(long, value_name = "DIR")]
    dir: Option<String>,
    /// The program that brings the leader's files to a follower, and its arguments; without one
    /// something else keeps them the same
    #[arg(long, value_name = "COMMAND")]
    pull: Option<String>,
    /// A name of files and directories that are not compared; may be given several times
    #[arg(long, value_name = "NAME")]
    ignore: Vec<String>,
    #[command(flatten)]
    demands: MemberDemands,
    /// Wait so long until all members are held, such as 30s
    #[arg(long, value_name = "SPAN")]
    wait: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let wait = args.wait.as_deref().map(when::span).transpose()?.map(Duration::from_millis);
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let session_id = app.session_id(&*store, &args.session)?;
    let member = |text: &String| args.demands.member(app, &*store, text);
    let pull = args.pull.as_deref().unwrap_or_default().split_whitespace();
    let new = NewFleet {
        session_id: session_id.clone(),
        members: args.members.iter().map(member).collect::<Result<_, _>>()?,
        leader: args.leader.as_deref().map(str::parse).transpose()?,
        files: FleetFiles {
            directory: args.dir.clone(),
            pull: pull.map(str::to_owned).collect(),
            ignore: args.ignore.clone(),
        },
        requested_by: app.user(),
    };
    new.check()?;
    let fleet = block_on(store.create_fleet(new)).map_err(|error| {
        let hint = format!(
            "`ah fleet show {session_id}` shows the fleet it has, `ah fleet end {session_id}` ends it"
        );
        refused(error.into(), &hint)
    })?;
    view::print(app, &*store, &fleet)?;
    wait.map_or(Ok(()), |wait| held(&store, &fleet, wait))
}

/// Waits until somebody works for every member.
fn held(store: &Arc<dyn Store>, fleet: &Fleet, wait: Duration) -> Result<(), CommandError> {
    let mut missing: Vec<MemberName> = Vec::new();
    let all = waiting::until_changed(store, wait, || {
        missing.clear();
        for member in &fleet.members {
            if block_on(store.run(member.run_id.clone()))?.status != RunStatus::Running {
                missing.push(member.name.clone());
            }
        }
        Ok(missing.is_empty().then_some(()))
    })?;
    if all.is_some() {
        return Ok(());
    }
    let (id, missing) = (&fleet.session_id, view::names(&missing));
    let message = format!("the fleet of session {id} is formed, but nobody holds {missing} yet");
    Err(CommandError::new(Exit::Failed, message)
        .hint("`ah executor list` shows who is online, `ah run show RUN` what a member demands")
        .hint(format!("`ah fleet show {id}` shows who is held, `ah fleet end {id}` gives it up")))
}
