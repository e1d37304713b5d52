use std::path::PathBuf;

use ah_model::{FileSnapshot, Session, SessionUpdate};
use ah_snapshot::{Branch, NewBranch};
use ah_store::{SessionFork, Store, block_on};
use serde::Serialize;

use super::restore::beside;
use super::scene::{self, Listed, OneArgs, State};
use crate::app::App;
use crate::environment::hostname;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    one: OneArgs,
    /// Name of the branch; made of the session and the number when absent
    name: Option<String>,
    /// Write the files here, where nothing may be; beside the directory when absent
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Title of the new session; the old one's when absent
    #[arg(long)]
    title: Option<String>,
}

#[derive(Serialize)]
struct Travelled {
    branch: Branch,
    session: Session,
    snapshot: Listed,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let (mut found, session, scene) = args.one.find(app, &*store)?;
    if found.state == State::Unrecorded {
        found = scene::record(&*store, found)?;
    }
    let directory = match &args.to {
        Some(to) => app.environment.absolute(to)?,
        None => beside(&scene.directory, &found.snapshot),
    };
    let name = args.name.clone().unwrap_or_else(|| own_name(&found.snapshot));
    let new = NewBranch { name, directory };
    let keeper = scene.keeper(&found.snapshot);
    let branch = keeper.branch(&scene.directory, &found.snapshot, &new)?;
    match fork(&*store, args, session, &found, &branch) {
        Ok(session) => print(app, Travelled { branch, session, snapshot: found }),
        Err(error) => {
            // Without the session it would be half of what was asked for; nobody has used it yet.
            let _ = keeper.unbranch(&scene.directory, &branch);
            Err(error)
        }
    }
}

fn own_name(snapshot: &FileSnapshot) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let session: String = snapshot.session_id.as_str().chars().map(word).collect();
    format!("ah/{session}/{}", snapshot.number)
}

/// A session that goes on from the event of the snapshot, in the branch.
fn fork(
    store: &dyn Store,
    args: &Args,
    from: Session,
    found: &Listed,
    branch: &Branch,
) -> Result<Session, CommandError> {
    let fork = SessionFork { at_seq: found.seq, id: None, title: args.title.clone() };
    let forked = block_on(store.fork_session(from.id, fork))?;
    let update = SessionUpdate {
        project_dir: Some(branch.directory.to_string_lossy().into_owned()),
        hostname: hostname(),
        ..SessionUpdate::default()
    };
    Ok(block_on(store.update_session(forked.id, update))?)
}

fn print(app: &App, travelled: Travelled) -> Result<(), CommandError> {
    app.output.result(&travelled, |travelled| {
        let Travelled { branch, session, .. } = travelled;
        format!("{} {} {}", session.id, branch.name, branch.directory.display())
    })?;
    app.output.talk(&format!(
        "`cd {}` and `ah session resume {}` goes on from there",
        travelled.branch.directory.display(),
        travelled.session.id
    ));
    Ok(())
}
