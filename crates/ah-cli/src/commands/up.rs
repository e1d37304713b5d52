//! `ah up`: what is ready here. The server of a later version starts from this verb.

use ah_model::{PageLimit, PageRequest, SessionFilter};
use ah_store::{Sessions, block_on};
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
    let store = app.sql_store()?;
    let request = PageRequest { limit: PageLimit::at_most(RECENT), cursor: None };
    let recent = block_on(store.list_sessions(SessionFilter::default(), request))?;
    // Counting rows would take longer with every session kept; `ah db stats` does it.
    let bytes = store.path().map_or(Ok(0), |_| store.stats().map(|stats| stats.bytes))?;
    let place = store.path().map_or_else(
        || "PostgreSQL (store.database-url)".to_owned(),
        |path| path.display().to_string(),
    );
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
