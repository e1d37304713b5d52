use serde_json::json;

use crate::app::App;
use crate::config::{Explained, KEYS, Key, OTHER_VARIABLES};
use crate::error::CommandError;
use crate::output::{printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, like store.durability; without one, what keys there are
    key: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    match &args.key {
        Some(key) => explain(app, key),
        None => explain_all(app),
    }
}

fn explain(app: &App, path: &str) -> Result<(), CommandError> {
    let layers = app.config()?.explain(path)?;
    let meaning = KEYS.iter().find(|key| key.path == path).map_or("", |key| key.doc);
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
    app.output.result(&json!({ "key": path, "meaning": meaning, "layers": items }), |_| {
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
        format!("{meaning}\n\n{}", table(&["LAYER", "EFFECT", "VALUE", "WHERE"], &rows))
    })
}

fn explain_all(app: &App) -> Result<(), CommandError> {
    let item = |key: &Key| {
        json!({
            "key": key.path,
            "variable": key.variable(),
            "default": key.default,
            "meaning": key.doc,
        })
    };
    let others = OTHER_VARIABLES.map(|(name, meaning)| {
        json!({ "key": null, "variable": name, "default": null, "meaning": meaning })
    });
    let items: Vec<_> = KEYS.iter().map(item).chain(others).collect();
    app.output.result(&json!({ "items": items, "nextCursor": null }), |_| {
        let row = |key: &str, variable: &str, doc: &str| {
            vec![key.to_owned(), variable.to_owned(), doc.to_owned()]
        };
        let keys =
            KEYS.iter().map(|key| row(key.path, &key.variable().unwrap_or_default(), key.doc));
        let others = OTHER_VARIABLES.iter().map(|(name, doc)| row("", name, doc));
        table(&["KEY", "VARIABLE", "MEANING"], &keys.chain(others).collect::<Vec<_>>())
    })
}
