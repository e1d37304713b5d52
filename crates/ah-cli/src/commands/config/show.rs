use std::collections::BTreeMap;

use serde_json::json;

use crate::app::App;
use crate::config::KEYS;
use crate::error::CommandError;
use crate::output::{printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let config = app.config()?;
    let settings: Vec<_> =
        KEYS.iter().filter_map(|key| Some((key, config.setting(key)?))).collect();
    if app.output.is_json() {
        let object: BTreeMap<_, _> = settings
            .iter()
            .map(|(key, setting)| {
                let place = setting.place.map(ToString::to_string);
                let layer = setting.layer.as_str();
                (key.path, json!({ "value": setting.value, "layer": layer, "place": place }))
            })
            .collect();
        return app.output.json(&object);
    }
    let rows: Vec<_> = settings
        .iter()
        .map(|(key, setting)| {
            let place = setting.place.map_or_else(|| "default".to_owned(), ToString::to_string);
            vec![key.path.to_owned(), printable(&setting.value.to_string()), printable(&place)]
        })
        .collect();
    app.output.text(&table(&["KEY", "VALUE", "FROM"], &rows))
}
