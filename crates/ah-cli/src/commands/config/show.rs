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
    let settings: Vec<_> = KEYS.iter().map(|key| (key, config.setting(key))).collect();
    if app.output.is_json() {
        let object: BTreeMap<_, _> = settings
            .iter()
            .map(|(key, setting)| {
                let value = setting.as_ref().map(|setting| setting.value);
                let layer = setting.as_ref().map(|setting| setting.layer.as_str());
                let place = setting.as_ref().and_then(|setting| setting.place);
                let place = place.map(ToString::to_string);
                (key.path, json!({ "value": value, "layer": layer, "place": place }))
            })
            .collect();
        return app.output.json(&object);
    }
    let rows: Vec<_> = settings
        .iter()
        .map(|(key, setting)| {
            let Some(setting) = setting else {
                return vec![key.path.to_owned(), String::new(), "not set".to_owned()];
            };
            let place = setting.place.map_or_else(|| "default".to_owned(), ToString::to_string);
            vec![key.path.to_owned(), printable(&setting.value.to_string()), printable(&place)]
        })
        .collect();
    app.output.text(&table(&["KEY", "VALUE", "FROM"], &rows))
}
