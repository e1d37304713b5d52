use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, fields};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let store = app.sql_store()?;
    let stats = store.stats()?;
    let rows = ah_store::block_on(store.row_counts())?;
    let counts: serde_json::Map<_, _> =
        rows.iter().map(|(table, count)| ((*table).to_owned(), json!(count))).collect();
    let answer = json!({
        "path": stats.path,
        "schemaVersion": stats.schema_version,
        "bytes": stats.bytes,
        "walBytes": stats.wal_bytes,
        "freeBytes": stats.free_bytes,
        "rows": counts,
    });
    app.output.result(&answer, |_| {
        let mut pairs = vec![
            ("path", stats.path.display().to_string()),
            ("schema version", stats.schema_version.to_string()),
            ("size", bytes(stats.bytes)),
            ("write-ahead log", bytes(stats.wal_bytes)),
            ("unused", bytes(stats.free_bytes)),
        ];
        pairs.extend(rows.iter().map(|(table, count)| (*table, count.to_string())));
        fields(&pairs)
    })
}
