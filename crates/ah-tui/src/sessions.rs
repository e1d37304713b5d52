//! Sessions: the list, read as far as somebody looks, and the search in all of them.

use ah_model::{Cursor, Page, SearchHit, SearchText, Session, SessionFilter, SessionId, Timestamp};

use crate::clean::{clean, cut};
use crate::dialog::{Dialog, Purpose};
use crate::effect::Effect;
use crate::input::Key;
use crate::list::List;
use crate::model::Model;
use crate::reading::Reading;

/// Columns of a title that are kept.
const TITLE_MAX: usize = 200;

/// What is shown of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub(crate) id: SessionId,
    pub(crate) status: &'static str,
    pub(crate) agent: String,
    pub(crate) title: String,
    pub(crate) events: u64,
    pub(crate) tokens: u64,
    pub(crate) active: Timestamp,
    pub(crate) is_pinned: bool,
    pub(crate) is_fork: bool,
}

impl SessionRow {
    fn of(session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            status: session.status.as_str(),
            agent: cut(&clean(&session.agent.to_string()), TITLE_MAX),
            title: cut(&clean(session.title.as_deref().unwrap_or_default()), TITLE_MAX),
            events: session.last_seq,
            tokens: session.usage.total(),
            active: session.last_activity_at,
            is_pinned: session.pinned,
            is_fork: session.forked_from.is_some() || session.parent_session_id.is_some(),
        }
    }
}

/// Words that are looked for, and where they were found.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) asked: u64,
    pub(crate) typed: String,
    text: SearchText,
    pub(crate) hits: Vec<SearchHit>,
    pub(crate) list: List,
    next: Option<Cursor>,
    pub(crate) is_under_way: bool,
    pub(crate) problem: Option<String>,
}

/// The sessions that were read, the last active first.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(crate) rows: Vec<SessionRow>,
    pub(crate) list: List,
    pub(crate) reading: Reading,
    pub(crate) is_known: bool,
    pub(crate) typed: String,
    pub(crate) chosen_by: SessionFilter,
    /// Rises with every other filter.
    pub(crate) asked: u64,
    next: Option<Cursor>,
    is_more_under_way: bool,
    pub(crate) search: Option<Search>,
}

impl Sessions {
    /// Chooses which are shown.
    pub(crate) fn filter(&mut self, typed: &str, filter: SessionFilter) {
        let (asked, reading) = (self.asked + 1, self.reading);
        let typed = clean(typed);
        *self = Self { typed, chosen_by: filter, asked, reading, ..Self::default() };
        self.reading.want();
    }

    pub(crate) fn chosen(&self) -> Option<&SessionRow> {
        self.rows.get(self.list.at)
    }

    /// Takes in a page. The first goes before what was read behind it, unless there is a gap.
    pub(crate) fn take(&mut self, asked: u64, is_first: bool, page: Page<Session>) {
        if asked != self.asked {
            return;
        }
        let chosen = self.chosen().map(|row| row.id.clone());
        let fresh: Vec<SessionRow> = page.items.iter().map(SessionRow::of).collect();
        let fresh_ids: std::collections::HashSet<SessionId> =
            fresh.iter().map(|row| row.id.clone()).collect();
        let overlaps = self.rows.iter().any(|row| fresh_ids.contains(&row.id));
        let mut rest = std::mem::take(&mut self.rows);
        rest.retain(|row| !fresh_ids.contains(&row.id));
        match is_first {
            true if overlaps && page.next_cursor.is_some() => {
                // What was active before the page ends belongs behind it; the rest is gone.
                let end = fresh.last().map_or(Timestamp::EPOCH, |row| row.active);
                rest.retain(|row| row.active <= end);
                if rest.is_empty() {
                    self.next = page.next_cursor;
                }
                self.rows = fresh.into_iter().chain(rest).collect();
            }
            true => (self.rows, self.next) = (fresh, page.next_cursor),
            false => {
                self.next = page.next_cursor;
                self.rows = rest.into_iter().chain(fresh).collect();
            }
        }
        self.is_known = true;
        // Who looks at the top sees what is new; who looks further down stays there.
        let is_at_top = self.list.at == 0;
        let place = chosen.and_then(|id| self.rows.iter().position(|row| row.id == id));
        if let Some(place) = place.filter(|_| !is_at_top) {
            self.list.follow(place);
        }
    }

    pub(crate) fn more_ended(&mut self) {
        self.is_more_under_way = false;
    }

    /// The next page, when the end of what is known comes into sight.
    pub(crate) fn more(&mut self, height: usize) -> Option<Effect> {
        let is_near = self.list.at + 2 * height >= self.rows.len();
        let cursor = self.next.clone().filter(|_| is_near && !self.is_more_under_way)?;
        self.is_more_under_way = true;
        let filter = Box::new(self.chosen_by.clone());
        Some(Effect::ReadSessions { asked: self.asked, filter, cursor: Some(cursor) })
    }
}

impl Search {
    pub(crate) fn take(&mut self, is_first: bool, page: Page<SearchHit>) {
        if is_first {
            self.hits.clear();
        }
        self.hits.extend(page.items);
        (self.next, self.is_under_way, self.problem) = (page.next_cursor, false, None);
    }

    fn more(&mut self, height: usize) -> Option<Effect> {
        let is_near = self.list.at + height >= self.hits.len();
        let cursor = self.next.clone().filter(|_| is_near && !self.is_under_way)?;
        self.is_under_way = true;
        Some(Effect::Search { asked: self.asked, text: self.text.clone(), cursor: Some(cursor) })
    }

    pub(crate) fn has_more(&self) -> bool {
        self.next.is_some()
    }
}

impl Model {
    /// Looks for words in all sessions.
    pub(crate) fn search(&mut self, typed: &str, effects: &mut Vec<Effect>) -> Result<(), String> {
        let text: SearchText = typed.parse().map_err(|error| format!("{error}"))?;
        let asked = self.ask();
        effects.push(Effect::Search { asked, text: text.clone(), cursor: None });
        self.replay = None;
        self.sessions.search = Some(Search {
            asked,
            typed: clean(typed),
            text,
            hits: Vec::new(),
            list: List::default(),
            next: None,
            is_under_way: true,
            problem: None,
        });
        Ok(())
    }
}

pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let height = Model::rows_of(model.body());
    match key {
        Key::Char('/') => {
            let typed = model.sessions.search.as_ref().map(|search| search.typed.clone());
            model.dialog = Some(Dialog::ask(Purpose::Search, &typed.unwrap_or_default()));
            return;
        }
        Key::Char('f') => {
            let typed = model.sessions.typed.clone();
            model.dialog = Some(Dialog::ask(Purpose::Filter, &typed));
            return;
        }
        _ => {}
    }
    if model.sessions.search.is_some() {
        return search_key(model, key, height / 2, effects);
    }
    let sessions = &mut model.sessions;
    if sessions.list.key(key, sessions.rows.len(), height) {
        effects.extend(sessions.more(height));
        return;
    }
    match key {
        Key::Enter => {
            if let Some(id) = sessions.chosen().map(|row| row.id.clone()) {
                model.open(id, None, effects);
            }
        }
        Key::Esc if !sessions.typed.is_empty() => sessions.filter("", SessionFilter::default()),
        _ => {}
    }
}

fn search_key(model: &mut Model, key: Key, height: usize, effects: &mut Vec<Effect>) {
    let Some(search) = &mut model.sessions.search else { return };
    if search.list.key(key, search.hits.len(), height) {
        effects.extend(search.more(height));
        return;
    }
    match key {
        Key::Esc => model.sessions.search = None,
        Key::Enter => {
            if let Some(hit) = search.hits.get(search.list.at) {
                let (id, seq) = (hit.session_id.clone(), hit.seq);
                model.open(id, Some(seq), effects);
            }
        }
        _ => {}
    }
}
