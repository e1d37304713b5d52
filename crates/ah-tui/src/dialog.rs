//! What is asked in front of everything else. What is typed stays while the store is away.

use std::collections::BTreeSet;

use ah_model::limits::{PROMPT_BYTES_MAX, SEARCH_TEXT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{Approval, Question, SessionFilter, Verdict};

use crate::agents::AgentRow;
use crate::clean::clean;
use crate::editor::{Editor, Lines};
use crate::effect::Effect;
use crate::input::Key;
use crate::model::{Model, Screen};

/// What a line is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    Decide(Box<Approval>, Verdict),
    Model(Box<AgentRow>),
    Destroy(Box<AgentRow>),
    Revive(Box<AgentRow>),
    Search,
    Filter,
}

/// A line is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) purpose: Purpose,
    pub(crate) editor: Editor,
}

/// A question is answered.
#[derive(Debug, Clone)]
pub(crate) struct Choose {
    pub(crate) question: Box<Question>,
    pub(crate) at: usize,
    pub(crate) chosen: BTreeSet<usize>,
    pub(crate) other: Editor,
}

/// Either.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    Ask(Ask),
    Choose(Choose),
}

/// What is asked, and how far that is.
#[derive(Debug, Clone)]
pub(crate) struct Dialog {
    pub(crate) form: Form,
    /// Why it was not taken.
    pub(crate) problem: Option<String>,
    /// Whether an answer is awaited.
    pub(crate) is_sent: bool,
}

impl Dialog {
    pub(crate) fn ask(purpose: Purpose, text: &str) -> Self {
        let most = match purpose {
            Purpose::Search => SEARCH_TEXT_BYTES_MAX,
            _ => SHORT_TEXT_BYTES_MAX,
        };
        let editor = Editor::new(Lines::One, most).with(text);
        Self { form: Form::Ask(Ask { purpose, editor }), problem: None, is_sent: false }
    }

    pub(crate) fn choose(question: Question) -> Self {
        let other = Editor::new(Lines::One, PROMPT_BYTES_MAX);
        let question = Box::new(question);
        let choose = Choose { question, at: 0, chosen: BTreeSet::new(), other };
        Self { form: Form::Choose(choose), problem: None, is_sent: false }
    }

    /// It was not taken: what is typed stays.
    pub(crate) fn refuse(&mut self, problem: impl AsRef<str>) {
        self.problem = Some(clean(problem.as_ref()));
        self.is_sent = false;
    }
}

impl Choose {
    /// Whether something else than the options may be said.
    pub(crate) fn takes_text(&self) -> bool {
        self.question.free_text || self.question.options.is_empty()
    }

    /// Rows to choose from.
    fn rows(&self) -> usize {
        self.question.options.len() + usize::from(self.takes_text())
    }

    /// Whether the row of one's own words is chosen.
    pub(crate) fn is_at_text(&self) -> bool {
        self.takes_text() && self.at == self.question.options.len()
    }

    fn key(&mut self, key: Key) -> Option<Vec<String>> {
        match key {
            Key::Up | Key::BackTab => self.at = self.at.saturating_sub(1),
            Key::Down | Key::Tab => self.at = (self.at + 1).min(self.rows().saturating_sub(1)),
            Key::Enter => return Some(self.values()),
            key if self.is_at_text() => drop(self.other.key(key)),
            Key::Char('k') => self.at = self.at.saturating_sub(1),
            Key::Char('j') => self.at = (self.at + 1).min(self.rows().saturating_sub(1)),
            Key::Char(' ') if self.question.multi && !self.chosen.remove(&self.at) => {
                self.chosen.insert(self.at);
            }
            _ => {}
        }
        None
    }

    fn values(&self) -> Vec<String> {
        let options = &self.question.options;
        let own = self.other.text().trim();
        let own = (!own.is_empty()).then(|| own.to_owned());
        if self.question.multi {
            let chosen = self.chosen.iter().filter_map(|at| options.get(*at).cloned());
            let at = options.get(self.at).filter(|_| self.chosen.is_empty()).cloned();
            let at = at.filter(|_| own.is_none());
            return chosen.chain(at).chain(own).collect();
        }
        options.get(self.at).cloned().or(own).into_iter().collect()
    }
}

/// A key while something is asked.
pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Some(dialog) = &mut model.dialog else { return };
    if matches!(key, Key::Esc | Key::Ctrl('c')) {
        model.dialog = None;
        return;
    }
    if dialog.is_sent {
        return;
    }
    match &mut dialog.form {
        Form::Choose(choose) => {
            let Some(values) = choose.key(key) else { return };
            let id = choose.question.id.clone();
            match values.is_empty() {
                true => dialog.refuse("nothing is chosen"),
                false => {
                    effects.push(Effect::AnswerQuestion { id, values });
                    dialog.is_sent = true;
                }
            }
        }
        Form::Ask(ask) if key != Key::Enter => drop(ask.editor.key(key)),
        Form::Ask(ask) => {
            let (purpose, text) = (ask.purpose.clone(), ask.editor.text().trim().to_owned());
            submit(model, purpose, text, effects);
        }
    }
}

fn submit(model: &mut Model, purpose: Purpose, text: String, effects: &mut Vec<Effect>) {
    let some = (!text.is_empty()).then(|| text.clone());
    let sent = match purpose {
        Purpose::Decide(approval, verdict) if verdict == Verdict::Denied && some.is_none() => {
            Err(format!("say why {} is denied", approval.agent))
        }
        Purpose::Decide(approval, verdict) => {
            Ok(Some(Effect::Decide { id: approval.id, verdict, note: some }))
        }
        Purpose::Model(agent) => Ok(Some(Effect::SetModel(agent.id, some))),
        Purpose::Destroy(agent) if text == agent.name => Ok(Some(Effect::Destroy(agent.id))),
        Purpose::Revive(agent) if text == agent.name => Ok(Some(Effect::Revive(agent.id))),
        Purpose::Destroy(agent) | Purpose::Revive(agent) => {
            Err(format!("type {} to confirm", agent.name))
        }
        Purpose::Search => model.search(&text, effects).map(|()| None),
        Purpose::Filter => filter_of(&text).map(|filter| {
            model.sessions.filter(&text, filter);
            None
        }),
    };
    match (sent, &mut model.dialog) {
        (Ok(Some(effect)), Some(dialog)) => {
            effects.push(effect);
            (dialog.is_sent, dialog.problem) = (true, None);
        }
        (Ok(None), dialog) => {
            *dialog = None;
            model.screen = Screen::Sessions;
        }
        (Err(problem), Some(dialog)) => dialog.refuse(problem),
        (_, None) => {}
    }
}

/// `status:running agent:codex some words`: the words are of the title.
fn filter_of(text: &str) -> Result<SessionFilter, String> {
    let mut filter = SessionFilter::default();
    let mut title = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once(':') {
            Some(("status", status)) => {
                filter.statuses.push(status.parse().map_err(|error| format!("{error}"))?);
            }
            Some(("agent", agent)) => filter.agent = Some(agent.to_owned()),
            _ => title.push(word),
        }
    }
    filter.title = (!title.is_empty()).then(|| title.join(" "));
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use ah_model::SessionStatus;

    use super::*;

    #[test]
    fn a_filter_is_typed_as_words() {
        let expected = SessionFilter {
            statuses: vec![SessionStatus::Running, SessionStatus::Idle],
            agent: Some("codex".to_owned()),
            title: Some("flaky test".to_owned()),
            ..SessionFilter::default()
        };
        assert_eq!(filter_of("status:running flaky agent:codex status:idle test"), Ok(expected));
        assert_eq!(filter_of(" "), Ok(SessionFilter::default()));
        assert!(filter_of("status:tired").is_err());
    }
}
