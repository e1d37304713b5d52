//! The messages of a database: whose they are, and with which model they were made.

use std::collections::HashMap;

use ah_model::RawJson;

use crate::ImportError;
use crate::agent::json;
use crate::foreign_db::{Database, Table, TableRow};
use crate::transcript::View;

/// Most messages that are remembered.
const KNOWN_MAX: usize = 10_000;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
    /// The model, to take the place of what was said before.
    Summary,
}

/// What is known of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) speaker: Speaker,
    pub(super) model: Option<String>,
}

impl Message {
    pub(super) fn of(info: &View<'_>) -> Self {
        let speaker = match info.text("role").as_deref() {
            Some("user") => Speaker::User,
            _ if info.is("summary") => Speaker::Summary,
            _ => Speaker::Model,
        };
        let model = info.text("modelID").or_else(|| info.object("model").text("modelID"));
        Self { speaker, model }
    }
}

/// The messages of a database.
pub(super) struct Messages {
    messages: Option<Table>,
    parts: Option<Table>,
    known: HashMap<String, Message>,
}

impl Messages {
    pub(super) fn new(database: &Database) -> Result<Self, ImportError> {
        let messages = Table::find(database, "message")?;
        let parts = Table::find(database, "part")?;
        Ok(Self { messages, parts, known: HashMap::new() })
    }

    /// Remembers what an event says of a message.
    pub(super) fn note(&mut self, id: &str, info: &View<'_>) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(id.to_owned(), Message::of(info));
    }

    /// What is known of the message of that id; one that nobody knows is a model's.
    pub(super) fn message(&mut self, database: &Database, id: &str) -> Message {
        if !self.known.contains_key(id) {
            let data = self.data(database, id).unwrap_or_else(RawJson::null);
            self.note(id, &View::of(&data));
        }
        let unknown = Message { speaker: Speaker::Model, model: None };
        self.known.get(id).cloned().unwrap_or(unknown)
    }

    fn data(&self, database: &Database, id: &str) -> Option<RawJson> {
        let found = self.messages.as_ref()?.select(database, "WHERE id = ?1", &[&id]).ok()?;
        json(&found.first()?.cell("data").bytes()).ok()
    }

    /// The messages of a session behind the one of that id, as many as fit a page.
    pub(super) fn messages_of(
        &self,
        database: &Database,
        session: &str,
        after: &str,
    ) -> Result<Vec<TableRow>, ImportError> {
        let of_session = "WHERE session_id = ?1 AND id > ?2 ORDER BY id";
        page(self.messages.as_ref(), database, of_session, session, after)
    }

    /// The parts of a message behind the one of that id, as many as fit a page.
    pub(super) fn parts_of(
        &self,
        database: &Database,
        message: &str,
        after: &str,
    ) -> Result<Vec<TableRow>, ImportError> {
        let of_message = "WHERE message_id = ?1 AND id > ?2 ORDER BY id";
        page(self.parts.as_ref(), database, of_message, message, after)
    }
}

fn page(
    table: Option<&Table>,
    database: &Database,
    condition: &str,
    of: &str,
    after: &str,
) -> Result<Vec<TableRow>, ImportError> {
    table.map_or_else(|| Ok(Vec::new()), |table| table.select(database, condition, &[&of, &after]))
}
