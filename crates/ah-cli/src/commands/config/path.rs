use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::output::{printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    // Not read: who has a broken file wants to know where it is.
    let files = app.config_files()?;
    let items: Vec<_> = files
        .iter()
        .map(|(layer, path)| {
            json!({ "layer": layer.as_str(), "path": path, "exists": path.exists() })
        })
        .collect();
    app.output.result(&json!({ "items": items, "nextCursor": null }), |_| {
        let rows: Vec<_> = files
            .iter()
            .map(|(layer, path)| {
                let exists = if path.exists() { "yes" } else { "no" };
                vec![layer.to_string(), exists.to_owned(), printable(&path.display().to_string())]
            })
            .collect();
        table(&["LAYER", "EXISTS", "FILE"], &rows)
    })
}
