//! Labels: short `key=value` pairs to find tasks and sessions by.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::limits::{LABEL_BYTES_MAX, LABELS_MAX};
use crate::text::check_filled;

/// Sorted, unique by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("maxProperties" = LABELS_MAX)))]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// Refuses too many labels, empty keys and overlong texts.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.0.len() > LABELS_MAX {
            let reason = format!("{} labels, at most {LABELS_MAX} are allowed", self.0.len());
            return Err(Invalid::new("labels", reason));
        }
        self.0.iter().try_for_each(|(key, value)| {
            check_filled("label key", key, LABEL_BYTES_MAX)?;
            crate::check_text("label value", value, LABEL_BYTES_MAX)
        })
    }

    /// Reads `key=value` texts; the last of a key wins.
    pub fn from_pairs(pairs: &[String]) -> Result<Self, Invalid> {
        let labels = Self::of_filter(pairs.iter().map(String::as_str))?;
        labels.check()?;
        Ok(labels)
    }

    /// As [`Self::from_pairs`], but takes any text: what nothing can be labelled with finds nothing.
    pub(crate) fn of_filter<'a>(pairs: impl Iterator<Item = &'a str>) -> Result<Self, Invalid> {
        pairs.map(split).collect::<Result<_, _>>().map(Self)
    }
}

fn split(pair: &str) -> Result<(String, String), Invalid> {
    pair.split_once('=')
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| Invalid::new("label", format!("{pair:?} is not of the form key=value")))
}

impl FromStr for Labels {
    type Err = Invalid;

    /// Reads the JSON object a store keeps.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        serde_json::from_str(text).map_err(|error| Invalid::new("labels", error.to_string()))
    }
}
