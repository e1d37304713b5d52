use serde_json::json;

use crate::app::App;
use crate::config::Layer;
use crate::error::CommandError;
use crate::output::table;

const FILES: [Layer; 5] =
    [Layer::ConfigFile, Layer::ProjectUser, Layer::Project, Layer::User, Layer::System];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let config = app.config()?;
    let files: Vec<_> =
        FILES.into_iter().filter_map(|layer| Some((layer, config.path(layer)?))).collect();
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
                vec![layer.to_string(), exists.to_owned(), path.display().to_string()]
            })
            .collect();
        table(&["LAYER", "EXISTS", "FILE"], &rows)
    })
}
