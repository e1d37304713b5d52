//! What needs me: approvals, questions, dead letters, failures.

use std::collections::BTreeSet;

use ah_model::{Approval, Message, Question, Run, Session, SessionId, Verdict};

use crate::dialog::{Dialog, Purpose};
use crate::effect::{Effect, NeedsRead};
use crate::input::Key;
use crate::list::List;
use crate::model::Model;
use crate::reading::Reading;

/// One thing that waits for the operator.
#[derive(Debug, Clone)]
pub(crate) enum Need {
    Approval(Box<Approval>),
    Question(Box<Question>),
    Dead(Box<Message>),
    Failed(Box<Session>),
    FailedRun(Box<Run>),
}

impl Need {
    /// What it is known by.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Approval(approval) => format!("approval {}", approval.id),
            Self::Question(question) => format!("question {}", question.id),
            Self::Dead(message) => format!("message {}", message.id),
            Self::Failed(session) => format!("session {}", session.id),
            Self::FailedRun(run) => format!("run {}", run.id),
        }
    }

    fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Failed(session) => Some(&session.id),
            Self::FailedRun(run) => Some(&run.session_id),
            Self::Approval(_) | Self::Question(_) | Self::Dead(_) => None,
        }
    }
}

/// What waits, the most pressing first.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) items: Vec<Need>,
    pub(crate) list: List,
    pub(crate) reading: Reading,
    /// Whether it was read.
    pub(crate) is_known: bool,
    /// Put aside in this window.
    hidden: BTreeSet<String>,
}

impl Needs {
    /// Takes in what was read; the chosen one stays chosen.
    pub(crate) fn take(&mut self, read: NeedsRead) {
        let NeedsRead { approvals, mut questions, dead, runs, sessions } = read;
        questions.sort_by_key(|question| (question.deadline_at.is_none(), question.deadline_at));
        let at = |need: &Need| match need {
            Need::Approval(approval) => approval.requested_at,
            Need::Question(question) => question.asked_at,
            _ => ah_model::Timestamp::MAX,
        };
        let (hurried, calm): (Vec<_>, Vec<_>) = questions
            .into_iter()
            .map(|question| Need::Question(Box::new(question)))
            .partition(|need| matches!(need, Need::Question(q) if q.deadline_at.is_some()));
        let approvals = approvals.into_iter().map(|approval| Need::Approval(Box::new(approval)));
        let mut waiting: Vec<Need> = approvals.chain(calm).collect();
        waiting.sort_by_key(at);
        let chosen = self.chosen().map(Need::key);
        self.items = hurried
            .into_iter()
            .chain(waiting)
            .chain(dead.into_iter().map(|message| Need::Dead(Box::new(message))))
            .chain(sessions.into_iter().map(|session| Need::Failed(Box::new(session))))
            .chain(runs.into_iter().map(|run| Need::FailedRun(Box::new(run))))
            .filter(|need| !self.hidden.contains(&need.key()))
            .collect();
        self.is_known = true;
        let place = chosen.and_then(|key| self.items.iter().position(|need| need.key() == key));
        if let Some(place) = place {
            self.list.follow(place);
        }
    }

    pub(crate) fn chosen(&self) -> Option<&Need> {
        self.items.get(self.list.at)
    }

    /// How many wait for a decision or an answer.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |need: &&Need| matches!(need, Need::Approval(_) | Need::Question(_));
        self.items.iter().filter(waits).count()
    }

    fn hide(&mut self) {
        let Some(need) = self.chosen() else { return };
        if matches!(need, Need::Dead(_) | Need::Failed(_) | Need::FailedRun(_)) {
            self.hidden.insert(need.key());
            self.items.remove(self.list.at);
        }
    }
}

pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let height = Model::rows_of(model.panes().list);
    let needs = &mut model.needs;
    if needs.list.key(key, needs.items.len(), height) {
        return;
    }
    let Some(need) = needs.chosen().cloned() else { return };
    let decide = |verdict| match need.clone() {
        Need::Approval(approval) => Some(Dialog::ask(Purpose::Decide(approval, verdict), "")),
        _ => None,
    };
    match (key, &need) {
        (Key::Char('a') | Key::Enter, Need::Approval(_)) => {
            model.dialog = decide(Verdict::Approved)
        }
        (Key::Char('d'), Need::Approval(_)) => model.dialog = decide(Verdict::Denied),
        (Key::Enter, Need::Question(question)) => {
            model.dialog = Some(Dialog::choose((**question).clone()));
        }
        (Key::Char('r'), Need::Dead(message)) => effects.push(Effect::Requeue(message.id.clone())),
        (Key::Enter, Need::Failed(_) | Need::FailedRun(_)) => {
            if let Some(session) = need.session() {
                model.open(session.clone(), None, effects);
            }
        }
        (Key::Char('x'), _) => model.needs.hide(),
        _ => {}
    }
}
