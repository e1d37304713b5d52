use serde_json::json;

use crate::app::App;
use crate::config::Explained;
use crate::error::CommandError;
use crate::output::{printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, like store.durability
    key: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let layers = app.config()?.explain(&args.key)?;
    let place = |layer: &Explained<'_>| layer.place.as_ref().map(ToString::to_string);
    let items: Vec<_> = layers
        .iter()
        .map(|layer| {
            json!({
                "layer": layer.layer.as_str(),
                "place": place(layer),
                "value": layer.value,
                "effect": layer.effect.as_str(),
            })
        })
        .collect();
    app.output.result(&json!({ "key": args.key, "layers": items }), |_| {
        let rows: Vec<_> = layers
            .iter()
            .map(|layer| {
                let value = layer.value.map(ToString::to_string).unwrap_or_default();
                vec![
                    layer.layer.to_string(),
                    layer.effect.as_str().to_owned(),
                    printable(&value),
                    printable(&place(layer).unwrap_or_default()),
                ]
            })
            .collect();
        table(&["LAYER", "EFFECT", "VALUE", "WHERE"], &rows)
    })
}
