//! What a turn leaves in the agent's session. Keys make it harmless that a turn is run again.

use ah_model::{Agent, Event, EventQuery, Message, NewEvent, Order, PageLimit, RawJson, SessionId};
use ah_store::{Store, StoreError, block_on};
use serde_json::json;

use super::input::heading;
use super::turn::{End, Ended};

const USER_MESSAGE: &str = "user_message";
const ASSISTANT_MESSAGE: &str = "assistant_message";
/// The type of the event that ends a turn.
pub(super) const TURN_END: &str = "turn_end";

/// The records of one turn.
pub(super) struct Records<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) agent: &'a Agent,
    pub(super) message: &'a Message,
}

impl Records<'_> {
    /// The message came in.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        let message = self.message;
        let data = json!({
            "text": format!("{}\n{}", heading(message), message.body),
            "from": message.from,
            "messageId": message.id,
            "messageKind": message.kind,
            "about": message.about,
        });
        self.append(vec![self.event(USER_MESSAGE, &data, "in")?])
    }

    /// The turn ended; with what it answered, where it ended well.
    pub(super) fn end(&self, ended: &Ended) -> Result<(), StoreError> {
        let (outcome, note) = match &ended.end {
            End::Succeeded(_) => ("succeeded", None),
            End::Failed(note) => ("failed", Some(note.as_str())),
            End::Stopped => ("stopped", Some("the loop was stopped")),
            End::Lost(note) => ("lost", Some(note.as_str())),
        };
        let data = json!({
            "messageId": self.message.id,
            "delivery": self.message.deliveries,
            "outcome": outcome,
            "exitCode": ended.code,
            "signal": ended.signal,
            "note": note,
        });
        let mut events = Vec::new();
        let part = match &ended.end {
            End::Succeeded(text) => {
                if !text.trim().is_empty() {
                    let said = json!({ "text": text, "messageId": self.message.id });
                    events.push(self.event(ASSISTANT_MESSAGE, &said, "out")?);
                }
                DONE.to_owned()
            }
            End::Failed(_) | End::Stopped | End::Lost(_) => {
                format!("end-{}", self.message.deliveries)
            }
        };
        events.push(self.event(TURN_END, &data, &part)?);
        self.append(events)
    }

    /// Whether a turn with this message ended well in `session` before.
    pub(super) fn is_done(&self, session: &SessionId) -> Result<bool, StoreError> {
        if self.message.deliveries <= 1 {
            return Ok(false);
        }
        let query = EventQuery {
            types: vec![TURN_END.to_owned()],
            order: Order::Newest,
            limit: PageLimit::MAX,
            ..EventQuery::default()
        };
        let key = Some(self.key(DONE));
        let ends = block_on(self.store.events(session.clone(), query))?;
        Ok(ends.iter().any(|end: &Event| end.dedup_key == key))
    }

    fn append(&self, events: Vec<NewEvent>) -> Result<(), StoreError> {
        block_on(self.store.append_to_agent(self.agent.id.clone(), None, events)).map(drop)
    }

    fn event(
        &self,
        kind: &str,
        data: &serde_json::Value,
        part: &str,
    ) -> Result<NewEvent, StoreError> {
        let (kind, data) = (kind.to_owned(), RawJson::of(data)?);
        Ok(NewEvent { kind, data, dedup_key: Some(self.key(part)), ts: None })
    }

    fn key(&self, part: &str) -> String {
        format!("turn/{}/{part}", self.message.id)
    }
}

/// The part of the key that says that a turn ended well.
const DONE: &str = "done";
