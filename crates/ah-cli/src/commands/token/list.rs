use ah_model::{Timestamp, Token};
use ah_store::block_on;

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;
use crate::when::ago;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

const HEADER: &[&str] = &["ID", "ROLE", "AGENT", "STATE", "LAST USED", "NAME"];

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let empty = "no tokens; `ah token create --role ROLE` makes one";
    let look = Look { header: HEADER, empty, row: &|token| row(token, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_tokens(page))?))
}

fn row(token: &Token, now: Timestamp) -> Vec<String> {
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
    vec![
        token.id.to_string(),
        token.role.to_string(),
        text(&token.agent),
        state(token, now),
        token.last_used_at.map_or_else(|| "never".to_owned(), |at| ago(at, now)),
        text(&token.name),
    ]
}

fn state(token: &Token, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", ago(at, now)),
        (None, Some(at)) if at <= now => format!("expired {}", ago(at, now)),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "valid".to_owned(),
    }
}
