//! Gives a session to the store: its row, its events, and its row again, because appending moves
//! the row on.
//!
//! A session may be here already, by a hook or an import before: what is here stays, and the
//! transcript only adds. An imported session is idle: its program keeps it to be resumed. Between
//! the first event of an import and its end the row has the label of an unfinished import, so that
//! the time of its last activity is known to be that of an import.

use std::io::Read;

use ah_model::limits::{INDEXED_TEXT_BYTES_MAX, LABEL_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{
    AgentKindRef, ExportHeader, Fork, NewEvent, NewRepo, NewSession, Origin, RawJson, Session,
    SessionId, SessionStatus, Timestamp, Usage, check_text,
};
use ah_store::{Store, StoreError};

use super::spent::{Answers, Spent, USAGE, over};
use crate::minted::free_id;
use crate::report::Tally;
use crate::unreadable::{self, Parts, Place, UNREADABLE};
use crate::writer::{Raw, Stop};

/// The label of a session whose import has not come to its end, and its value.
const UNFINISHED: (&str, &str) = ("import", "unfinished");
/// The label of a session whose last turn has no end, and its value: its program was killed, or is
/// at work.
const UNENDED: (&str, &str) = ("turn", "unended");

/// Events of one append, and bytes of their payloads. An append is over by one event at most.
pub(crate) const BATCH_EVENTS: usize = 8_000;
pub(crate) const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How often a row is tried again that somebody else appends to at the same time.
const ATTEMPTS: usize = 20;

/// Characters of a title that was a prompt.
const TITLE_CHARS: usize = 120;

/// What is known of a session before its first line is taken.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) origin: Origin,
    pub(crate) created_at: Timestamp,
    pub(crate) repo: NewRepo,
    pub(crate) kind: AgentKindRef,
    pub(crate) project_dir: Option<String>,
    pub(crate) parent: Option<SessionId>,
    pub(crate) forked_from: Option<Fork>,
    /// Labels of its own.
    pub(crate) labels: Vec<(&'static str, String)>,
    /// The title that an import before gave it, which may be replaced.
    pub(crate) title_before: Option<String>,
}

/// How good a title is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TitleRank {
    /// The beginning of the first prompt.
    Prompt,
    /// A summary, of old programs.
    Summary,
    /// Made by a model.
    Made,
    /// Given by a person.
    Given,
}

/// What to call a session.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Title {
    pub(crate) rank: TitleRank,
    pub(crate) text: String,
}

impl Title {
    /// The first line of `text`, shortened to what a list can show.
    pub(crate) fn of(rank: TitleRank, text: &str) -> Option<Self> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let text: String = line.chars().take(TITLE_CHARS).collect();
        check_text("title", &text, SHORT_TEXT_BYTES_MAX).ok()?;
        Some(Self { rank, text })
    }

    /// Whether it is to be used where `other` is.
    pub(crate) fn replaces(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| match self.rank {
            TitleRank::Prompt => false,
            rank => rank >= other.rank,
        })
    }
}

/// What a line says of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) model: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) title: Option<Title>,
    /// Whether a turn is begun or ended by it.
    pub(crate) turn: Option<Turn>,
}

/// Whether the last turn of a session has an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Turn {
    Open,
    Ended,
}

/// An event on its way.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: String,
    pub(crate) key: String,
    pub(crate) data: RawJson,
    pub(crate) time: Timestamp,
}

/// A session on its way into the store.
pub(crate) struct SessionLog<'a> {
    store: &'a dyn Store,
    dry_run: bool,
    wanted: Wanted,
    /// Its id; nothing in a dry run of one that is not here.
    id: Option<SessionId>,
    /// When something last happened to it, as far as that was no import.
    active: Option<Timestamp>,
    begun: bool,
    batch: Vec<NewEvent>,
    batch_bytes: usize,
    answers: Answers,
    before: Usage,
    facts: Facts,
    /// The beginning of the first prompt: a hook may have called the session so.
    prompt_title: Option<String>,
    newest: Timestamp,
    pub(crate) tally: Tally,
}

impl<'a> SessionLog<'a> {
    /// Finds the session of `wanted`, or makes it.
    pub(crate) async fn open(
        store: &'a dyn Store,
        dry_run: bool,
        wanted: Wanted,
    ) -> Result<Self, Stop> {
        let known = store.session_of_origin(wanted.origin.clone()).await?;
        let answers = match &known {
            Some(known) => Answers::load(store, known).await?,
            None => Answers::default(),
        };
        let mut log = Self {
            store,
            dry_run,
            id: known.as_ref().map(|known| known.id.clone()),
            active: known
                .as_ref()
                .filter(|known| !is_unfinished(known))
                .map(|row| row.last_activity_at),
            begun: false,
            batch: Vec::new(),
            batch_bytes: 0,
            before: answers.total,
            answers,
            facts: Facts::default(),
            prompt_title: None,
            newest: wanted.created_at,
            tally: Tally::default(),
            wanted,
        };
        if known.is_none() {
            log.create().await?;
        }
        Ok(log)
    }

    pub(crate) fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    /// The newest time that was read of it.
    pub(crate) fn newest(&self) -> Timestamp {
        self.newest
    }

    /// What it is called by what was read of it.
    pub(crate) fn title(&self) -> Option<&Title> {
        self.facts.title.as_ref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.wanted.origin.external_id
    }

    /// All tokens of the session, and those that are new.
    pub(crate) fn usage(&self) -> (Usage, Usage) {
        (self.answers.total, over(self.answers.total, self.before))
    }

    async fn create(&mut self) -> Result<(), Stop> {
        self.tally.given.created = true;
        if self.dry_run {
            return Ok(());
        }
        self.begun = true;
        let name = &self.wanted.origin.external_id;
        let id = free_id(self.store, name, self.wanted.created_at).await?;
        let row = self.row(id);
        let made = self.store.restore_session(ExportHeader::new(row, Vec::new())).await;
        self.id = Some(match made {
            Ok(made) => made.id,
            Err(error @ StoreError::Conflict { .. }) => {
                // Somebody else may have brought it just now.
                let origin = self.wanted.origin.clone();
                self.store.session_of_origin(origin).await?.ok_or(error)?.id
            }
            Err(error) => return Err(error.into()),
        });
        Ok(())
    }

    fn row(&self, id: SessionId) -> Session {
        let Wanted { repo, kind, created_at, .. } = &self.wanted;
        let mut new = NewSession::new(repo.clone(), kind.clone());
        new.origin = Some(self.wanted.origin.clone());
        new.parent = self.wanted.parent.clone();
        new.details.project_dir.clone_from(&self.wanted.project_dir);
        let mut row = Session::created(new, id, 0, *created_at);
        row.status = SessionStatus::Idle;
        row.forked_from.clone_from(&self.wanted.forked_from);
        let (key, value) = UNFINISHED;
        row.labels.0.insert(key.to_owned(), value.to_owned());
        row
    }

    /// Adds an event; whether it is time to flush.
    pub(crate) fn push(&mut self, item: Item) -> bool {
        let Item { kind, key, data, time } = item;
        self.newest = self.newest.max(time);
        self.batch_bytes += data.as_str().len();
        self.batch.push(NewEvent { kind, data, dedup_key: Some(key), ts: Some(time) });
        self.batch.len() >= BATCH_EVENTS || self.batch_bytes >= BATCH_BYTES
    }

    /// Counts the tokens of an answer.
    pub(crate) fn count(&mut self, spent: &Spent, time: Timestamp) {
        if let Some((key, data)) = self.answers.count(spent) {
            self.push(Item { kind: USAGE.to_owned(), key, data, time });
        }
    }

    /// Takes in what a line says of the session.
    pub(crate) fn note(&mut self, facts: Facts) {
        let Facts { model, branch, title, turn } = facts;
        self.facts.model = model.or(self.facts.model.take());
        self.facts.branch = branch.or(self.facts.branch.take());
        self.facts.turn = turn.or(self.facts.turn);
        if let Some(title) = title.as_ref().filter(|title| title.rank == TitleRank::Prompt) {
            self.prompt_title.get_or_insert_with(|| title.text.clone());
        }
        if let Some(title) = title.filter(|title| title.replaces(self.facts.title.as_ref())) {
            self.facts.title = Some(title);
        }
    }

    /// Keeps what cannot be read, and says so; whether it is time to flush.
    pub(crate) async fn keep_raw<R: Read + Send>(
        &mut self,
        place: &Place<'_>,
        raw: Raw<'_, R>,
        key: &str,
        time: Timestamp,
    ) -> Result<bool, Stop> {
        self.tally.kept_raw(place.file, place.line, place.reason);
        let item = |key: String, data| Item { kind: UNREADABLE.to_owned(), key, data, time };
        match raw {
            Raw::Held(bytes) => match unreadable::whole(place, bytes) {
                Some(data) => Ok(self.push(item(key.to_owned(), data))),
                None => {
                    self.keep_parts(place, Parts::new(bytes, bytes.len() as u64), key, time).await
                }
            },
            Raw::Long(input, bytes) => {
                self.keep_parts(place, Parts::new(input, bytes), key, time).await
            }
        }
    }

    async fn keep_parts<R: Read + Send>(
        &mut self,
        place: &Place<'_>,
        mut parts: Parts<R>,
        key: &str,
        time: Timestamp,
    ) -> Result<bool, Stop> {
        let mut number = 1_u64;
        while let Some(data) = parts.next(place).map_err(|error| Stop::io(place.file, &error))? {
            let key = format!("{key}/{number}");
            if self.push(Item { kind: UNREADABLE.to_owned(), key, data, time }) {
                self.flush().await?;
            }
            number += 1;
        }
        Ok(false)
    }

    /// Appends what has gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Stop> {
        let events = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if events.is_empty() {
            return Ok(());
        }
        let Some(id) = self.id.clone().filter(|_| !self.dry_run) else {
            self.tally.given.events += events.len() as u64;
            return Ok(());
        };
        if !std::mem::replace(&mut self.begun, true) {
            self.rewrite(&id, |row| {
                let (key, value) = UNFINISHED;
                row.labels.0.insert(key.to_owned(), value.to_owned());
            })
            .await?;
        }
        let done = self.store.append_events(id, events).await?;
        self.tally.given.events += done.appended;
        self.tally.given.present += done.duplicates;
        self.tally.given.redacted.add_all(&done.redacted);
        Ok(())
    }

    /// Gives what is left, and brings the row to what the transcript says.
    pub(crate) async fn finish(&mut self) -> Result<(), Stop> {
        self.flush().await?;
        match self.id.clone() {
            Some(id) if self.begun && !self.dry_run => {
                self.rewrite(&id, |row| self.bring(row)).await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn rewrite(
        &self,
        id: &SessionId,
        change: impl Fn(&mut Session) + Send,
    ) -> Result<(), StoreError> {
        rewrite(self.store, id, change).await
    }

    fn bring(&self, row: &mut Session) {
        let labels = &mut row.labels.0;
        labels.remove(UNFINISHED.0);
        let said = [("model", &self.facts.model), ("branch", &self.facts.branch)];
        let said = said.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        for (key, value) in said.chain(self.wanted.labels.iter().cloned()) {
            if is_label(&value) {
                labels.insert(key.to_owned(), value);
            }
        }
        match self.facts.turn {
            Some(Turn::Open) => drop(labels.insert(UNENDED.0.to_owned(), UNENDED.1.to_owned())),
            Some(Turn::Ended) => drop(labels.remove(UNENDED.0)),
            None => {}
        }
        if let Some(title) = &self.facts.title
            && (row.title.is_none()
                || row.title == self.wanted.title_before
                || row.title == self.prompt_title)
        {
            row.title = Some(title.text.clone());
        }
        if row.status == SessionStatus::Created {
            row.status = SessionStatus::Idle;
        }
        if row.details.project_dir.is_none() {
            row.details.project_dir.clone_from(&self.wanted.project_dir);
        }
        let active = self.active.map_or(self.newest, |active| active.max(self.newest));
        row.last_activity_at = active.max(row.created_at);
    }
}

/// Changes the row of a session, however many others append to it meanwhile.
pub(crate) async fn rewrite(
    store: &dyn Store,
    id: &SessionId,
    change: impl Fn(&mut Session) + Send,
) -> Result<(), StoreError> {
    for _ in 0..ATTEMPTS {
        let here = store.session(id.clone()).await?;
        let mut row = here.clone();
        change(&mut row);
        if row == here {
            return Ok(());
        }
        match store.restore_session(ExportHeader::new(row, Vec::new())).await {
            Err(StoreError::Conflict { .. }) => {}
            other => return other.map(drop),
        }
    }
    // Another import is at work on the session, and brings the row to its end.
    Ok(())
}

fn is_unfinished(row: &Session) -> bool {
    row.labels.0.get(UNFINISHED.0).is_some_and(|value| value == UNFINISHED.1)
}

/// Whether `value` may be that of a label.
pub(crate) fn is_label(value: &str) -> bool {
    check_text("label", value, LABEL_BYTES_MAX).is_ok() && !value.is_empty()
}

/// `dir` as a session's directory, if it may be one.
pub(crate) fn project_dir(dir: &str) -> Option<String> {
    check_text("projectDir", dir, INDEXED_TEXT_BYTES_MAX).is_ok().then(|| dir.to_owned())
}

/// The kind of that version; the newest when the version is none that a kind may have.
pub(crate) fn kind(source: &str, version: Option<&str>) -> AgentKindRef {
    let of = |version: &str| AgentKindRef { name: source.to_owned(), version: version.to_owned() };
    let said = version.map(of).filter(|kind| kind.check().is_ok());
    said.unwrap_or_else(|| of("latest"))
}
