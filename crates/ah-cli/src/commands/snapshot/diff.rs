use std::io::{self, IsTerminal};

use ah_snapshot::{ChangeKind, FileChange, SnapshotError};
use serde::Serialize;

use super::scene::{self, Listed, PlaceArgs, Scene, State};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{broken_pipe, counted, printable, printable_lines};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its number, or the beginning of its id; the newest of the session when absent
    from: Option<String>,
    /// Another one; the files as they are now when absent
    to: Option<String>,
    /// The session that numbers are meant in; the newest here when absent
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// How many lines changed in each file
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Only the names of changed files
    #[arg(long)]
    name_only: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    path: String,
    kind: ChangeKind,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
}

impl Changed {
    fn of(change: &FileChange) -> Self {
        Self {
            path: change.path.to_string_lossy().into_owned(),
            kind: change.kind,
            lines_added: change.lines.map(|(added, _)| added),
            lines_removed: change.lines.map(|(_, removed)| removed),
        }
    }
}

#[derive(Serialize)]
struct Difference<'a> {
    from: &'a str,
    to: Option<&'a str>,
    items: Vec<Changed>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let session = scene::session(app, &*store, args.session.as_deref())?;
    let scene = Scene::new(app, &args.place, Some(&session))?;
    let find = |text: &str| scene.find(&*store, Some(&session.id), text);
    let from = match &args.from {
        Some(text) => find(text)?,
        None => newest(scene.of_session(&*store, &session.id)?)?,
    };
    let to = args.to.as_deref().map(find).transpose()?.map(|to| to.snapshot);
    let keeper = scene.keeper(&from.snapshot);
    if let Some(to) = &to
        && to.provider != from.snapshot.provider
    {
        let message = format!("{} cannot compare with {}", from.snapshot.provider, to.provider);
        return Err(CommandError::new(Exit::Conflict, message));
    }
    if !app.output.is_json() && !args.stat && !args.name_only {
        match keeper.patch(&scene.directory, &from.snapshot, to.as_ref()) {
            // Whoever keeps no patches still tells what changed.
            Err(SnapshotError::Unsupported { .. }) => {}
            patch => return print_patch(app, &patch?),
        }
    }
    let changes = keeper.diff(&scene.directory, &from.snapshot, to.as_ref())?;
    let items = changes.iter().map(Changed::of).collect();
    let to = to.as_ref().map(|to| to.id.as_str());
    let difference = Difference { from: &from.snapshot.id, to, items };
    app.output.result(&difference, |difference| text(&difference.items, args))
}

/// Byte for byte to a program, which may apply it; to a person as all stored texts.
fn print_patch(app: &App, patch: &[u8]) -> Result<(), CommandError> {
    if io::stdout().is_terminal() {
        let text = String::from_utf8_lossy(patch);
        return app.output.text(&printable_lines(&text));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => broken_pipe(),
        _ => CommandError::new(Exit::Failed, format!("cannot write: {error}")),
    };
    app.output.stream(|out| out.write_all(patch).map_err(failed))
}

fn newest(all: Vec<Listed>) -> Result<Listed, CommandError> {
    let found = all.into_iter().rfind(|one| one.state != State::Missing);
    found.ok_or_else(|| {
        CommandError::new(Exit::NotFound, "the session has no snapshot")
            .hint("`ah snapshot create` takes one")
    })
}

fn text(items: &[Changed], args: &Args) -> String {
    let mut text = String::new();
    for item in items {
        let path = printable(&item.path);
        text += &match (args.name_only, args.stat, item.lines_added.zip(item.lines_removed)) {
            (true, ..) => format!("{path}\n"),
            (_, true, Some((added, removed))) => format!("{path}  +{added} -{removed}\n"),
            (_, true, None) => format!("{path}  not lines of text\n"),
            (_, false, _) => format!("{} {path}\n", item.kind.letter()),
        };
    }
    if args.stat {
        text += &format!("{} changed\n", counted(items.len() as u64, "file"));
    }
    text
}
