//! Everything the window knows. What is shown is a function of it.

use ah_model::{DraftFields, DraftId, SessionId, Timestamp};
use ratatui::layout::Rect;

use crate::agents::Agents;
use crate::clean::clean;
use crate::dialog::Dialog;
use crate::needs::Needs;
use crate::replay::Replay;
use crate::sessions::Sessions;
use crate::task::TaskForm;

/// How long something that was said stays.
const SAID_MS: u64 = 8_000;
/// Columns from which a list and what is chosen stand side by side.
const WIDE: u16 = 110;

/// The four jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Screen {
    /// What needs me.
    #[default]
    Needs,
    /// Agents.
    Agents,
    /// Sessions, and the replay of one.
    Sessions,
    /// A new task.
    Task,
}

impl Screen {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Needs, Self::Agents, Self::Sessions, Self::Task];
}

/// Whether the store can be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Link {
    /// It can.
    #[default]
    There,
    /// It cannot.
    Gone {
        /// Since when.
        since: Timestamp,
        /// Why.
        reason: String,
    },
}

/// Whether the window closes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Closing {
    #[default]
    No,
    /// Once what was typed is saved.
    Saving,
    Yes,
}

/// What the window begins with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The time.
    pub now: Timestamp,
    /// Columns and rows.
    pub size: (u16, u16),
    /// What is looked at: a database or a server.
    pub place: String,
    /// Whether there are colours.
    pub has_colour: bool,
    /// The repository that a task is for, unless somebody types another.
    pub repository: Option<String>,
    /// The agent kind of a task, unless somebody types another.
    pub agent: String,
    /// The id of the first draft.
    pub draft: DraftId,
    /// What was typed and could not be saved the last time.
    pub kept: Option<DraftFields>,
}

/// Everything the window knows.
#[derive(Debug)]
pub struct Model {
    pub(crate) now: Timestamp,
    pub(crate) size: (u16, u16),
    pub(crate) place: String,
    pub(crate) has_colour: bool,
    pub(crate) screen: Screen,
    pub(crate) has_help: bool,
    pub(crate) link: Link,
    pub(crate) said: Option<(String, Timestamp)>,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) needs: Needs,
    pub(crate) agents: Agents,
    pub(crate) sessions: Sessions,
    pub(crate) replay: Option<Replay>,
    pub(crate) task: TaskForm,
    pub(crate) closing: Closing,
    /// Counts what was asked, so that late answers are known.
    pub(crate) asked: u64,
}

/// A list and what is chosen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panes {
    pub(crate) list: Rect,
    pub(crate) detail: Rect,
}

impl Model {
    /// A window that has read nothing yet.
    pub fn new(opening: Opening) -> Self {
        let Opening { now, size, place, has_colour, repository, agent, draft, kept } = opening;
        let mut task = TaskForm::new(draft, repository.as_deref().unwrap_or("."), &agent);
        let mut said = None;
        if let Some(kept) = kept {
            task.fill(&kept);
            task.typed(now);
            said = Some(("what you typed the last time is in 4 New task".to_owned(), now));
        }
        Self {
            now,
            size,
            place: clean(&place),
            has_colour,
            screen: Screen::default(),
            has_help: false,
            link: Link::default(),
            said,
            dialog: None,
            needs: Needs::default(),
            agents: Agents::default(),
            sessions: Sessions::default(),
            replay: None,
            task,
            closing: Closing::No,
            asked: 0,
        }
    }

    /// The screen that is shown.
    pub fn screen(&self) -> Screen {
        self.screen
    }

    /// Whether the store can be reached.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Whether the window is done.
    pub fn is_closed(&self) -> bool {
        self.closing == Closing::Yes
    }

    /// Whether the window is done once what was typed is saved.
    pub fn is_closing(&self) -> bool {
        self.closing != Closing::No
    }

    /// What was typed and is not saved.
    pub fn unsaved(&self) -> Option<DraftFields> {
        self.task.unsaved()
    }

    /// The session whose events are shown.
    pub fn replayed(&self) -> Option<&SessionId> {
        self.replay.as_ref().map(|replay| &replay.id)
    }

    /// How many items of a session are held.
    pub fn held(&self) -> usize {
        self.replay.as_ref().map_or(0, |replay| replay.items.len())
    }

    /// Says something for a while.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        self.said = Some((clean(text.as_ref()), self.now.plus_ms(SAID_MS)));
    }

    /// The number of a new asking.
    pub(crate) fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// What lies between the first and the last row.
    pub(crate) fn body(&self) -> Rect {
        let (columns, rows) = self.size;
        Rect::new(0, 1.min(rows), columns, rows.saturating_sub(2))
    }

    /// The body with a list beside or above what is chosen.
    pub(crate) fn panes(&self) -> Panes {
        let body = self.body();
        if body.width >= WIDE {
            let left = body.width * 9 / 20;
            return Panes {
                list: Rect { width: left, ..body },
                detail: Rect { x: left + 1, width: body.width - left - 1, ..body },
            };
        }
        let upper = (body.height / 2).max(body.height.min(3));
        Panes {
            list: Rect { height: upper, ..body },
            detail: Rect { y: body.y + upper, height: body.height - upper, ..body },
        }
    }

    /// Rows of a table below its head.
    pub(crate) fn rows_of(area: Rect) -> usize {
        usize::from(area.height.saturating_sub(1))
    }

    /// Brings every list back into what there is to see.
    pub(crate) fn settle(&mut self) {
        let list = Self::rows_of(self.panes().list);
        let whole = Self::rows_of(self.body());
        self.needs.list.fit(self.needs.items.len(), list);
        self.agents.list.fit(self.agents.rows.len(), list);
        let sessions = &mut self.sessions;
        sessions.list.fit(sessions.rows.len(), whole);
        if let Some(search) = &mut sessions.search {
            search.list.fit(search.hits.len(), whole / 2);
        }
        let area = self.body();
        if let Some(replay) = &mut self.replay {
            replay.settle(area);
        }
    }
}
