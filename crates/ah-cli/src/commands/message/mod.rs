//! `ah message`: mail between agents and the operator.

mod ack;
mod dead;
mod inbox;
mod list;
mod recv;
mod release;
mod renew;
mod requeue;
mod send;
mod show;
mod view;

use ah_model::{Hold, MessageFilter};
use ah_store::{Store, block_on};
use clap::Subcommand;

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a message and print its id
    Send(Lazy<send::Args>),
    /// List what waits for somebody, newest first; nothing is taken
    Inbox(Lazy<inbox::Args>),
    /// Take the oldest message under a lease; exit 3 when there is none
    Recv(Lazy<recv::Args>),
    /// Say that messages were handled
    Ack(Lazy<ack::Args>),
    /// Give a message back unhandled; after five tries it is given up
    Release(Lazy<release::Args>),
    /// Keep a message longer
    Renew(Lazy<renew::Args>),
    /// List messages, newest first
    List(Lazy<list::Args>),
    /// Show one message
    Show(Lazy<show::Args>),
    /// List messages that were given up
    Dead(Lazy<dead::Args>),
    /// Queue a message again that was given up
    Requeue(Lazy<requeue::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Send(args) => send::run(app, &args),
        Command::Inbox(args) => inbox::run(app, &args),
        Command::Recv(args) => recv::run(app, &args),
        Command::Ack(args) => ack::run(app, &args),
        Command::Release(args) => release::run(app, &args),
        Command::Renew(args) => renew::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Dead(args) => dead::run(app, &args),
        Command::Requeue(args) => requeue::run(app, &args),
    }
}

/// Which hand-out of which message.
#[derive(Debug, clap::Args)]
pub(crate) struct HoldArgs {
    /// The message's id, or the beginning of it
    id: String,
    /// Only if this hand-out is still the newest: the number that `recv` gave
    #[arg(long, value_name = "N")]
    delivery: Option<u64>,
}

impl HoldArgs {
    fn hold(&self, app: &App, store: &dyn Store) -> Result<Hold, CommandError> {
        Ok(Hold { id: app.message_id(store, &self.id)?, delivery: self.delivery })
    }
}

/// Prints the messages that pass `filter`.
fn print(
    app: &App,
    paging: &Paging,
    filter: &MessageFilter,
    empty: &str,
) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let look = Look { header: view::HEADER, empty, row: &|message| view::row(message, now) };
    paging.print(app, &look, |page| Ok(block_on(store.list_messages(filter.clone(), page))?))
}
