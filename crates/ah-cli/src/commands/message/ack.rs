use ah_model::Hold;
use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Messages: their ids, or the beginnings of them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Only if this hand-out is still the newest: the number that `recv` gave
    #[arg(long, value_name = "N")]
    delivery: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    if args.delivery.is_some() && args.ids.len() > 1 {
        let message = "--delivery is the number of one message's hand-out";
        return Err(CommandError::new(Exit::Usage, message));
    }
    let store = app.store()?;
    let hold = |id: &String| {
        Ok::<_, CommandError>(Hold { id: app.message_id(&*store, id)?, delivery: args.delivery })
    };
    let holds = args.ids.iter().map(hold).collect::<Result<Vec<_>, _>>()?;
    let acked = block_on(store.ack_messages(holds)).map_err(|error| {
        CommandError::from(error).hint("`ah message recv AGENT` takes a message to be handled")
    })?;
    let count = acked.len() as u64;
    let done = json!({ "items": acked, "nextCursor": null });
    app.output.result(&done, |_| format!("{} acknowledged", counted(count, "message")))
}
