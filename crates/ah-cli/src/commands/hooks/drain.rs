use std::path::Path;

use ah_import::record_hooks;
use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::commands::hook::spool::{Drained, Spool};
use crate::detect::fingerprint::PATIENCE;
use crate::error::{CommandError, Exit};
use crate::whereabouts::{self, Looking};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let spool = Spool::of(&app.environment);
    let (waited, _) = spool.count();
    let store = app.store()?;
    let repo_of = |dir: &Path| whereabouts::repo_of(&*store, dir, Looking::Records(PATIENCE));
    let drained = spool.drain(|calls| block_on(record_hooks(&*store, calls, &repo_of)));
    let (left, refused) = spool.count();
    if drained == Drained::Left {
        let message = format!("{left} of {waited} calls could not be brought in yet");
        return Err(CommandError::new(Exit::Store, message)
            .hint("they are kept; try again when the store can be written"));
    }
    let answer =
        json!({ "broughtIn": waited.saturating_sub(left), "waiting": left, "refused": refused });
    app.output.result(&answer, |_| match waited {
        0 => "nothing waited".to_owned(),
        _ => format!("{} calls were brought in", waited.saturating_sub(left)),
    })
}
