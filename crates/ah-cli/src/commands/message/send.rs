use std::path::Path;

use ah_model::{NewMessage, Party, limits};
use ah_store::block_on;

use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;
use crate::input::read_text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who gets it: an agent's name or `operator`; several with commas between
    #[arg(value_name = "TO")]
    to: String,
    /// What it says; `-` reads it from stdin
    text: String,
    /// Who writes: an agent's name; AH_AGENT when absent, else the operator
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// The message it answers: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Its id, instead of a fresh one
    #[arg(long)]
    id: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let body = match args.text.as_str() {
        "-" => read_text("body", Path::new("-"), limits::MESSAGE_BYTES_MAX)?,
        text => text.to_owned(),
    };
    let to = args.to.split(',').map(str::parse).collect::<Result<Vec<Party>, _>>()?;
    let from = party::acting(app, args.from.as_deref())?;
    let id = args.id.as_deref().map(str::parse).transpose()?;
    let mut message = NewMessage { id, from, to, body, in_reply_to: None };
    message.check()?;
    let store = app.store()?;
    let reply_to = args.reply_to.as_deref().map(|id| app.message_id(&*store, id)).transpose()?;
    message.in_reply_to = reply_to;
    let sent = block_on(store.send_message(message))?;
    let ids = || sent.iter().map(|message| message.id.to_string()).collect::<Vec<_>>().join("\n");
    match sent.as_slice() {
        [one] => app.output.result(one, |one| one.id.to_string()),
        _ => {
            app.output.result(&serde_json::json!({ "items": sent, "nextCursor": null }), |_| ids())
        }
    }
}
