//! Somebody at a window: keys go in, what is to be done is done at once, the screen is text.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ah_conformance::{SeededIds, TestClock};
use ah_model::{
    Agent, AgentId, AgentUpdate, Approval, ApprovalId, Decision, DraftFields, DraftId, FeedCursor,
    NewRepo, NewTask, PageLimit, Prices, TaskBatch, Timestamp, Vcs,
};
use ah_store::{Clock, Ids, Store, StoreError, block_on};
use ah_tui::{
    Answer, Effect, Harbor, Input, Key, Launch, Model, Opening, Refused, begin, draw, perform,
    update,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A harbor in memory.
pub(crate) struct TestHarbor {
    store: Arc<dyn Store>,
    clock: TestClock,
    label: String,
    prices: Prices,
    ids: Ids,
    pub(crate) kept: Mutex<Option<DraftFields>>,
    pub(crate) is_gone: AtomicBool,
}

impl Harbor for TestHarbor {
    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn label(&self) -> String {
        self.label.clone()
    }

    fn keeps_index(&self) -> bool {
        true
    }

    fn prices(&self) -> &Prices {
        &self.prices
    }

    fn draft_id(&self) -> Result<DraftId, Refused> {
        Ok(self.ids.draft(self.now())?)
    }

    fn decide(&self, id: ApprovalId, decision: Decision) -> Result<Approval, Refused> {
        Ok(block_on(self.store.decide_approval(id, decision))?)
    }

    fn set_model(&self, id: AgentId, model: Option<String>) -> Result<Agent, Refused> {
        let update =
            AgentUpdate { model: Some(model.unwrap_or_default()), ..AgentUpdate::default() };
        Ok(block_on(self.store.update_agent(id, update))?)
    }

    fn launch(
        &self,
        draft: DraftId,
        fields: DraftFields,
        how: Launch,
    ) -> Result<TaskBatch, Refused> {
        block_on(self.store.save_draft(Some(draft.clone()), fields.clone()))?;
        let repo = NewRepo {
            vcs: Vcs::Git,
            root_path: Some(fields.repository),
            remote_url: None,
            default_branch: None,
        };
        let agents = fields.models.iter().map(|model| model.parse()).collect::<Result<_, _>>()?;
        let task = NewTask {
            prompt: fields.description,
            agents,
            instances: 1,
            repo,
            runtime: ah_model::RuntimeSpec::default(),
            workspace: None,
            branch: fields.branch,
            delivery: None,
            labels: ah_model::Labels::default(),
            project_dir: None,
            execution: (how == Launch::Queued).then(ah_model::Execution::default),
        };
        Ok(block_on(self.store.launch_draft(draft, task))?)
    }

    fn keep(&self, fields: Option<&DraftFields>) {
        *self.kept.lock().unwrap() = fields.cloned();
    }

    fn kept(&self) -> Option<DraftFields> {
        self.kept.lock().unwrap().clone()
    }
}

/// Somebody at a window.
pub(crate) struct Seat {
    pub(crate) harbor: TestHarbor,
    pub(crate) model: Model,
    clock: TestClock,
    cursor: FeedCursor,
    size: (u16, u16),
    /// Every effect that was done.
    pub(crate) done: Vec<Effect>,
}

impl Seat {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: &TestClock,
        who: &str,
        size: (u16, u16),
    ) -> Self {
        let seed = u64::from(who.bytes().next().unwrap());
        let harbor = TestHarbor {
            store,
            clock: clock.clone(),
            label: format!("{who}@here"),
            prices: Prices::listed(),
            ids: Ids::new(Box::new(SeededIds::new(seed))),
            kept: Mutex::new(None),
            is_gone: AtomicBool::new(false),
        };
        let model = Model::new(Opening {
            now: clock.now(),
            size,
            place: "memory".to_owned(),
            has_colour: false,
            repository: Some("/srv/pier".to_owned()),
            agent: "codex".to_owned(),
            draft: harbor.draft_id().unwrap(),
            kept: None,
        });
        let cursor = block_on(harbor.store.feed_end()).unwrap();
        let mut seat = Self { harbor, model, clock: clock.clone(), cursor, size, done: Vec::new() };
        let effects = begin(&mut seat.model);
        seat.perform(effects);
        seat
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        let mut waiting: std::collections::VecDeque<Effect> = effects.into();
        while let Some(effect) = waiting.pop_front() {
            self.done.push(effect.clone());
            let answer = match self.harbor.is_gone.load(Ordering::SeqCst) {
                true => self.refused(effect),
                false => perform(&self.harbor, effect),
            };
            waiting.extend(update(&mut self.model, self.clock.now(), Input::Answer(answer)));
        }
    }

    /// What comes of an effect while the store cannot be reached.
    fn refused(&self, effect: Effect) -> Answer {
        let gone = || Refused::Store(unreachable_store());
        match effect {
            Effect::ReadNeeds => Answer::Needs(Err(gone())),
            Effect::ReadAgents(cursor) => Answer::Agents(cursor.is_none(), Err(gone())),
            Effect::ReadTurns(_) => Answer::Turns(Err(gone())),
            Effect::ReadSessions { asked, cursor, .. } => {
                Answer::Sessions(asked, cursor.is_none(), Err(gone()))
            }
            Effect::Search { asked, cursor, .. } => {
                Answer::Found(asked, cursor.is_none(), Err(gone()))
            }
            Effect::ReadSession(id) => Answer::Session(id, Err(gone())),
            Effect::ReadEvents { asked, part, .. } => Answer::Events(asked, part, Err(gone())),
            Effect::Decide { .. } => Answer::Decided(Err(gone())),
            Effect::AnswerQuestion { .. } => Answer::Answered(Err(gone())),
            Effect::Requeue(_) => Answer::Requeued(Err(gone())),
            Effect::SetModel(..) | Effect::Destroy(_) => Answer::AgentChanged(Err(gone())),
            Effect::Revive(_) => Answer::Revived(Err(gone())),
            Effect::ReadDrafts => Answer::Drafts(Err(gone())),
            Effect::SaveDraft(_, fields) => {
                self.harbor.keep(Some(&fields));
                Answer::DraftSaved(fields, Err(gone()))
            }
            Effect::DeleteDraft(_) => Answer::DraftDeleted(Err(gone())),
            Effect::Launch(..) => Answer::Launched(Err(gone())),
        }
    }

    pub(crate) fn input(&mut self, input: Input) {
        let effects = update(&mut self.model, self.clock.now(), input);
        self.perform(effects);
    }

    pub(crate) fn key(&mut self, key: Key) {
        self.input(Input::Key(key));
    }

    /// Types text, a key for each letter.
    pub(crate) fn keys(&mut self, text: &str) {
        for c in text.chars() {
            self.key(if c == '\n' { Key::Enter } else { Key::Char(c) });
        }
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, ms: i64) {
        self.clock.advance_ms(ms);
        self.input(Input::Tick);
    }

    /// Takes in what happened since, and lets readings begin that wait for a pause.
    pub(crate) fn look(&mut self) {
        let entries = block_on(self.harbor.store.feed(self.cursor, PageLimit::MAX)).unwrap();
        if let Some(last) = entries.last() {
            self.cursor = last.cursor;
            self.input(Input::Answer(Answer::Fed(entries)));
        }
        self.wait(200);
    }

    pub(crate) fn go(&mut self) {
        self.harbor.is_gone.store(true, Ordering::SeqCst);
        self.input(Input::Answer(Answer::Gone("cannot reach harbor".to_owned())));
    }

    pub(crate) fn come_back(&mut self) {
        self.harbor.is_gone.store(false, Ordering::SeqCst);
        self.input(Input::Answer(Answer::Back));
        self.look();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.input(Input::Resize(columns, rows));
    }

    /// The screen as text, without the spaces at the ends of its lines.
    pub(crate) fn screen(&self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| draw(&self.model, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let mut text = String::new();
        for row in buffer.content().chunks(width) {
            let mut line = String::new();
            let mut skip = 0;
            for cell in row {
                if skip == 0 {
                    line.push_str(cell.symbol());
                    skip = ratatui::text::Span::raw(cell.symbol()).width().max(1);
                }
                skip -= 1;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Compares the screen with the file of that name.
    #[track_caller]
    pub(crate) fn shows(&self, name: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = path.join("tests/it/screens").join(format!("{name}.txt"));
        let screen = self.screen();
        if is_updating() {
            std::fs::write(&path, &screen).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(screen == expected, "{name} is other; AH_UPDATE_DOCS=1 writes it anew:\n{screen}");
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}");
    }

    #[track_caller]
    pub(crate) fn says_not(&self, text: &str) {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on the screen:\n{screen}");
    }
}

fn unreachable_store() -> StoreError {
    StoreError::Unreachable { server: "harbor".to_owned(), source: "refused".into() }
}

#[expect(clippy::disallowed_methods, reason = "who runs the tests says so")]
fn is_updating() -> bool {
    std::env::var("AH_UPDATE_DOCS").is_ok_and(|value| value == "1")
}
