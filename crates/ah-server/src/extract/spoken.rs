//! Bodies in which it may be left out who speaks: it is who asks.

use std::borrow::Cow;

use ah_model::{Answer, Decision, NewMessage, NewQuestion, Party};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

use crate::auth::Caller;

/// Something that somebody says.
pub(crate) trait Speech: DeserializeOwned {
    /// Where it says who speaks.
    const SPEAKER: &'static str;

    fn speaker(&mut self) -> &mut Party;
}

impl Speech for NewMessage {
    const SPEAKER: &'static str = "from";

    fn speaker(&mut self) -> &mut Party {
        &mut self.from
    }
}

impl Speech for NewQuestion {
    const SPEAKER: &'static str = "from";

    fn speaker(&mut self) -> &mut Party {
        &mut self.from
    }
}

impl Speech for Answer {
    const SPEAKER: &'static str = "by";

    fn speaker(&mut self) -> &mut Party {
        &mut self.by
    }
}

impl Speech for Decision {
    const SPEAKER: &'static str = "by";

    fn speaker(&mut self) -> &mut Party {
        &mut self.by
    }
}

/// A `T` that need not say who speaks.
pub(crate) struct Spoken<T> {
    speech: T,
    said: bool,
}

impl<T: Speech> Spoken<T> {
    /// What is said, by `caller` if it does not say by whom.
    pub(crate) fn by(self, caller: &Caller) -> T {
        self.by_party(&caller.speaker())
    }

    /// What is said, by `party` if it does not say by whom.
    pub(crate) fn by_party(mut self, party: &Party) -> T {
        if !self.said {
            *self.speech.speaker() = party.clone();
        }
        self.speech
    }
}

impl<'de, T: Speech> Deserialize<'de> for Spoken<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let said = fields.contains_key(T::SPEAKER);
        if !said {
            // Somebody must be there to read it; `by` says who it is.
            fields.insert(T::SPEAKER.to_owned(), Party::Operator.as_str().into());
        }
        let speech = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Self { speech, said })
    }
}

impl<T: Speech + JsonSchema> JsonSchema for Spoken<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(schemas);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name != T::SPEAKER);
            if required.is_empty() {
                schema.remove("required");
            }
        }
        schema
    }
}
