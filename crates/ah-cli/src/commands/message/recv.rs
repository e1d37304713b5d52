use std::sync::Arc;
use std::time::Duration;

use ah_model::{Awaited, Message, Receive};
use ah_store::{Store, block_on};

use super::view;
use crate::app::App;
use crate::commands::{party, waiting};
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose: an agent's name or `operator`
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Wait so long for one, such as 30s
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    wait: String,
    /// How long it is kept from others unless it is acknowledged, such as 5m
    #[arg(long, value_name = "SPAN", default_value = "5m")]
    lease: String,
    /// Who takes it, for those who look; this person, machine and process when absent
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Only this message: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let to = party::receiving(app, &args.agent)?;
    let holder = args.holder.clone();
    let holder = holder.unwrap_or_else(|| format!("{}:{}", party::label(app), std::process::id()));
    let mut receive = Receive::next(to.clone(), holder, when::span(&args.lease)?);
    receive.check()?;
    let wait = Duration::from_millis(when::span(&args.wait)?);
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    receive.id = args.id.as_deref().map(|id| app.message_id(&*store, id)).transpose()?;
    let look = || Ok(block_on(store.receive_messages(receive.clone()))?.messages.pop());
    match waiting::until(&store, Awaited::Mail(to), Some(wait), look)? {
        Some(message) => print(app, &message),
        None => Err(CommandError::new(Exit::NotFound, format!("nothing waits for {}", args.agent))
            .hint("`--wait 30s` waits for a message")),
    }
}

fn print(app: &App, message: &Message) -> Result<(), CommandError> {
    app.output.result(message, view::message)?;
    if !app.output.is_json() {
        let until = message.lease.as_ref().map(|lease| lease.expires_at.to_string());
        app.output.talk(&format!(
            "yours until {}; `ah message ack {} --delivery {}` when it is handled",
            until.unwrap_or_default(),
            message.id,
            message.deliveries
        ));
    }
    Ok(())
}
