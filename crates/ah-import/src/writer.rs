//! Gives an agent to the store piece by piece: sessions and events gather until they are as many as
//! one call may hold, then go on in the next.
//!
//! Until the last call the agent is asleep and as old as it can be, so that a run that ends half
//! way shows no agent as whole, and the next one brings its state.

use std::io::{self, Read};

use ah_model::{
    Agent, AgentImport, Lifecycle, NewAgent, NewEvent, RawJson, SessionImport, Timestamp,
};
use ah_store::StoreError;

use crate::ImportError;
use crate::report::Tally;
use crate::target::Target;
use crate::unreadable::{self, Parts, Place, UNREADABLE};

/// How much is held at once, and in one call to the store. A call is over its bound by one record
/// at most, if that is larger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Events and sessions.
    pub(crate) records: usize,
    /// Bytes of their payloads.
    pub(crate) bytes: usize,
    /// Longest file that is read as one JSON value; a longer one is kept raw.
    pub(crate) json_file_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { records: 50_000, bytes: 64 * 1024 * 1024, json_file_bytes: 64 * 1024 * 1024 }
    }
}

/// Why an agent is not taken to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There is nothing to take, or it must not be taken.
    Agent(String),
    /// This one could not be read or stored, the others may.
    Failed(String),
    /// Nothing more can be taken.
    Import(ImportError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            // What the store says about this agent says nothing about the others.
            StoreError::Invalid(_) | StoreError::Conflict { .. } | StoreError::Corrupt { .. } => {
                Self::Failed(error.to_string())
            }
            StoreError::NotFound { .. }
            | StoreError::Unsupported { .. }
            | StoreError::Busy { .. }
            | StoreError::Unreachable { .. }
            | StoreError::Unauthorized
            | StoreError::Forbidden { .. }
            | StoreError::Newer { .. }
            | StoreError::Backend { .. } => Self::Import(error.into()),
        }
    }
}

impl Stop {
    /// A file that cannot be read costs its agent.
    pub(crate) fn io(file: &str, error: &io::Error) -> Self {
        Self::Failed(format!("cannot read {file}: {error}"))
    }
}

/// Who an agent is, before its sessions.
pub(crate) struct Newcomer {
    pub(crate) agent: NewAgent,
    pub(crate) lifecycle: Lifecycle,
    /// As it was said; the time of its first record when it was not.
    pub(crate) created_at: Option<Timestamp>,
    /// As it was said; the time of its first record when it was not.
    pub(crate) updated_at: Option<Timestamp>,
}

/// Bytes to keep raw.
pub(crate) enum Raw<'a, R> {
    Held(&'a [u8]),
    /// So many bytes of a reader.
    Long(R, u64),
}

/// What gathers an agent.
pub(crate) struct AgentWriter<'a, 's> {
    target: &'a mut Target<'s>,
    pub(crate) tally: &'a mut Tally,
    new: Newcomer,
    known: Option<Agent>,
    bounds: Bounds,
    now: Timestamp,
    /// The first time that any record says.
    first_time: Option<Timestamp>,
    /// The time of the newest record of the session, or of its beginning.
    time: Timestamp,
    /// Whether the session has no record that could be read.
    without_records: bool,
    sessions: Vec<SessionImport>,
    held_records: usize,
    held_bytes: usize,
    /// Whether something was given already.
    in_parts: bool,
}

impl<'a, 's> AgentWriter<'a, 's> {
    /// A writer for `new`; `now` is the time of what has none.
    pub(crate) async fn new(
        target: &'a mut Target<'s>,
        tally: &'a mut Tally,
        new: Newcomer,
        bounds: Bounds,
        now: Timestamp,
    ) -> Result<Self, Stop> {
        let known = match &new.agent.origin {
            Some(origin) => target.known(&origin.source, &origin.external_id).await?,
            None => None,
        };
        // What was dated by an import before is not dated anew by this one.
        let now = known.as_ref().map_or(now, |agent| agent.created_at);
        let time = new.created_at.unwrap_or(now);
        Ok(Self {
            target,
            tally,
            new,
            known,
            bounds,
            now,
            first_time: None,
            time,
            without_records: true,
            sessions: Vec::new(),
            held_records: 0,
            held_bytes: 0,
            in_parts: false,
        })
    }

    /// The time of something that says none.
    pub(crate) fn time(&self) -> Timestamp {
        self.time
    }

    /// Notes a time that a record says.
    pub(crate) fn note_time(&mut self, time: Timestamp) {
        self.first_time.get_or_insert(time);
    }

    /// Notes that the session has a record.
    pub(crate) fn note_record(&mut self) {
        self.without_records = false;
    }

    /// Whether nothing was said in the session yet.
    pub(crate) fn session_is_silent(&self) -> bool {
        let message = self.sessions.last().and_then(|session| session.reset_message.as_deref());
        self.without_records && message.is_none_or(|message| message.trim().is_empty())
    }

    /// Ends the session before, if there is one, and begins `session`. A session of which no end is
    /// known ended with its newest record.
    pub(crate) async fn begin(
        &mut self,
        session: SessionImport,
        previous_ends_at: Option<Timestamp>,
    ) -> Result<(), Stop> {
        let bytes = session.reset_message.as_ref().map_or(0, String::len);
        self.make_room(bytes).await?;
        // Both are in one call: the end of the one is for the reason that the other begins with.
        if let Some(before) = self.sessions.last_mut() {
            before.ended_at = Some(previous_ends_at.unwrap_or(self.time));
        }
        self.time = session.created_at;
        self.without_records = true;
        self.sessions.push(session);
        Ok(())
    }

    /// Adds an event to the session; without a time it gets that of the one before.
    pub(crate) async fn push(
        &mut self,
        kind: &str,
        data: RawJson,
        key: String,
        time: Option<Timestamp>,
    ) -> Result<(), Stop> {
        self.make_room(data.as_str().len()).await?;
        self.time = time.unwrap_or(self.time);
        if let Some(session) = self.sessions.last_mut() {
            let (kind, ts) = (kind.to_owned(), Some(self.time));
            session.events.push(NewEvent { kind, data, dedup_key: Some(key), ts });
        }
        Ok(())
    }

    /// Keeps what cannot be read, and says so; without a time it gets that of the one before.
    pub(crate) async fn keep_raw<R: Read>(
        &mut self,
        place: &Place<'_>,
        raw: Raw<'_, R>,
        key: &str,
    ) -> Result<(), Stop> {
        self.time = place.time.unwrap_or(self.time);
        self.tally.kept_raw(place.file, place.line, place.reason);
        match raw {
            Raw::Held(bytes) => match unreadable::whole(place, bytes) {
                Some(data) => self.push(UNREADABLE, data, key.to_owned(), None).await,
                None => self.keep_parts(place, Parts::new(bytes, bytes.len() as u64), key).await,
            },
            Raw::Long(input, bytes) => self.keep_parts(place, Parts::new(input, bytes), key).await,
        }
    }

    async fn keep_parts<R: Read>(
        &mut self,
        place: &Place<'_>,
        mut parts: Parts<R>,
        key: &str,
    ) -> Result<(), Stop> {
        let mut number = 1_u64;
        while let Some(data) = parts.next(place).map_err(|error| Stop::io(place.file, &error))? {
            self.push(UNREADABLE, data, format!("{key}/{number}"), None).await?;
            number += 1;
        }
        Ok(())
    }

    /// Gives what is left; whether the agent's state is another than before.
    pub(crate) async fn finish(mut self) -> Result<bool, Stop> {
        let (created_at, said) = self.times();
        let updated_at = match self.in_parts {
            // Newer than what the parts before said, or it would not be taken.
            true => said.max(Timestamp::from_unix_ms(created_at.unix_ms().saturating_add(1))),
            false => said,
        };
        let sessions = std::mem::take(&mut self.sessions);
        let lifecycle = self.new.lifecycle;
        let agent = self.new.agent.clone();
        let import = AgentImport { agent, lifecycle, created_at, updated_at, sessions };
        let changed = self.known.as_ref().is_some_and(|known| changes(known, &import));
        let given = self.target.give(import).await?;
        self.tally.given.add(given);
        Ok(changed)
    }

    /// Gives what has gathered if a record of `bytes` more would be too much.
    async fn make_room(&mut self, bytes: usize) -> Result<(), Stop> {
        let full = self.held_records >= self.bounds.records
            || self.held_bytes.saturating_add(bytes) > self.bounds.bytes;
        if full && self.held_records > 0 {
            self.give_part().await?;
        }
        self.held_records += 1;
        self.held_bytes += bytes;
        Ok(())
    }

    /// Gives what has gathered; the session goes on in the next call.
    async fn give_part(&mut self) -> Result<(), Stop> {
        let (created_at, _) = self.times();
        // What was said first stays, whatever the next part holds.
        self.new.created_at = Some(created_at);
        let rest = self.sessions.last().map(|session| SessionImport {
            external_id: session.external_id.clone(),
            events: Vec::new(),
            reset_message: session.reset_message.clone(),
            inference_session_id: session.inference_session_id.clone(),
            ..*session
        });
        let sessions = std::mem::replace(&mut self.sessions, rest.into_iter().collect());
        let import = AgentImport {
            agent: self.new.agent.clone(),
            lifecycle: Lifecycle::Sleeping,
            created_at,
            updated_at: created_at,
            sessions,
        };
        let given = self.target.give(import).await?;
        self.tally.given.add(given);
        (self.held_records, self.held_bytes, self.in_parts) = (0, 0, true);
        Ok(())
    }

    /// When the agent was created and last changed, as far as it is known.
    fn times(&self) -> (Timestamp, Timestamp) {
        let first = self.first_time.unwrap_or(self.now);
        (self.new.created_at.unwrap_or(first), self.new.updated_at.unwrap_or(first))
    }
}

/// Whether `known` takes another state from `import`.
fn changes(known: &Agent, import: &AgentImport) -> bool {
    let mut after = known.clone();
    // A refusal is the store's to say.
    let _ = after.take_newer(import);
    (after.revision, after.updated_at) = (known.revision, known.updated_at);
    after != *known
}
