use ah_store::{Sessions, block_on};

use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Do not ask; only people at a terminal are asked
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&store, &args.id)?;
    if !args.yes {
        let session = block_on(store.session(id.clone()))?;
        let events = session.last_seq;
        confirm(app.asking(), &format!("Delete session {id} with its {events} events?"))?;
    }
    block_on(store.delete_session(id.clone()))?;
    app.output.result(&serde_json::json!({ "id": id, "deleted": true }), |_| String::new())
}
