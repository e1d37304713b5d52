//! The replay of a session: a window of its timeline that moves with who looks.
//!
//! Invariant: at most [`ITEMS_MAX`] items are held, whatever the session has; their numbers rise without
//! a gap between `first` and `last`.

use std::collections::{HashMap, HashSet};

use ah_model::SessionId;
use ratatui::layout::Rect;

use crate::clean::{clean, cut};
use crate::decode::{Call, Item, Who};
use crate::effect::{Effect, EventsRead, Part, SessionRead};
use crate::input::Key;
use crate::model::{Model, Screen};
use crate::reading::Reading;
use crate::view::replay::rows_of;

/// Items that are held.
pub(crate) const ITEMS_MAX: usize = 1_000;
/// Rows above the timeline.
pub(crate) const HEAD: u16 = 3;
/// Items from the end of what is held at which more is read.
const NEAR: usize = 40;
/// Columns of a summary.
const SUMMARY: usize = 300;

impl Item {
    /// What it is known by.
    pub(crate) fn key(&self) -> (u64, usize) {
        (self.seq, self.place)
    }

    /// It on one line.
    pub(crate) fn summary(&self) -> String {
        let text = match &self.call {
            Some(Call { name, input, .. }) => {
                format!("{name} {}", input.as_deref().unwrap_or_default())
            }
            None => self.text.clone(),
        };
        cut(&clean(text.trim()), SUMMARY)
    }
}

/// A session that is looked at.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) id: SessionId,
    /// Where it was opened from.
    from: Screen,
    pub(crate) head: Option<Box<SessionRead>>,
    pub(crate) head_reading: Reading,
    pub(crate) items: Vec<Item>,
    /// The numbers of the first and last event that are held.
    first: u64,
    last: u64,
    pub(crate) is_top: bool,
    pub(crate) is_end: bool,
    /// Whether the newest is kept in sight.
    pub(crate) follows: bool,
    pub(crate) at: usize,
    /// The item and the row of it that is the first on the screen.
    pub(crate) top: (usize, usize),
    /// Items that are other than they are at first: tools and notes unfolded, texts folded.
    turned: HashSet<(u64, usize)>,
    asked: u64,
    is_under_way: bool,
    pub(crate) newer: Reading,
    pub(crate) is_known: bool,
    pub(crate) problem: Option<String>,
}

impl Replay {
    fn new(id: SessionId, from: Screen, asked: u64) -> Self {
        Self {
            id,
            from,
            head: None,
            head_reading: Reading::default(),
            items: Vec::new(),
            first: 0,
            last: 0,
            is_top: false,
            is_end: false,
            follows: false,
            at: 0,
            top: (0, 0),
            turned: HashSet::new(),
            asked,
            is_under_way: true,
            newer: Reading::default(),
            is_known: false,
            problem: None,
        }
    }

    /// Whether the whole of an item is shown.
    pub(crate) fn is_open(&self, item: &Item) -> bool {
        let is_folded_at_first = item.call.is_some() || item.who == Who::Note;
        self.turned.contains(&item.key()) == is_folded_at_first
    }

    fn rows(&self, at: usize, area: Rect) -> usize {
        self.items.get(at).map_or(0, |item| rows_of(item, self.is_open(item), area.width))
    }

    /// Takes in events that were read.
    pub(crate) fn take(&mut self, asked: u64, part: Part, read: EventsRead, area: Rect) {
        if asked != self.asked {
            return;
        }
        (self.is_under_way, self.is_known, self.problem) = (false, true, None);
        let places = (self.key_at(self.at), self.key_at(self.top.0));
        let EventsRead { items, span, is_top, is_end } = read;
        match part {
            Part::Newest | Part::Oldest | Part::Around(_) => {
                self.items = items;
                (self.first, self.last) = span.unwrap_or_default();
                (self.is_top, self.is_end) = (is_top, is_end || part == Part::Newest);
            }
            Part::Before(_) => {
                self.items.splice(0..0, items);
                self.first = span.map_or(self.first, |(first, _)| first);
                self.is_top |= is_top;
            }
            Part::After(_) => {
                self.items.extend(items);
                self.last = span.map_or(self.last, |(_, last)| last);
                self.is_end = is_end;
            }
        }
        self.join_calls();
        match part {
            Part::Newest => (self.follows, self.at) = (true, self.items.len().saturating_sub(1)),
            Part::Oldest => (self.follows, self.at, self.top) = (false, 0, (0, 0)),
            Part::Around(seq) => {
                self.at = self.items.partition_point(|item| item.seq < seq);
                (self.follows, self.top) = (false, (self.at.saturating_sub(2), 0));
            }
            Part::Before(_) | Part::After(_) => {
                let (at, top) = (self.place_of(places.0), self.place_of(places.1));
                (self.at, self.top.0) = (at, top);
            }
        }
        self.bound();
        self.settle(area);
    }

    fn key_at(&self, at: usize) -> Option<(u64, usize)> {
        self.items.get(at).map(Item::key)
    }

    fn place_of(&self, key: Option<(u64, usize)>) -> usize {
        key.map_or(0, |key| self.items.partition_point(|item| item.key() < key))
    }

    /// Brings answers to the calls they are for, where both are held.
    fn join_calls(&mut self) {
        let mut calls: HashMap<String, usize> = HashMap::new();
        let mut gone = HashSet::new();
        for at in 0..self.items.len() {
            let Some(call) = self.items[at].call.as_ref() else { continue };
            if call.input.is_some() {
                calls.insert(call.id.clone(), at);
                continue;
            }
            let (id, outcome) = (call.id.clone(), call.outcome.clone());
            let asked = calls.get(&id).and_then(|at| self.items.get_mut(*at));
            if let Some(asked) = asked.and_then(|item| item.call.as_mut()) {
                asked.outcome = outcome;
                gone.insert(self.items[at].key());
            }
        }
        self.items.retain(|item| !gone.contains(&item.key()));
    }

    /// Lets go of what is furthest from who looks.
    fn bound(&mut self) {
        let over = self.items.len().saturating_sub(ITEMS_MAX);
        if over == 0 {
            return;
        }
        if self.at * 2 > self.items.len() {
            // Whole events go: the next one begins the window.
            let from = self.items.get(over).map_or(0, |item| item.seq);
            let cut = self.items.partition_point(|item| item.seq < from);
            self.items.drain(..cut);
            self.at = self.at.saturating_sub(cut);
            self.top.0 = self.top.0.saturating_sub(cut);
            (self.first, self.is_top) = (from, false);
        } else {
            let upto = self.items.get(ITEMS_MAX).map_or(u64::MAX, |item| item.seq);
            self.items.truncate(self.items.partition_point(|item| item.seq < upto));
            (self.last, self.is_end, self.follows) = (upto.saturating_sub(1), false, false);
        }
    }

    /// Keeps the chosen item in sight.
    pub(crate) fn settle(&mut self, area: Rect) {
        let height = usize::from(area.height.saturating_sub(HEAD)).max(1);
        let end = self.items.len().saturating_sub(1);
        self.at = if self.follows { end } else { self.at.min(end) };
        self.top.0 = self.top.0.min(end);
        let own = self.rows(self.at, area);
        if self.at < self.top.0 {
            self.top = (self.at, 0);
            return;
        }
        if self.at == self.top.0 {
            self.top.1 = match self.follows {
                true => own.saturating_sub(height),
                false => self.top.1.min(own.saturating_sub(height)),
            };
            // What is before it fills the screen below.
            if own >= height || self.at == 0 || !self.follows {
                return;
            }
        }
        if self.ends_in_sight(height, area) && !self.follows {
            return;
        }
        if own >= height {
            self.top = (self.at, if self.follows { own - height } else { 0 });
            return;
        }
        let (mut left, mut at) = (height - own, self.at);
        while at > 0 && left > 0 {
            let rows = self.rows(at - 1, area);
            if rows > left {
                self.top = (at - 1, rows - left);
                return;
            }
            (left, at) = (left - rows, at - 1);
        }
        self.top = (at, 0);
    }

    fn ends_in_sight(&self, height: usize, area: Rect) -> bool {
        let mut used = self.rows(self.top.0, area).saturating_sub(self.top.1);
        let mut at = self.top.0;
        while at < self.at && used <= height {
            at += 1;
            used += self.rows(at, area);
        }
        at == self.at && used <= height
    }

    /// A step down: through a tall item row by row, else to the next.
    fn down(&mut self, by: usize, area: Rect) {
        let height = usize::from(area.height.saturating_sub(HEAD)).max(1);
        let mut left = by;
        while left > 0 {
            let own = self.rows(self.at, area);
            let below = own.saturating_sub(self.top.1 + height);
            if self.at == self.top.0 && below > 0 {
                let step = below.min(left);
                (self.top.1, left) = (self.top.1 + step, left - step);
                continue;
            }
            if self.at + 1 >= self.items.len() {
                break;
            }
            self.at += 1;
            left = left.saturating_sub(if by == 1 { 1 } else { self.rows(self.at, area).max(1) });
            self.settle(area);
        }
        self.follows = self.is_end && self.at + 1 >= self.items.len();
    }

    fn up(&mut self, by: usize, area: Rect) {
        self.follows = false;
        let mut left = by;
        while left > 0 {
            if self.at == self.top.0 && self.top.1 > 0 {
                let step = self.top.1.min(left);
                (self.top.1, left) = (self.top.1 - step, left - step);
                continue;
            }
            if self.at == 0 {
                break;
            }
            self.at -= 1;
            left = left.saturating_sub(if by == 1 { 1 } else { self.rows(self.at, area).max(1) });
            self.settle(area);
        }
    }

    /// What is to be read for where somebody looks.
    pub(crate) fn more(&mut self) -> Option<Effect> {
        if self.is_under_way || !self.is_known || self.items.is_empty() {
            return None;
        }
        let is_near_end = self.at + NEAR >= self.items.len();
        let part = match () {
            () if self.at < NEAR && !self.is_top => Part::Before(self.first),
            () if is_near_end && !self.is_end => Part::After(self.last),
            () => return None,
        };
        Some(self.read(part))
    }

    /// What was appended behind what is held.
    pub(crate) fn newer(&mut self) -> Option<Effect> {
        if self.is_under_way || !self.is_end {
            return None;
        }
        Some(self.read(Part::After(self.last)))
    }

    fn read(&mut self, part: Part) -> Effect {
        self.is_under_way = true;
        Effect::ReadEvents { asked: self.asked, session: self.id.clone(), part }
    }

    pub(crate) fn refused(&mut self, asked: u64, problem: &str) {
        if asked == self.asked {
            self.is_under_way = false;
            self.problem = Some(clean(problem));
        }
    }

    /// Reads anew what could not be read.
    pub(crate) fn again(&mut self) -> Option<Effect> {
        (self.problem.take().is_some() && !self.is_known).then(|| self.read(Part::Newest))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.is_under_way
    }
}

impl Model {
    /// Shows a session, at one of its events or at its end.
    pub(crate) fn open(&mut self, id: SessionId, seq: Option<u64>, effects: &mut Vec<Effect>) {
        let asked = self.ask();
        let part = seq.map_or(Part::Newest, Part::Around);
        effects.push(Effect::ReadEvents { asked, session: id.clone(), part });
        let mut replay = Replay::new(id, self.screen, asked);
        replay.head_reading.want();
        self.replay = Some(replay);
        self.screen = Screen::Sessions;
    }
}

pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let area = model.body();
    let page = usize::from(area.height.saturating_sub(HEAD + 1)).max(1);
    let Some(replay) = &mut model.replay else { return };
    match key {
        Key::Esc | Key::Backspace => {
            model.screen = replay.from;
            model.replay = None;
            return;
        }
        Key::Char('j') | Key::Down => replay.down(1, area),
        Key::Char('k') | Key::Up => replay.up(1, area),
        Key::PageDown | Key::Ctrl('d' | 'f') => replay.down(page, area),
        Key::PageUp | Key::Ctrl('u' | 'b') => replay.up(page, area),
        Key::Char('g') | Key::Home if replay.is_top => {
            (replay.follows, replay.at, replay.top) = (false, 0, (0, 0));
        }
        Key::Char('g') | Key::Home => effects.extend(jump(replay, Part::Oldest)),
        Key::Char('G') | Key::End if replay.is_end => replay.follows = true,
        Key::Char('G') | Key::End => effects.extend(jump(replay, Part::Newest)),
        Key::Enter | Key::Char(' ') => {
            if let Some(key) = replay.key_at(replay.at)
                && !replay.turned.remove(&key)
            {
                replay.turned.insert(key);
            }
        }
        Key::Char('p') => {
            let head = replay.head.as_ref().map(|head| &head.session);
            let fork = head.and_then(|session| session.forked_from.clone());
            let parent = head.and_then(|session| session.parent_session_id.clone());
            let from = replay.from;
            if let Some(fork) = fork {
                model.open(fork.session_id, Some(fork.at_seq), effects);
            } else if let Some(parent) = parent {
                model.open(parent, None, effects);
            }
            if let Some(replay) = &mut model.replay {
                replay.from = from;
            }
            return;
        }
        _ => {}
    }
    if let Some(replay) = &mut model.replay {
        replay.settle(area);
        effects.extend(replay.more());
    }
}

/// The wheel.
pub(crate) fn scroll(model: &mut Model, by: i32, effects: &mut Vec<Effect>) {
    let area = model.body();
    let Some(replay) = &mut model.replay else { return };
    let rows = usize::try_from(by.unsigned_abs()).unwrap_or(1);
    match by < 0 {
        true => replay.up(rows, area),
        false => replay.down(rows, area),
    }
    replay.settle(area);
    effects.extend(replay.more());
}

fn jump(replay: &mut Replay, part: Part) -> Option<Effect> {
    (!replay.is_under_way).then(|| replay.read(part))
}
