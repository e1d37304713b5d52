use ah_model::Page;

use super::scene::{self, Listed, PlaceArgs, Scene, State, short};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{line, table};
use crate::when;

/// How much of a message a list shows.
const MESSAGE_CHARS: usize = 50;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it; the newest here when absent
    #[arg(conflicts_with = "all")]
    session: Option<String>,
    /// Of all sessions that worked in this directory
    #[arg(long)]
    all: bool,
    /// Record those that a crash left out of their session's log
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let mut items = match args.all {
        true => Scene::new(app, &args.place, None)?.all(&*store)?,
        false => {
            let session = scene::session(app, &*store, args.session.as_deref())?;
            Scene::new(app, &args.place, Some(&session))?.of_session(&*store, &session.id)?
        }
    };
    if args.repair {
        let recorded = |item: Listed| match item.state {
            State::Unrecorded => scene::record(&*store, item),
            State::Recorded | State::Missing => Ok(item),
        };
        items = items.into_iter().map(recorded).collect::<Result<_, _>>()?;
    }
    if app.output.is_json() {
        return app.output.json(&Page { items, next_cursor: None });
    }
    if items.is_empty() {
        app.output.talk("no snapshots; `ah snapshot create` takes one");
        return Ok(());
    }
    print(app, &items)
}

fn print(app: &App, items: &[Listed]) -> Result<(), CommandError> {
    let now = app.now();
    let row = |item: &Listed| {
        let Listed { snapshot, state, seq } = item;
        vec![
            snapshot.number.to_string(),
            short(snapshot).to_owned(),
            snapshot.session_id.to_string(),
            snapshot.provider.to_string(),
            state.word().to_owned(),
            seq.map_or_else(String::new, |seq| seq.to_string()),
            when::ago(snapshot.created_at, now),
            line(snapshot.message.as_deref().unwrap_or_default(), MESSAGE_CHARS),
        ]
    };
    let header = ["NO", "ID", "SESSION", "PROVIDER", "STATE", "EVENT", "TAKEN", "MESSAGE"];
    app.output.text(&table(&header, &items.iter().map(row).collect::<Vec<_>>()))?;
    let left = items.iter().filter(|item| item.state == State::Unrecorded).count();
    if left > 0 {
        app.output.talk("unrecorded ones are not in their session's log; `--repair` records them");
    }
    Ok(())
}
