//! `ah status`: what is ready here.

use ah_model::{PageLimit, PageRequest, SessionFilter};
use ah_store::block_on;
use serde_json::json;

use super::session::view;
use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes as size, fields, table};

/// How many sessions are shown.
const RECENT: u64 = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let request = PageRequest { limit: PageLimit::at_most(RECENT), cursor: None };
    let recent = block_on(app.store()?.list_sessions(SessionFilter::default(), request))?;
    let (place, bytes) = place(app)?;
    let answer = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "database": place,
        "schemaVersion": ah_store_sql::SCHEMA_VERSION,
        "bytes": bytes,
        "recent": recent.items,
    });
    app.output.result(&answer, |_| {
        let state = fields(&[
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("database", place.clone()),
            ("schema", ah_store_sql::SCHEMA_VERSION.to_string()),
            ("size", size(bytes)),
        ]);
        let now = app.now();
        let sessions: Vec<_> = recent.items.iter().map(|s| view::row(s, now)).collect();
        let recent = match sessions.is_empty() {
            true => "No sessions yet. Begin one:\n  ah session create --agent claude-code\n".into(),
            false => table(view::HEADER, &sessions),
        };
        format!("The harbor is ready.\n\n{state}\n{recent}\n`ah --help` lists every command.")
    })
}

/// Where the database is, and its size where that is known. Counting rows would take longer with
/// every session kept; `ah db stats` does it.
fn place(app: &App) -> Result<(String, u64), CommandError> {
    if let Some(server) = app.config()?.remote_server()? {
        return Ok((format!("behind {server}"), 0));
    }
    let store = app.sql_store()?;
    match store.path() {
        Some(path) => Ok((path.display().to_string(), store.stats()?.bytes)),
        None => Ok(("PostgreSQL (store.database-url)".to_owned(), 0)),
    }
}
