//! `state.json` in every shape it had: what an agent may do, what it cost, when it lived.
//!
//! A key is taken out only when the agent holds all that it says; every other one is kept in the
//! agent's metadata as it was written.

use ah_model::{Lifecycle, RawJson, Timestamp};

use crate::agent::{Extras, Found, Permissions, is_short, json};
use crate::raw_object::{Moment, RawObject, exact_text, json_of};
use crate::report::Tally;

/// The name of the file.
pub(super) const FILE: &str = "state.json";

/// What the file says.
#[derive(Debug)]
pub(super) struct State {
    pub(super) lifecycle: Lifecycle,
    pub(super) created_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) permissions: Permissions,
    pub(super) tokens: RawJson,
    pub(super) stats: RawJson,
    pub(super) inference_session_id: Option<String>,
    /// The copy of the last context.
    pub(super) context: Option<RawJson>,
}

impl State {
    /// Reads the file. Without one that can be read the agent sleeps and may do nothing.
    pub(super) fn of(found: &Found, extras: &mut Extras, tally: &mut Tally) -> Self {
        match found.object() {
            Ok(json) => Self::of_object(&json, extras, tally),
            Err(reason) => {
                tally.remark(FILE, None, format!("{reason}: the agent sleeps and may do nothing"));
                let keys = ["stateRaw", "stateHex"];
                extras.keep_text(FILE, keys, found.bytes());
                Self::absent()
            }
        }
    }

    /// What is assumed of an agent without a state.
    fn absent() -> Self {
        Self {
            lifecycle: Lifecycle::Sleeping,
            created_at: None,
            updated_at: None,
            permissions: Permissions::none(),
            tokens: RawJson::null(),
            stats: RawJson::empty_object(),
            inference_session_id: None,
            context: None,
        }
    }

    fn of_object(json: &RawJson, extras: &mut Extras, tally: &mut Tally) -> Self {
        let Some(mut keys) = RawObject::of(json) else {
            return Self::absent();
        };
        let mut reader = Reader { keys: &mut keys, extras, tally };
        let state = Self {
            lifecycle: reader.lifecycle(),
            created_at: reader.time("createdAt"),
            updated_at: reader.time("updatedAt"),
            permissions: reader.permissions(),
            tokens: reader.tokens(),
            stats: reader.stats(),
            inference_session_id: reader.inference_session_id(),
            context: reader.context(),
        };
        if !keys.is_empty() {
            extras.keep(FILE, "state", keys.to_json());
        }
        state
    }
}

/// Takes the keys out that the agent holds.
struct Reader<'a, 'k> {
    keys: &'a mut RawObject<'k>,
    extras: &'a mut Extras,
    tally: &'a mut Tally,
}

impl Reader<'_, '_> {
    fn remark(&mut self, what: &str) {
        self.tally.remark(FILE, None, what);
    }

    fn lifecycle(&mut self) -> Lifecycle {
        let word = self.keys.text("state");
        if let Some(lifecycle) = word.as_deref().and_then(|word| word.parse().ok()) {
            self.keys.take("state");
            return lifecycle;
        }
        if self.keys.find("state").is_some() {
            self.remark("state: not one of active, sleeping, dead");
        }
        match self.keys.find("sleeping").map(|member| member.value) {
            Some("true") => {
                self.keys.take("sleeping");
                Lifecycle::Sleeping
            }
            Some("false") => {
                self.keys.take("sleeping");
                Lifecycle::Active
            }
            Some(_) => {
                self.remark("sleeping: neither true nor false");
                Lifecycle::Active
            }
            None => Lifecycle::Active,
        }
    }

    fn time(&mut self, key: &str) -> Option<Timestamp> {
        let moment = Moment::of(self.keys.find(key).map(|member| member.value));
        match moment {
            Moment::Exact(_) => drop(self.keys.take(key)),
            Moment::Rounded(_) => {
                self.remark(&format!("{key}: no whole number of milliseconds, rounded down"));
            }
            Moment::Absent => {
                let what = format!("{key}: no time, that of the first record is taken");
                self.remark(&what);
            }
        }
        moment.time()
    }

    fn permissions(&mut self) -> Permissions {
        let Some(member) = self.keys.take("permissions") else {
            self.remark("permissions: missing, none are given");
            return Permissions::none();
        };
        Permissions::of(FILE, &json_of(member.value.to_owned()), self.extras, self.tally)
    }

    fn tokens(&mut self) -> RawJson {
        let Some(member) = self.keys.take("tokens") else {
            return RawJson::null();
        };
        let tokens = json_of(member.value.to_owned());
        self.extras.fit(FILE, "tokens", tokens, RawJson::null())
    }

    fn stats(&mut self) -> RawJson {
        let value = self.keys.find("stats").map(|member| member.value);
        match value.filter(|value| value.starts_with('{')) {
            Some(value) => {
                self.keys.take("stats");
                let stats = json_of(value.to_owned());
                self.extras.fit(FILE, "stats", stats, RawJson::empty_object())
            }
            None => {
                if value.is_some() {
                    self.remark("stats: not a JSON object, empty ones are taken");
                }
                RawJson::empty_object()
            }
        }
    }

    fn inference_session_id(&mut self) -> Option<String> {
        let member = self.keys.find("inferenceSessionId")?;
        let id = exact_text(member.value).filter(|id| !id.is_empty() && is_short(id));
        match &id {
            Some(_) => drop(self.keys.take("inferenceSessionId")),
            None => self.remark("inferenceSessionId: no text that can be one"),
        }
        id
    }

    /// The context copy, if it is one: an object with messages.
    fn context(&mut self) -> Option<RawJson> {
        let value = self.keys.find("context")?.value;
        let context = json(value.as_bytes()).ok()?;
        let messages = RawObject::of(&context)?.find("messages").map(|member| member.value);
        match messages.filter(|messages| messages.starts_with('[')) {
            Some(messages) => {
                self.keys.take("context");
                Some(context.clone()).filter(|_| messages != "[]")
            }
            None => {
                self.remark("context: no messages in it, kept in the metadata");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (State, String, Vec<String>) {
        let (mut extras, mut tally) = (Extras::default(), Tally::default());
        let state = State::of(&Found::Bytes(text.into()), &mut extras, &mut tally);
        let remarks = tally.remarks.into_iter().map(|remark| remark.what).collect();
        (state, extras.metadata().as_str().to_owned(), remarks)
    }

    #[test]
    fn lifecycles_of_every_time_are_read() {
        for (text, lifecycle, metadata) in [
            (r#"{"state":"dead"}"#, Lifecycle::Dead, "{}"),
            (r#"{"sleeping":true}"#, Lifecycle::Sleeping, "{}"),
            (r#"{"sleeping":false}"#, Lifecycle::Active, "{}"),
            (
                r#"{"state":"active","sleeping":true}"#,
                Lifecycle::Active,
                r#"{"daycare":{"state":{"sleeping":true}}}"#,
            ),
            (
                r#"{"state":"paused","sleeping":true}"#,
                Lifecycle::Sleeping,
                r#"{"daycare":{"state":{"state":"paused"}}}"#,
            ),
            ("{}", Lifecycle::Active, "{}"),
            ("\"x\"", Lifecycle::Sleeping, r#"{"daycare":{"stateRaw":"\"x\""}}"#),
            ("{", Lifecycle::Sleeping, r#"{"daycare":{"stateRaw":"{"}}"#),
        ] {
            let (state, kept, _) = read(text);
            assert_eq!((state.lifecycle, kept.as_str()), (lifecycle, metadata), "{text}");
        }
    }

    #[test]
    fn what_the_agent_does_not_hold_whole_is_kept_as_it_was_written() {
        let (state, metadata, remarks) = read(
            r#"{"createdAt":1.5,"updatedAt":2,"stats":[],"providerId":"p","routing":{"b":1.0,"b":2},
                "inferenceSessionId":"","context":{"system":1},"permissions":{"events":true}}"#,
        );
        assert_eq!(state.created_at, Some(Timestamp::from_unix_ms(1)));
        assert_eq!(
            metadata,
            r#"{"daycare":{"state":{"createdAt":1.5,"stats":[],"providerId":"p","routing":{"b":1.0,"b":2},"inferenceSessionId":"","context":{"system":1}}}}"#
        );
        assert_eq!(
            remarks,
            [
                "createdAt: no whole number of milliseconds, rounded down",
                "stats: not a JSON object, empty ones are taken",
                "inferenceSessionId: no text that can be one",
                "context: no messages in it, kept in the metadata",
            ]
        );
    }
}
