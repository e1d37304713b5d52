//! What the window wants done, and what came of it.

use ah_model::{
    Agent, AgentId, Approval, ApprovalId, Cursor, Draft, DraftFields, DraftId, FeedEntry, Message,
    MessageId, Page, Question, QuestionId, Run, SearchHit, SearchText, Session, SessionFilter,
    SessionId, Spent, TaskBatch, Timestamp, Verdict,
};

use crate::decode::Item;
use crate::harbor::{Launch, Refused};

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read what waits for the operator.
    ReadNeeds,
    /// Read a page of agents.
    ReadAgents(Option<Cursor>),
    /// Read what agents did last.
    ReadTurns(Vec<TurnOf>),
    /// Read a page of sessions.
    ReadSessions {
        /// The number of the asking.
        asked: u64,
        /// Which.
        filter: Box<SessionFilter>,
        /// Where the page before ended.
        cursor: Option<Cursor>,
    },
    /// Look for words.
    Search {
        /// The number of the asking.
        asked: u64,
        /// The words.
        text: SearchText,
        /// Where the page before ended.
        cursor: Option<Cursor>,
    },
    /// Read what a session is.
    ReadSession(SessionId),
    /// Read events of a session.
    ReadEvents {
        /// The number of the asking.
        asked: u64,
        /// Of which session.
        session: SessionId,
        /// Which.
        part: Part,
    },
    /// Decide an approval.
    Decide {
        /// Which.
        id: ApprovalId,
        /// How.
        verdict: Verdict,
        /// Why.
        note: Option<String>,
    },
    /// Answer a question.
    AnswerQuestion {
        /// Which.
        id: QuestionId,
        /// What.
        values: Vec<String>,
    },
    /// Queue a dead letter again.
    Requeue(MessageId),
    /// Choose the model of an agent, or none.
    SetModel(AgentId, Option<String>),
    /// Destroy an agent.
    Destroy(AgentId),
    /// Ask for a destroyed agent.
    Revive(AgentId),
    /// Read the drafts.
    ReadDrafts,
    /// Save what was typed.
    SaveDraft(DraftId, DraftFields),
    /// Remove a draft.
    DeleteDraft(DraftId),
    /// Send a draft.
    Launch(DraftId, DraftFields, Launch),
}

/// An agent whose last turn is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOf {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// Where it goes on.
    pub session: Option<SessionId>,
}

/// Which events of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The last.
    Newest,
    /// The first.
    Oldest,
    /// Those before this one.
    Before(u64),
    /// Those behind this one.
    After(u64),
    /// This one and those around it.
    Around(u64),
}

/// What waits for the operator.
#[derive(Debug, Default)]
pub struct NeedsRead {
    pub(crate) approvals: Vec<Approval>,
    pub(crate) questions: Vec<Question>,
    pub(crate) dead: Vec<Message>,
    pub(crate) runs: Vec<Run>,
    pub(crate) sessions: Vec<Session>,
}

/// What an agent did last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub(crate) id: AgentId,
    /// Messages that wait for it, at most [`crate::perform::INBOX_MAX`].
    pub(crate) inbox: usize,
    pub(crate) at: Option<Timestamp>,
    pub(crate) said: String,
}

/// What a session is.
#[derive(Debug)]
pub struct SessionRead {
    pub(crate) session: Session,
    pub(crate) children: Vec<Session>,
    pub(crate) forks: Vec<Session>,
    pub(crate) spent: Spent,
}

/// Some of the events of a session, as they are shown.
#[derive(Debug, Default)]
pub struct EventsRead {
    pub(crate) items: Vec<Item>,
    /// The numbers of the first and the last event.
    pub(crate) span: Option<(u64, u64)>,
    /// Whether there is nothing before them.
    pub(crate) is_top: bool,
    /// Whether there was nothing behind them.
    pub(crate) is_end: bool,
}

/// Whether a decision or answer is the one that counts.
#[derive(Debug)]
pub enum Settled<T> {
    /// It is.
    Done(T),
    /// Somebody else was first: how it stands.
    Before(T),
}

/// What came of an effect, or what the store tells by itself.
#[derive(Debug)]
pub enum Answer {
    /// [`Effect::ReadNeeds`].
    Needs(Result<NeedsRead, Refused>),
    /// [`Effect::ReadAgents`], and whether it was the first page.
    Agents(bool, Result<Page<Agent>, Refused>),
    /// [`Effect::ReadTurns`].
    Turns(Result<Vec<Turn>, Refused>),
    /// [`Effect::ReadSessions`]: its number, and whether it was the first page.
    Sessions(u64, bool, Result<Page<Session>, Refused>),
    /// [`Effect::Search`].
    Found(u64, bool, Result<Page<SearchHit>, Refused>),
    /// [`Effect::ReadSession`].
    Session(SessionId, Result<Box<SessionRead>, Refused>),
    /// [`Effect::ReadEvents`].
    Events(u64, Part, Result<EventsRead, Refused>),
    /// [`Effect::Decide`].
    Decided(Result<Settled<Box<Approval>>, Refused>),
    /// [`Effect::AnswerQuestion`].
    Answered(Result<Settled<Box<Question>>, Refused>),
    /// [`Effect::Requeue`].
    Requeued(Result<Box<Message>, Refused>),
    /// [`Effect::SetModel`] and [`Effect::Destroy`].
    AgentChanged(Result<Box<Agent>, Refused>),
    /// [`Effect::Revive`].
    Revived(Result<Box<Approval>, Refused>),
    /// [`Effect::ReadDrafts`].
    Drafts(Result<Vec<Draft>, Refused>),
    /// [`Effect::SaveDraft`].
    DraftSaved(DraftFields, Result<(), Refused>),
    /// [`Effect::DeleteDraft`].
    DraftDeleted(Result<(), Refused>),
    /// [`Effect::Launch`], with the id of the next draft.
    Launched(Result<(TaskBatch, DraftId), Refused>),
    /// Things happened.
    Fed(Vec<FeedEntry>),
    /// The store cannot be reached.
    Gone(String),
    /// It can be reached again.
    Back,
}
