use ah_store::{block_on, repair_session};
use serde_json::json;

use super::{Named, active_session, alive};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.find(app, &store)?;
    alive(&agent)?;
    let session = active_session(&agent)?;
    let done = block_on(repair_session(&store, session.clone()))?;
    let done = done.as_ref();
    let answer = json!({
        "sessionId": session,
        "firstSeq": done.map(|done| done.first_seq),
        "lastSeq": done.map(|done| done.last_seq),
        "appended": done.map_or(0, |done| done.appended),
        "duplicates": done.map_or(0, |done| done.duplicates),
    });
    app.output.result(&answer, |_| match done.map_or(0, |done| done.appended) {
        0 => format!("nothing was open in session {session}"),
        count => format!("{count} closed in session {session}"),
    })
}
