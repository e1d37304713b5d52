//! Agents: who lives here, what they did last, what waits for them.

use ah_model::{Agent, AgentId, Cursor, Page, Party, SessionId, Timestamp};

use crate::clean::clean;
use crate::dialog::{Dialog, Purpose};
use crate::effect::{Effect, Turn, TurnOf};
use crate::input::Key;
use crate::list::List;
use crate::model::Model;
use crate::reading::Reading;

/// What is shown of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentRow {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) stands: &'static str,
    pub(crate) is_protected: bool,
    pub(crate) is_destroyed: bool,
    pub(crate) kind: String,
    pub(crate) model: String,
    pub(crate) session: Option<SessionId>,
    pub(crate) sessions: u64,
    pub(crate) tokens: u64,
    pub(crate) changed: Timestamp,
    pub(crate) turn: Option<Turn>,
    /// Whether its turn may be another than what is known.
    is_stale: bool,
}

impl AgentRow {
    fn of(agent: &Agent) -> Self {
        Self {
            id: agent.id.clone(),
            name: agent.name.clone(),
            stands: match agent.destroyed_at {
                Some(_) => "destroyed",
                None => agent.lifecycle.as_str(),
            },
            is_protected: agent.protected,
            is_destroyed: agent.destroyed_at.is_some(),
            kind: clean(&agent.kind.to_string()),
            model: clean(agent.model.as_deref().unwrap_or_default()),
            session: agent.active_session_id.clone(),
            sessions: agent.session_count,
            tokens: agent.usage.total(),
            changed: agent.updated_at,
            turn: None,
            is_stale: true,
        }
    }
}

/// The agents that were read, by name.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    pub(crate) rows: Vec<AgentRow>,
    pub(crate) list: List,
    pub(crate) reading: Reading,
    pub(crate) turns: Reading,
    pub(crate) is_known: bool,
    next: Option<Cursor>,
    is_more_under_way: bool,
}

impl Agents {
    pub(crate) fn chosen(&self) -> Option<&AgentRow> {
        self.rows.get(self.list.at)
    }

    /// Takes in a page; what is known of turns and the chosen one stay.
    pub(crate) fn take(&mut self, is_first: bool, page: Page<Agent>) {
        let chosen = self.chosen().map(|row| row.id.clone());
        let mut fresh: Vec<AgentRow> = page.items.iter().map(AgentRow::of).collect();
        for row in &mut fresh {
            let known = self.rows.iter().find(|old| old.id == row.id);
            row.turn = known.and_then(|old| old.turn.clone());
        }
        if is_first {
            let is_new = |row: &AgentRow| !fresh.iter().any(|new| new.id == row.id);
            let was_longer = self.rows.len() > fresh.len() && page.next_cursor.is_some();
            let rest: Vec<AgentRow> = match was_longer {
                true => self.rows.drain(..).skip(fresh.len()).filter(is_new).collect(),
                false => Vec::new(),
            };
            if rest.is_empty() {
                self.next = page.next_cursor;
            }
            self.rows = fresh.into_iter().chain(rest).collect();
        } else {
            self.next = page.next_cursor;
            self.rows.retain(|old| !fresh.iter().any(|new| new.id == old.id));
            self.rows.extend(fresh);
        }
        self.is_known = true;
        let place = chosen.and_then(|id| self.rows.iter().position(|row| row.id == id));
        if let Some(place) = place {
            self.list.follow(place);
        }
        self.turns.want();
    }

    pub(crate) fn more_ended(&mut self) {
        self.is_more_under_way = false;
    }

    /// The next page, when the end of what is known comes into sight.
    pub(crate) fn more(&mut self, height: usize) -> Option<Effect> {
        let is_near = self.list.at + height >= self.rows.len();
        let cursor = self.next.clone().filter(|_| is_near && !self.is_more_under_way)?;
        self.is_more_under_way = true;
        Some(Effect::ReadAgents(Some(cursor)))
    }

    /// What an agent did may be other than what is known.
    pub(crate) fn stale(&mut self, is_meant: impl Fn(&AgentRow) -> bool) {
        for row in self.rows.iter_mut().filter(|row| is_meant(row)) {
            row.is_stale = true;
            self.turns.want();
        }
    }

    pub(crate) fn stale_party(&mut self, party: &Party) {
        self.stale(|row| party.is(&row.name));
    }

    /// Those in sight whose turns are to be read.
    pub(crate) fn wanted_turns(&mut self, height: usize) -> Vec<TurnOf> {
        let seen = self.rows.iter_mut().skip(self.list.top).take(height.max(1));
        seen.filter(|row| row.is_stale)
            .map(|row| {
                row.is_stale = false;
                let (id, name) = (row.id.clone(), row.name.clone());
                TurnOf { id, name, session: row.session.clone() }
            })
            .collect()
    }

    pub(crate) fn take_turns(&mut self, turns: Vec<Turn>) {
        for turn in turns {
            if let Some(row) = self.rows.iter_mut().find(|row| row.id == turn.id) {
                row.turn = Some(turn);
            }
        }
    }

    /// Whether a row in sight has a turn to be read.
    pub(crate) fn lacks_turns(&self, height: usize) -> bool {
        self.rows.iter().skip(self.list.top).take(height.max(1)).any(|row| row.is_stale)
    }
}

pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let height = Model::rows_of(model.panes().list);
    let agents = &mut model.agents;
    if agents.list.key(key, agents.rows.len(), height) {
        effects.extend(agents.more(height));
        return;
    }
    let Some(agent) = agents.chosen().cloned() else { return };
    match key {
        Key::Enter => {
            if let Some(session) = agent.session {
                model.open(session, None, effects);
            }
        }
        Key::Char('m') if !agent.is_destroyed => {
            let now = agent.model.clone();
            model.dialog = Some(Dialog::ask(Purpose::Model(Box::new(agent)), &now));
        }
        Key::Char('D') if !agent.is_destroyed => {
            model.dialog = Some(Dialog::ask(Purpose::Destroy(Box::new(agent)), ""));
        }
        Key::Char('R') if agent.is_destroyed => {
            model.dialog = Some(Dialog::ask(Purpose::Revive(Box::new(agent)), ""));
        }
        _ => {}
    }
}
