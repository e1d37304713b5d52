//! Does what the window wants done. Each call may take long: it has a thread of its own.

use ah_model::{
    Agent, AgentFilter, Answer as Reply, Approval, ApprovalFilter, ApprovalId, ApprovalStatus,
    Cursor, Decision, Draft, DraftFields, DraftId, Event, EventQuery, IndexState, MessageFilter,
    MessageStatus, Order, Outcome, Page, PageLimit, PageRequest, Party, Question, QuestionFilter,
    QuestionId, QuestionStatus, Run, RunFilter, RunStatus, SearchQuery, SearchText, Session,
    SessionFilter, SessionId, SessionStatus, SpendingBy, SpendingFilter, SpendingFold, Spent,
    TaskBatch, Verdict,
};
use ah_store::{Kind, StoreError, block_on};

use crate::decode;
use crate::effect::{
    Answer, Effect, EventsRead, NeedsRead, Part, SessionRead, Settled, Turn, TurnOf,
};
use crate::harbor::{Harbor, Launch, Refused};

/// Approvals, questions and dead letters that are shown of each.
const NEEDS_MAX: u64 = 200;
/// Failed runs and sessions that are looked at.
const FAILED_MAX: u64 = 50;
/// How long a failure is news.
const FAILED_MS: i64 = 24 * 60 * 60 * 1_000;
/// Agents of a page.
const AGENTS: u64 = 200;
/// Messages of an inbox that are counted.
pub(crate) const INBOX_MAX: u64 = 99;
/// Sessions of a page.
const SESSIONS: u64 = 100;
/// Things found, of a page.
const HITS: u64 = 50;
/// Pages of a search that may be empty before somebody is told.
const EMPTY_PAGES_MAX: usize = 20;
/// Steps of upkeep before a search.
const INDEX_STEPS_MAX: usize = 50;
/// Events of a page.
pub(crate) const EVENTS: u64 = 200;
/// Events before a page that tell which calls its answers belong to.
const BEFORE: u64 = 40;
/// Forks and children that are named.
const CHILDREN: u64 = 8;
/// Pages of what a session spent.
const SPENDING_PAGES_MAX: usize = 20;
/// Drafts that are looked at.
const DRAFTS: u64 = 50;

/// Does it and says what came of it.
pub fn perform(harbor: &dyn Harbor, effect: Effect) -> Answer {
    match effect {
        Effect::ReadNeeds => Answer::Needs(needs(harbor)),
        Effect::ReadAgents(cursor) => {
            let is_first = cursor.is_none();
            let page = page(AGENTS, cursor);
            let read = block_on(harbor.store().list_agents(AgentFilter::default(), page));
            Answer::Agents(is_first, read.map_err(Refused::from))
        }
        Effect::ReadTurns(of) => Answer::Turns(of.into_iter().map(|of| turn(harbor, of)).collect()),
        Effect::ReadSessions { asked, filter, cursor } => {
            let is_first = cursor.is_none();
            let read = block_on(harbor.store().list_sessions(*filter, page(SESSIONS, cursor)));
            Answer::Sessions(asked, is_first, read.map_err(Refused::from))
        }
        Effect::Search { asked, text, cursor } => {
            Answer::Found(asked, cursor.is_none(), search(harbor, text, cursor))
        }
        Effect::ReadSession(id) => Answer::Session(id.clone(), session(harbor, id).map(Box::new)),
        Effect::ReadEvents { asked, session, part } => {
            Answer::Events(asked, part, events(harbor, &session, part))
        }
        Effect::Decide { id, verdict, note } => Answer::Decided(decide(harbor, id, verdict, note)),
        Effect::AnswerQuestion { id, values } => Answer::Answered(answer(harbor, id, values)),
        Effect::Requeue(id) => {
            let requeued = block_on(harbor.store().requeue_message(id));
            Answer::Requeued(requeued.map(Box::new).map_err(Refused::from))
        }
        Effect::SetModel(id, model) => {
            Answer::AgentChanged(harbor.set_model(id, model).map(Box::new))
        }
        Effect::Destroy(id) => {
            let destroyed: Result<Agent, _> = block_on(harbor.store().destroy_agent(id));
            Answer::AgentChanged(destroyed.map(Box::new).map_err(Refused::from))
        }
        Effect::Revive(id) => {
            let asked = block_on(harbor.store().revive_agent(id));
            Answer::Revived(asked.map(Box::new).map_err(Refused::from))
        }
        Effect::ReadDrafts => Answer::Drafts(drafts(harbor)),
        Effect::SaveDraft(id, fields) => {
            let saved = save(harbor, id, &fields);
            Answer::DraftSaved(fields, saved)
        }
        Effect::DeleteDraft(id) => Answer::DraftDeleted(delete(harbor, id)),
        Effect::Launch(id, fields, how) => Answer::Launched(launch(harbor, id, fields, how)),
    }
}

fn page(items: u64, cursor: Option<Cursor>) -> PageRequest {
    PageRequest { limit: PageLimit::at_most(items), cursor }
}

fn needs(harbor: &dyn Harbor) -> Result<NeedsRead, Refused> {
    let store = harbor.store();
    let pending =
        ApprovalFilter { statuses: vec![ApprovalStatus::Pending], ..ApprovalFilter::default() };
    let open = QuestionFilter {
        statuses: vec![QuestionStatus::Open],
        to: Some(Party::Operator),
        ..QuestionFilter::default()
    };
    let dead = MessageFilter { statuses: vec![MessageStatus::Dead], ..MessageFilter::default() };
    let since = harbor.now().minus_ms(FAILED_MS);
    let failed = SessionFilter {
        statuses: vec![SessionStatus::Failed],
        since: Some(since),
        ..SessionFilter::default()
    };
    let failed_runs = RunFilter { statuses: vec![RunStatus::Failed], ..RunFilter::default() };
    let sessions = block_on(store.list_sessions(failed, page(FAILED_MAX, None)))?.items;
    let told = |run: &Run| sessions.iter().any(|session| session.id == run.session_id);
    let is_news = |run: &Run| run.ended_at.is_some_and(|at| at >= since) && !told(run);
    let runs = block_on(store.list_runs(failed_runs, page(FAILED_MAX, None)))?.items;
    let runs = runs.into_iter().filter(is_news).collect();
    Ok(NeedsRead {
        approvals: block_on(store.list_approvals(pending, page(NEEDS_MAX, None)))?.items,
        questions: block_on(store.list_questions(open, page(NEEDS_MAX, None)))?.items,
        dead: block_on(store.list_messages(dead, page(NEEDS_MAX, None)))?.items,
        runs,
        sessions,
    })
}

fn turn(harbor: &dyn Harbor, of: TurnOf) -> Result<Turn, Refused> {
    let store = harbor.store();
    let waiting = MessageFilter {
        statuses: vec![MessageStatus::Queued, MessageStatus::Leased],
        to: Some(Party::Agent(of.name)),
        ..MessageFilter::default()
    };
    let inbox = block_on(store.list_messages(waiting, page(INBOX_MAX, None)))?.items.len();
    let mut turn = Turn { id: of.id, inbox, at: None, said: String::new() };
    let Some(id) = of.session else { return Ok(turn) };
    let newest = EventQuery {
        order: Order::Newest,
        limit: PageLimit::at_most(BEFORE),
        ..EventQuery::default()
    };
    let events = match block_on(store.events(id.clone(), newest)) {
        Err(StoreError::NotFound { .. }) => Vec::new(),
        events => events?,
    };
    turn.at = events.last().map(|event| event.ts);
    let items = decode::items(&id, &events, 0);
    let last = items.iter().rev().find(|item| item.who != decode::Who::Note);
    turn.said = last.map(|item| item.summary()).unwrap_or_default();
    Ok(turn)
}

/// The first page that has something in it: what is indexed and no longer there leaves holes.
fn search(
    harbor: &dyn Harbor,
    text: SearchText,
    mut cursor: Option<Cursor>,
) -> Result<Page<ah_model::SearchHit>, Refused> {
    if harbor.keeps_index() && cursor.is_none() {
        index(harbor)?;
    }
    let mut found = Page { items: Vec::new(), next_cursor: None };
    for _ in 0..EMPTY_PAGES_MAX {
        let query = SearchQuery::new(text.clone());
        found = block_on(harbor.store().search(query, page(HITS, cursor)))?;
        if !found.items.is_empty() || found.next_cursor.is_none() {
            break;
        }
        cursor = found.next_cursor.clone();
    }
    Ok(found)
}

/// Brings the index of search up to date, as far as a few steps go.
fn index(harbor: &dyn Harbor) -> Result<(), Refused> {
    for _ in 0..INDEX_STEPS_MAX {
        let step = block_on(harbor.store().update_search_index(PageLimit::MAX))?;
        if step.state != IndexState::More {
            break;
        }
    }
    Ok(())
}

fn session(harbor: &dyn Harbor, id: SessionId) -> Result<SessionRead, Refused> {
    let store = harbor.store();
    let session: Session = block_on(store.session(id.clone()))?;
    let listed = |filter| block_on(store.list_sessions(filter, page(CHILDREN, None)));
    let below = SessionFilter { parent: Some(id.clone()), ..SessionFilter::default() };
    let from = SessionFilter { forked_from: Some(id.clone()), ..SessionFilter::default() };
    let (children, forks) = (listed(below)?.items, listed(from)?.items);
    Ok(SessionRead { session, children, forks, spent: spent(harbor, id)? })
}

fn spent(harbor: &dyn Harbor, id: SessionId) -> Result<Spent, Refused> {
    let filter = SpendingFilter { session: Some(id), ..SpendingFilter::default() };
    let mut fold = SpendingFold::new(SpendingBy::Session, harbor.prices());
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    for _ in 0..SPENDING_PAGES_MAX {
        let page = block_on(harbor.store().list_spendings(filter.clone(), request.clone()))?;
        page.items.iter().for_each(|spending| fold.add(spending));
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    Ok(fold.total())
}

fn events(harbor: &dyn Harbor, id: &SessionId, part: Part) -> Result<EventsRead, Refused> {
    let limit = PageLimit::at_most(EVENTS);
    let plain = EventQuery { limit, ..EventQuery::default() };
    let newest = EventQuery { order: Order::Newest, ..plain.clone() };
    let query = match part {
        Part::Newest => newest,
        Part::Oldest => plain,
        Part::Before(seq) => EventQuery { up_to: Some(seq.saturating_sub(1)), ..newest },
        Part::After(seq) => EventQuery { after: seq, ..plain },
        Part::Around(seq) => EventQuery { after: seq.saturating_sub(EVENTS / 2), ..plain },
    };
    let is_backward = query.order == Order::Newest;
    if matches!(part, Part::Before(0 | 1)) {
        return Ok(EventsRead { is_top: true, ..EventsRead::default() });
    }
    let read: Vec<Event> = block_on(harbor.store().events(id.clone(), query))?;
    let (Some(first), Some(last)) = (read.first().map(|e| e.seq), read.last().map(|e| e.seq))
    else {
        return Ok(EventsRead {
            is_top: is_backward,
            is_end: !is_backward,
            ..EventsRead::default()
        });
    };
    let before = match first > 1 {
        true => before(harbor, id, first)?,
        false => Vec::new(),
    };
    let is_top = before.is_empty();
    let is_end = match part {
        Part::Newest => true,
        Part::Before(_) => false,
        Part::Oldest | Part::After(_) | Part::Around(_) => {
            block_on(harbor.store().session(id.clone()))?.last_seq <= last
        }
    };
    let all: Vec<Event> = before.into_iter().chain(read).collect();
    let items = decode::items(id, &all, first);
    Ok(EventsRead { items, span: Some((first, last)), is_top, is_end })
}

fn before(harbor: &dyn Harbor, id: &SessionId, first: u64) -> Result<Vec<Event>, Refused> {
    let query = EventQuery {
        up_to: Some(first - 1),
        order: Order::Newest,
        limit: PageLimit::at_most(BEFORE),
        ..EventQuery::default()
    };
    Ok(block_on(harbor.store().events(id.clone(), query))?)
}

fn decide(
    harbor: &dyn Harbor,
    id: ApprovalId,
    verdict: Verdict,
    note: Option<String>,
) -> Result<Settled<Box<Approval>>, Refused> {
    let label = harbor.label();
    let decision = Decision { verdict, by: Party::Operator, resolver: Some(label.clone()), note };
    decision.check()?;
    match harbor.decide(id.clone(), decision) {
        Ok(approval) => {
            // The same decision again is a success: then it is somebody else's.
            let is_ours = approval.resolver.as_ref().is_none_or(|who| *who == label);
            let approval = Box::new(approval);
            Ok(if is_ours { Settled::Done(approval) } else { Settled::Before(approval) })
        }
        Err(refused) if refused.is_conflict() => {
            Ok(Settled::Before(Box::new(block_on(harbor.store().approval(id))?)))
        }
        Err(refused) => Err(refused),
    }
}

fn answer(
    harbor: &dyn Harbor,
    id: QuestionId,
    values: Vec<String>,
) -> Result<Settled<Box<Question>>, Refused> {
    let label = harbor.label();
    let reply = Reply { resolver: Some(label.clone()), ..Reply::operator(values) };
    reply.check()?;
    match block_on(harbor.store().answer_question(id.clone(), reply)) {
        Ok(question) => {
            let given = match question.outcome {
                Outcome::Late => question.late_answer.as_ref(),
                _ => question.answer.as_ref(),
            };
            let who = given.and_then(|given| given.resolver.as_ref());
            let is_ours = who.is_none_or(|who| *who == label);
            let question = Box::new(question);
            Ok(if is_ours { Settled::Done(question) } else { Settled::Before(question) })
        }
        Err(StoreError::Conflict { kind: Kind::Question, .. }) => {
            Ok(Settled::Before(Box::new(block_on(harbor.store().question(id))?)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The drafts, the newest first.
fn drafts(harbor: &dyn Harbor) -> Result<Vec<Draft>, Refused> {
    let mut drafts = block_on(harbor.store().list_drafts(page(DRAFTS, None)))?.items;
    drafts.sort_by_key(|draft| std::cmp::Reverse(draft.updated_at));
    Ok(drafts)
}

/// What the store does not take is kept beside it.
fn save(harbor: &dyn Harbor, id: DraftId, fields: &DraftFields) -> Result<(), Refused> {
    match block_on(harbor.store().save_draft(Some(id), fields.clone())) {
        Ok(_) => {
            harbor.keep(None);
            Ok(())
        }
        Err(error) => {
            harbor.keep(Some(fields));
            Err(error.into())
        }
    }
}

fn delete(harbor: &dyn Harbor, id: DraftId) -> Result<(), Refused> {
    harbor.keep(None);
    match block_on(harbor.store().delete_draft(id)) {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn launch(
    harbor: &dyn Harbor,
    id: DraftId,
    fields: DraftFields,
    how: Launch,
) -> Result<(TaskBatch, DraftId), Refused> {
    let next = harbor.draft_id()?;
    let batch = harbor.launch(id, fields, how)?;
    harbor.keep(None);
    Ok((batch, next))
}
