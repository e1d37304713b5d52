use std::path::{Path, PathBuf};

use ah_model::{FileSnapshot, Session, SnapshotProvider};
use ah_snapshot::SnapshotError;
use ah_store::Store;
use serde::Serialize;

use super::scene::{self, Listed, OneArgs, Scene, short};
use crate::app::App;
use crate::error::CommandError;
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    one: OneArgs,
    /// Write the files here, where nothing may be; beside the directory when absent
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    to: Option<PathBuf>,
    /// Write them over the directory itself, after a snapshot of what is there
    #[arg(long, requires = "yes")]
    in_place: bool,
    /// Do it without being asked; needed with `--in-place`
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Restored<'a> {
    id: &'a str,
    directory: &'a Path,
    /// Holds what was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Listed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let (found, session, scene) = args.one.find(app, &*store)?;
    let found = found.snapshot;
    if args.in_place {
        return in_place(app, &*store, session, scene.kept_by(&found), &found);
    }
    let to = match &args.to {
        Some(to) => app.environment.absolute(to)?,
        None => beside(&scene.directory, &found),
    };
    scene.keeper(&found).restore(&scene.directory, &found, &to)?;
    let done = Restored { id: &found.id, directory: &to, before: None, changed: None };
    app.output.result(&done, |done| done.directory.display().to_string())
}

/// Writes over the directory itself; a snapshot holds what was there.
fn in_place(
    app: &App,
    store: &dyn Store,
    session: Session,
    scene: Scene,
    found: &FileSnapshot,
) -> Result<(), CommandError> {
    if found.provider != SnapshotProvider::Git {
        // Known before anything is done, so that no snapshot is taken for nothing.
        let (provider, what) = (found.provider, "restore in place");
        return Err(SnapshotError::Unsupported { provider, what }.into());
    }
    let message = format!("before {} was restored", short(found));
    let new = scene::fresh(app, session.id, Some(message))?;
    let before = scene::take(app, store, &scene, &new)?;
    let changes =
        scene.keeper(found).restore_in_place(&scene.directory, found, &before.snapshot)?;
    let done = Restored {
        id: &found.id,
        directory: &scene.directory,
        before: Some(&before),
        changed: Some(changes.len() as u64),
    };
    app.output.result(&done, |done| {
        let changed = counted(done.changed.unwrap_or(0), "file");
        format!("{changed} changed in {}", done.directory.display())
    })?;
    let id = short(&before.snapshot);
    app.output.talk(&format!(
        "`ah snapshot restore {id} --in-place --yes` brings back what was there before"
    ));
    Ok(())
}

/// A directory beside that of the snapshot.
pub(super) fn beside(directory: &Path, snapshot: &FileSnapshot) -> PathBuf {
    let root = Path::new(&snapshot.directory);
    let root = if root.is_absolute() { root } else { directory };
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    root.with_file_name(format!("{name}-snapshot-{}", short(snapshot)))
}
