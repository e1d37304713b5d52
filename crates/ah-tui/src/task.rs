//! A new task: what is asked for, where and of whom. What is typed is saved as a draft by itself.

use ah_model::limits::{PROMPT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{AgentKindRef, Draft, DraftFields, DraftId, Timestamp};

use crate::clean::clean;
use crate::editor::{Editor, Lines};
use crate::effect::Effect;
use crate::harbor::Launch;
use crate::input::Key;
use crate::model::{Model, Screen};

/// How long after the last key what was typed is saved.
const SAVE_AFTER_MS: i64 = 400;

/// The fields, in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Field {
    #[default]
    Prompt,
    Agents,
    Repository,
    Branch,
    How,
}

impl Field {
    pub(crate) const ALL: [Self; 5] =
        [Self::Prompt, Self::Agents, Self::Repository, Self::Branch, Self::How];

    fn step(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|field| *field == self).unwrap_or(0);
        let most = Self::ALL.len() - 1;
        let at = if by < 0 { at.saturating_sub(1) } else { (at + 1).min(most) };
        Self::ALL[at]
    }
}

/// What is typed for a task.
#[derive(Debug)]
pub(crate) struct TaskForm {
    pub(crate) prompt: Editor,
    pub(crate) agents: Editor,
    pub(crate) repository: Editor,
    pub(crate) branch: Editor,
    pub(crate) how: Launch,
    pub(crate) field: Field,
    pub(crate) is_edited: bool,
    draft: DraftId,
    /// What the store has under that id.
    pub(crate) saved: Option<DraftFields>,
    typed_at: Option<Timestamp>,
    is_saving: bool,
    pub(crate) is_sent: bool,
    pub(crate) problem: Option<String>,
    pub(crate) done: Option<String>,
    /// Drafts of before, the newest first.
    pub(crate) offered: Vec<Draft>,
    blank: (String, String),
}

impl TaskForm {
    pub(crate) fn new(draft: DraftId, repository: &str, agent: &str) -> Self {
        let line = || Editor::new(Lines::One, SHORT_TEXT_BYTES_MAX);
        Self {
            prompt: Editor::new(Lines::Many, PROMPT_BYTES_MAX),
            agents: line().with(agent),
            repository: line().with(repository),
            branch: line(),
            how: Launch::default(),
            field: Field::default(),
            is_edited: false,
            draft,
            saved: None,
            typed_at: None,
            is_saving: false,
            is_sent: false,
            problem: None,
            done: None,
            offered: Vec::new(),
            blank: (repository.to_owned(), agent.to_owned()),
        }
    }

    /// Puts a draft into the fields.
    pub(crate) fn fill(&mut self, fields: &DraftFields) {
        self.prompt = Editor::new(Lines::Many, PROMPT_BYTES_MAX).with(&fields.description);
        let line = |text: &str| Editor::new(Lines::One, SHORT_TEXT_BYTES_MAX).with(text);
        self.repository = line(&fields.repository);
        self.branch = line(fields.branch.as_deref().unwrap_or_default());
        if !fields.models.is_empty() {
            self.agents = line(&fields.models.join(" "));
        }
    }

    /// What is typed, as it is sent.
    pub(crate) fn fields(&self) -> DraftFields {
        let (repository, branch) = (self.repository.text().trim(), self.branch.text().trim());
        let split = |c: char| c == ',' || c.is_whitespace();
        let models = self.agents.text().split(split).filter(|word| !word.is_empty());
        DraftFields {
            description: self.prompt.text().to_owned(),
            repository: if repository.is_empty() { &self.blank.0 } else { repository }.to_owned(),
            branch: (!branch.is_empty()).then(|| branch.to_owned()),
            models: models.map(str::to_owned).collect(),
        }
    }

    /// What is typed, as a draft takes it: without half-typed agent kinds.
    fn savable(&self) -> DraftFields {
        let mut fields = self.fields();
        fields.models.retain(|model| model.parse::<AgentKindRef>().is_ok());
        fields
    }

    /// What is typed and not saved.
    pub(crate) fn unsaved(&self) -> Option<DraftFields> {
        let fields = self.savable();
        (!self.prompt.is_empty() && self.saved.as_ref() != Some(&fields)).then_some(fields)
    }

    pub(crate) fn typed(&mut self, now: Timestamp) {
        self.typed_at = Some(now);
        (self.problem, self.done) = (None, None);
    }

    /// In how many milliseconds there is something to save.
    pub(crate) fn wake_ms(&self, now: Timestamp) -> Option<u64> {
        let at = self.typed_at.filter(|_| !self.is_saving && !self.is_sent)?;
        let since = now.unix_ms() - at.unix_ms();
        // A clock that went back does not stop anything.
        Some(if since < 0 { 0 } else { u64::try_from(SAVE_AFTER_MS - since).unwrap_or(0) })
    }

    /// Saves what was typed, once nothing is typed for a while.
    pub(crate) fn save_if_due(&mut self, now: Timestamp) -> Option<Effect> {
        if self.wake_ms(now) == Some(0) { self.save() } else { None }
    }

    /// Saves what was typed, if it is not yet.
    pub(crate) fn save(&mut self) -> Option<Effect> {
        if self.is_saving || self.is_sent {
            return None;
        }
        self.typed_at = None;
        if self.prompt.is_empty() && self.saved.take().is_some() {
            return Some(Effect::DeleteDraft(self.draft.clone()));
        }
        let fields = self.unsaved()?;
        self.is_saving = true;
        Some(Effect::SaveDraft(self.draft.clone(), fields))
    }

    pub(crate) fn save_ended(&mut self, fields: DraftFields, problem: Option<&str>) {
        self.is_saving = false;
        match problem {
            None => self.saved = Some(fields),
            Some(problem) => self.problem = Some(format!("not saved: {}", clean(problem))),
        }
    }

    pub(crate) fn is_saving(&self) -> bool {
        self.is_saving
    }

    /// What could not be saved is tried again.
    pub(crate) fn again(&mut self, now: Timestamp) {
        if self.unsaved().is_some() {
            self.typed(now);
        }
    }

    pub(crate) fn offer(&mut self, drafts: Vec<Draft>) {
        let is_other =
            |draft: &Draft| draft.id != self.draft && !draft.fields.description.is_empty();
        self.offered = drafts.into_iter().filter(is_other).collect();
    }

    /// The task is on its way: an empty form for the next.
    pub(crate) fn launched(&mut self, next: DraftId, done: String) {
        let (repository, agent) = self.blank.clone();
        let offered = std::mem::take(&mut self.offered);
        *self = Self::new(next, &repository, &agent);
        (self.offered, self.done) = (offered, Some(done));
    }

    fn editor(&mut self) -> Option<&mut Editor> {
        match self.field {
            Field::Prompt => Some(&mut self.prompt),
            Field::Agents => Some(&mut self.agents),
            Field::Repository => Some(&mut self.repository),
            Field::Branch => Some(&mut self.branch),
            Field::How => None,
        }
    }

    fn turn(&mut self) {
        self.how = match self.how {
            Launch::Queued => Launch::Recorded,
            Launch::Recorded => Launch::Queued,
        };
    }

    fn send(&mut self) -> Option<Effect> {
        if self.is_sent {
            return None;
        }
        if self.prompt.is_empty() {
            self.problem = Some("say what is to be done first".to_owned());
            return None;
        }
        (self.is_sent, self.is_edited, self.typed_at) = (true, false, None);
        (self.problem, self.done) = (None, None);
        Some(Effect::Launch(self.draft.clone(), self.fields(), self.how))
    }

    /// Takes up the newest draft of before.
    fn take_up(&mut self) {
        if self.offered.is_empty() || !self.prompt.is_empty() {
            return;
        }
        let draft = self.offered.remove(0);
        self.fill(&draft.fields);
        (self.draft, self.saved) = (draft.id, Some(self.savable()));
        (self.field, self.is_edited) = (Field::Prompt, true);
    }
}

/// Whether keys are text now.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.screen == Screen::Task && model.task.is_edited
}

pub(crate) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let now = model.now;
    let task = &mut model.task;
    if key == Key::Ctrl('s') {
        effects.extend(task.send());
        return;
    }
    if task.is_edited {
        return edit(task, key, now);
    }
    match key {
        Key::Char('j') | Key::Down => task.field = task.field.step(1),
        Key::Char('k') | Key::Up => task.field = task.field.step(-1),
        Key::Enter | Key::Char('i' | ' ') if task.field == Field::How => task.turn(),
        Key::Enter | Key::Char('i') => task.is_edited = true,
        Key::Char('r') => task.take_up(),
        Key::Char('x') if !task.offered.is_empty() => {
            effects.push(Effect::DeleteDraft(task.offered.remove(0).id));
        }
        _ => {}
    }
}

fn edit(task: &mut TaskForm, key: Key, now: Timestamp) {
    match key {
        Key::Esc => task.is_edited = false,
        Key::Tab => task.field = task.field.step(1),
        Key::BackTab => task.field = task.field.step(-1),
        Key::Enter if !matches!(task.field, Field::Prompt | Field::How) => {
            task.field = task.field.step(1);
        }
        Key::Enter | Key::Char(' ') if task.field == Field::How => task.turn(),
        key => {
            let is_sent = task.is_sent;
            let Some(editor) = task.editor().filter(|_| !is_sent) else { return };
            let before = editor.text().len();
            let was = before <= SHORT_TEXT_BYTES_MAX;
            let old = was.then(|| editor.text().to_owned());
            editor.key(key);
            // Moving the cursor is not typing.
            if old.is_none_or(|old| old != editor.text()) {
                task.typed(now);
            }
        }
    }
}

pub(crate) fn paste(model: &mut Model, text: &str) {
    let now = model.now;
    let task = &mut model.task;
    let is_sent = task.is_sent;
    if let Some(editor) = task.editor().filter(|_| !is_sent) {
        editor.insert(text);
        task.typed(now);
    }
}
