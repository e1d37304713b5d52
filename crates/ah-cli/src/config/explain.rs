//! Why a key has the value it has: every layer, with what it says and whether it counts.

use std::sync::Arc;

use super::error::ConfigError;
use super::origin::{Layer, Place};
use super::schema::Key;
use super::value::Value;
use super::{Config, LayerEntries, known_key};

/// One layer's part in the value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explained<'a> {
    /// The layer.
    pub(crate) layer: Layer,
    /// Where it sets the key or, when it does not, where it could.
    pub(crate) place: Option<Place>,
    /// What it says.
    pub(crate) value: Option<&'a Value>,
    /// Whether that counts.
    pub(crate) effect: Effect,
}

/// What becomes of a layer's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It is the value.
    Wins,
    /// A stronger layer sets the key too.
    Hidden,
    /// The system file enforces the key, so this layer has no say.
    Masked,
    /// The layer does not set the key.
    Unset,
}

impl Effect {
    /// The word printed.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Wins => "wins",
            Self::Hidden => "hidden",
            Self::Masked => "masked",
            Self::Unset => "unset",
        }
    }
}

impl Config {
    /// All layers of a key, strongest first, the default last.
    pub(crate) fn explain(&self, path: &str) -> Result<Vec<Explained<'_>>, ConfigError> {
        let key = known_key(path)?;
        let winner = self.setting(key).map(|setting| setting.layer);
        let enforced = self.is_enforced(key);
        let effect = |layer, value: Option<&Value>| match value {
            None => Effect::Unset,
            Some(_) if Some(layer) == winner => Effect::Wins,
            Some(_) if enforced && layer < Layer::System => Effect::Masked,
            Some(_) => Effect::Hidden,
        };
        let set = self.layers.iter().map(|layer| {
            let entry = layer.entry(key);
            (
                layer.layer,
                entry.map_or_else(|| layer.place_of(key), |entry| Some(entry.place.clone())),
                entry.map(|entry| &entry.value),
            )
        });
        let rows = set.chain([(Layer::Default, None, key.default.as_ref())]);
        let explained = rows.map(|(layer, place, value)| Explained {
            layer,
            place,
            value,
            effect: effect(layer, value),
        });
        Ok(explained.collect())
    }
}

impl LayerEntries {
    /// Where this layer could set `key`.
    fn place_of(&self, key: &Key) -> Option<Place> {
        if self.layer == Layer::Environment {
            return key.variable().map(Place::Variable);
        }
        let path = Arc::clone(self.path.as_ref()?);
        Some(Place::File { path, line: None })
    }
}
