//! A step of the window: what came in changes the model and says what is to be done. No IO.

use ah_model::{
    Agent, Approval, ApprovalStatus, ChangeKind, DraftFields, DraftId, FeedEntry, Happening,
    Outcome, Page, Party, Question, SearchHit, Session, SessionId, TaskBatch, Timestamp,
};

use crate::dialog::Dialog;
use crate::effect::{Answer, Effect, EventsRead, Part, SessionRead, Settled};
use crate::harbor::Refused;
use crate::input::{Input, Key};
use crate::model::{Closing, Link, Model, Screen};
use crate::{agents, dialog, needs, replay, sessions, task};

/// Ages and countdowns are shown in seconds.
const TICK_MS: u64 = 1_000;

/// Takes in what came, at `now`.
pub fn update(model: &mut Model, now: Timestamp, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    model.now = now;
    match input {
        Input::Key(key) => on_key(model, key, &mut effects),
        Input::Paste(text) => on_paste(model, &text),
        Input::Click(column, row) => on_click(model, column, row, &mut effects),
        Input::Scroll(by) => on_scroll(model, by, &mut effects),
        Input::Resize(columns, rows) => model.size = (columns, rows),
        Input::Answer(answer) => on_answer(model, answer, &mut effects),
        Input::Tick => {}
        Input::Quit => quit(model, &mut effects),
    }
    on_time(model, &mut effects);
    model.settle();
    effects
}

/// What a window that has just been opened wants.
pub fn begin(model: &mut Model) -> Vec<Effect> {
    want_all(model);
    let mut effects = vec![Effect::ReadDrafts];
    on_time(model, &mut effects);
    effects
}

/// After how many milliseconds the next [`Input::Tick`] is due.
pub fn wake_in(model: &Model) -> u64 {
    let now = model.now;
    let seen = match (&model.link, model.screen) {
        // Nothing is read before it is back.
        (Link::Gone { .. }, _) => Vec::new(),
        (Link::There, Screen::Agents) => {
            vec![model.needs.reading, model.agents.reading, model.agents.turns]
        }
        (Link::There, Screen::Sessions) => match &model.replay {
            Some(replay) if replay.is_busy() => vec![model.needs.reading, replay.head_reading],
            Some(replay) => vec![model.needs.reading, replay.head_reading, replay.newer],
            None => vec![model.needs.reading, model.sessions.reading],
        },
        (Link::There, Screen::Needs | Screen::Task) => vec![model.needs.reading],
    };
    let due = seen.iter().filter_map(|reading| reading.wake_ms(now)).chain(model.task.wake_ms(now));
    let to_second = TICK_MS - u64::try_from(now.unix_ms().rem_euclid(1_000)).unwrap_or(0);
    due.fold(to_second, u64::min).max(1)
}

fn want_all(model: &mut Model) {
    model.needs.reading.want();
    model.agents.reading.want();
    model.agents.stale(|_| true);
    model.sessions.reading.want();
    if let Some(replay) = &mut model.replay {
        replay.newer.want();
        replay.head_reading.want();
    }
}

/// Begins what is due: readings of what changed and can be seen, and saving.
fn on_time(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    if model.said.as_ref().is_some_and(|(_, until)| *until <= now) {
        model.said = None;
    }
    let is_due = |need: &needs::Need| matches!(need, needs::Need::Question(q) if q.is_due(now));
    if model.needs.items.iter().any(is_due) {
        model.needs.reading.want();
    }
    effects.extend(model.task.save_if_due(now));
    if model.link != Link::There {
        // What follows the store says when it is back.
        return;
    }
    if model.needs.reading.begins(now) {
        effects.push(Effect::ReadNeeds);
    }
    match model.screen {
        Screen::Agents => agents_due(model, effects),
        Screen::Sessions => sessions_due(model, effects),
        Screen::Needs | Screen::Task => {}
    }
}

fn agents_due(model: &mut Model, effects: &mut Vec<Effect>) {
    let height = Model::rows_of(model.panes().list);
    let agents = &mut model.agents;
    if agents.reading.begins(model.now) {
        effects.push(Effect::ReadAgents(None));
    }
    match agents.lacks_turns(height) {
        true => agents.turns.want(),
        false => agents.turns.forget(),
    }
    if agents.turns.begins(model.now) {
        effects.push(Effect::ReadTurns(agents.wanted_turns(height)));
    }
}

fn sessions_due(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    if let Some(replay) = &mut model.replay {
        if replay.head_reading.begins(now) {
            effects.push(Effect::ReadSession(replay.id.clone()));
        }
        effects.extend(replay.again());
        if !replay.is_busy() && replay.newer.begins(now) {
            replay.newer.stopped();
            effects.extend(replay.newer());
        }
        return;
    }
    if model.sessions.reading.begins(now) {
        let filter = Box::new(model.sessions.chosen_by.clone());
        let asked = model.sessions.asked;
        effects.push(Effect::ReadSessions { asked, filter, cursor: None });
    }
}

fn on_key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    if model.has_help {
        model.has_help = false;
        return;
    }
    if model.dialog.is_some() {
        return dialog::key(model, key, effects);
    }
    if key == Key::Ctrl('c') {
        return quit(model, effects);
    }
    if task::takes_text(model) {
        return task::key(model, key, effects);
    }
    match key {
        Key::Char('q') => quit(model, effects),
        Key::Char('?') => model.has_help = true,
        Key::Char(number @ '1'..='4') => {
            let at = number as usize - '1' as usize;
            show(model, Screen::ALL[at]);
        }
        Key::Tab => show(model, beside(model.screen, 1)),
        Key::BackTab => show(model, beside(model.screen, 3)),
        Key::Char('/') if model.screen != Screen::Task => sessions::key(model, key, effects),
        key => match model.screen {
            Screen::Needs => needs::key(model, key, effects),
            Screen::Agents => agents::key(model, key, effects),
            Screen::Sessions if model.replay.is_some() => replay::key(model, key, effects),
            Screen::Sessions => sessions::key(model, key, effects),
            Screen::Task => task::key(model, key, effects),
        },
    }
}

fn beside(screen: Screen, by: usize) -> Screen {
    let at = Screen::ALL.iter().position(|other| *other == screen).unwrap_or(0);
    Screen::ALL[(at + by) % Screen::ALL.len()]
}

fn show(model: &mut Model, screen: Screen) {
    if screen == Screen::Sessions && model.screen == Screen::Sessions {
        // The same number again leads from a session to the list.
        model.replay = None;
    }
    model.screen = screen;
    model.said = None;
}

fn quit(model: &mut Model, effects: &mut Vec<Effect>) {
    let save = model.task.save();
    let waits = save.is_some() || model.task.is_saving();
    effects.extend(save);
    model.closing = if waits { Closing::Saving } else { Closing::Yes };
}

fn on_paste(model: &mut Model, text: &str) {
    let Some(dialog) = &mut model.dialog else {
        if task::takes_text(model) {
            task::paste(model, text);
        }
        return;
    };
    match &mut dialog.form {
        _ if dialog.is_sent => {}
        dialog::Form::Ask(ask) => ask.editor.insert(text),
        dialog::Form::Choose(choose) if choose.is_at_text() => choose.other.insert(text),
        dialog::Form::Choose(_) => {}
    }
}

fn on_click(model: &mut Model, column: u16, row: u16, effects: &mut Vec<Effect>) {
    if model.has_help || model.dialog.is_some() {
        return;
    }
    if row == 0 {
        if let Some(screen) = crate::view::tab_at(model, column) {
            show(model, screen);
        }
        return;
    }
    let area = model.panes().list;
    let line = usize::from(row.saturating_sub(area.y + 1));
    if row <= area.y || (model.screen != Screen::Sessions && !area.contains((column, row).into())) {
        return;
    }
    match model.screen {
        Screen::Needs => model.needs.list.at = model.needs.list.top + line,
        Screen::Agents => model.agents.list.at = model.agents.list.top + line,
        Screen::Sessions if model.replay.is_none() && model.sessions.search.is_none() => {
            model.sessions.list.at = model.sessions.list.top + line;
            effects.extend(model.sessions.more(usize::from(model.size.1)));
        }
        Screen::Sessions | Screen::Task => {}
    }
}

fn on_scroll(model: &mut Model, by: i32, effects: &mut Vec<Effect>) {
    if model.has_help || model.dialog.is_some() {
        return;
    }
    if model.screen == Screen::Sessions && model.replay.is_some() {
        return replay::scroll(model, by, effects);
    }
    let key = if by < 0 { Key::Up } else { Key::Down };
    for _ in 0..by.unsigned_abs() {
        match model.screen {
            Screen::Needs => needs::key(model, key, effects),
            Screen::Agents => agents::key(model, key, effects),
            Screen::Sessions => sessions::key(model, key, effects),
            Screen::Task => {}
        }
    }
}

fn on_answer(model: &mut Model, answer: Answer, effects: &mut Vec<Effect>) {
    match answer {
        Answer::Fed(entries) => entries.iter().for_each(|entry| on_entry(model, entry)),
        Answer::Gone(reason) => on_gone(model, reason),
        Answer::Back => on_back(model, effects),
        Answer::Needs(read) => {
            model.needs.reading.ended(&read);
            if let Some(read) = taken(model, read) {
                model.needs.take(read);
            }
        }
        Answer::Agents(is_first, read) => on_agents(model, is_first, read),
        Answer::Turns(read) => {
            model.agents.turns.ended(&read);
            match taken(model, read) {
                Some(turns) => model.agents.take_turns(turns),
                None => model.agents.stale(|row| row.turn.is_none()),
            }
        }
        Answer::Sessions(asked, is_first, read) => on_sessions(model, asked, is_first, read),
        Answer::Found(asked, is_first, read) => found(model, asked, is_first, read),
        Answer::Session(id, read) => on_session(model, &id, read),
        Answer::Events(asked, part, read) => on_events(model, asked, part, read, effects),
        Answer::Decided(settled) => on_settled(model, settled, decided),
        Answer::Answered(settled) => on_settled(model, settled, answered),
        Answer::Requeued(requeued) => {
            if let Some(message) = taken(model, requeued) {
                model.say(format!("the message to {} is queued again", message.to));
                model.needs.reading.want();
            }
        }
        Answer::AgentChanged(changed) => {
            on_done(model, changed.map(|agent| agent_changed(&agent)));
            model.agents.reading.want();
        }
        Answer::Revived(asked) => on_done(model, asked.map(|approval| revived(&approval))),
        Answer::Drafts(read) => {
            if let Some(drafts) = taken(model, read) {
                model.task.offer(drafts);
            }
        }
        Answer::DraftSaved(fields, saved) => on_saved(model, fields, saved, effects),
        Answer::DraftDeleted(deleted) => drop(taken(model, deleted)),
        Answer::Launched(launched) => on_launched(model, launched),
    }
}

fn on_back(model: &mut Model, effects: &mut Vec<Effect>) {
    model.link = Link::There;
    model.say("the store is back");
    model.task.again(model.now);
    want_all(model);
    effects.push(Effect::ReadDrafts);
}

fn on_agents(model: &mut Model, is_first: bool, read: Result<Page<Agent>, Refused>) {
    match is_first {
        true => model.agents.reading.ended(&read),
        false => model.agents.more_ended(),
    }
    if let Some(page) = taken(model, read) {
        model.agents.take(is_first, page);
    }
}

fn on_sessions(
    model: &mut Model,
    asked: u64,
    is_first: bool,
    read: Result<Page<Session>, Refused>,
) {
    match is_first {
        true => model.sessions.reading.ended(&read),
        false => model.sessions.more_ended(),
    }
    if let Some(page) = taken(model, read) {
        model.sessions.take(asked, is_first, page);
    }
}

fn on_session(model: &mut Model, id: &SessionId, read: Result<Box<SessionRead>, Refused>) {
    if let Some(replay) = model.replay.as_mut().filter(|replay| replay.id == *id) {
        replay.head_reading.ended(&read);
    }
    let read = taken(model, read);
    if let Some(replay) = model.replay.as_mut().filter(|replay| replay.id == *id) {
        replay.head = read.or_else(|| replay.head.take());
    }
}

fn agent_changed(agent: &Agent) -> String {
    let name = &agent.name;
    match agent.destroyed_at {
        Some(_) => format!("{name} is destroyed; what it left is kept"),
        None => {
            let chosen = agent.model.as_deref().unwrap_or("the kind's default");
            format!("{name} runs on {chosen} from its next turn on")
        }
    }
}

fn revived(approval: &Approval) -> String {
    format!("{} is back once its spawn is approved: see 1 Needs me", approval.agent)
}

/// What was read; a refusal is said, unless it is that the store is away, which is said anyway.
fn taken<T>(model: &mut Model, read: Result<T, Refused>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(refused) if refused.is_gone() => None,
        Err(refused) => {
            model.say(refused.to_string());
            None
        }
    }
}

fn on_gone(model: &mut Model, reason: String) {
    let since = match &model.link {
        Link::Gone { since, .. } => *since,
        Link::There => model.now,
    };
    let reason = crate::clean(&reason);
    model.link = Link::Gone { since, reason };
}

fn on_entry(model: &mut Model, entry: &FeedEntry) {
    let session = entry.happening.session_id();
    if let Some(replay) = model.replay.as_mut().filter(|replay| Some(&replay.id) == session) {
        replay.newer.want();
        replay.head_reading.want();
    }
    if let Some(session) = session {
        model.sessions.reading.want();
        model.agents.stale(|row| row.session.as_ref() == Some(session));
    }
    let Happening::Change(change) = &entry.happening else { return };
    match change.kind {
        ChangeKind::SessionCreated | ChangeKind::SessionUpdated | ChangeKind::SessionDeleted => {
            model.needs.reading.want();
        }
        ChangeKind::RunQueued | ChangeKind::RunUpdated | ChangeKind::RunStopping => {
            model.needs.reading.want();
        }
        ChangeKind::AgentUpdated => {
            model.agents.reading.want();
            change.party.iter().for_each(|party: &Party| model.agents.stale_party(party));
        }
        ChangeKind::MessageQueued | ChangeKind::MessageUpdated => {
            model.needs.reading.want();
            change.party.iter().for_each(|party| model.agents.stale_party(party));
        }
        ChangeKind::ApprovalUpdated | ChangeKind::QuestionUpdated => model.needs.reading.want(),
        ChangeKind::ChangesTrimmed => want_all(model),
        ChangeKind::ExecutorUpdated
        | ChangeKind::FleetUpdated
        | ChangeKind::FenceUpdated
        | ChangeKind::RepoMoved => {}
    }
}

fn found(model: &mut Model, asked: u64, is_first: bool, read: Result<Page<SearchHit>, Refused>) {
    let Some(search) = model.sessions.search.as_mut().filter(|search| search.asked == asked) else {
        return;
    };
    match read {
        Ok(page) => search.take(is_first, page),
        Err(refused) => {
            search.is_under_way = false;
            search.problem = Some(crate::clean(&refused.to_string()));
        }
    }
}

fn on_events(
    model: &mut Model,
    asked: u64,
    part: Part,
    read: Result<EventsRead, Refused>,
    effects: &mut Vec<Effect>,
) {
    let area = model.body();
    let Some(replay) = &mut model.replay else { return };
    match read {
        Ok(read) => {
            let is_full = read.span.is_some() && !read.is_end;
            replay.take(asked, part, read, area);
            if matches!(part, Part::After(_)) && is_full && replay.follows {
                replay.newer.want();
            }
            effects.extend(replay.more());
        }
        Err(refused) => replay.refused(asked, &refused.to_string()),
    }
}

/// A decision or an answer that was sent.
fn on_settled<T>(
    model: &mut Model,
    settled: Result<Settled<T>, Refused>,
    tell: impl Fn(&Settled<T>) -> String,
) {
    on_done(model, settled.map(|settled| tell(&settled)));
    model.needs.reading.want();
}

/// What a dialog sent was done, or was not: then what is typed stays.
fn on_done(model: &mut Model, done: Result<String, Refused>) {
    match (done, &mut model.dialog) {
        (Ok(text), dialog) => {
            dialog.take_if(|dialog| dialog.is_sent);
            model.say(text);
        }
        (Err(refused), Some(dialog)) if dialog.is_sent => refuse(dialog, &refused),
        (Err(refused), _) => model.say(refused.to_string()),
    }
}

fn refuse(dialog: &mut Dialog, refused: &Refused) {
    match refused.is_gone() {
        true => dialog.refuse(format!("{refused}: not sent; Enter tries again")),
        false => dialog.refuse(refused.to_string()),
    }
}

fn decided(settled: &Settled<Box<Approval>>) -> String {
    let (approval, before) = match settled {
        Settled::Done(approval) => (approval, false),
        Settled::Before(approval) => (approval, true),
    };
    let Approval { kind, agent, status, .. } = &**approval;
    let note = approval.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    if before {
        let who = who(approval.resolved_by.as_ref(), approval.resolver.as_deref());
        return format!("{who} was first: {kind} of {agent} is {status}{note}");
    }
    match (&approval.problem, status) {
        (Some(problem), ApprovalStatus::Approved) => {
            format!("{kind} of {agent} is approved but not carried out: {problem}")
        }
        _ => format!("{kind} of {agent} is {status}{note}"),
    }
}

fn answered(settled: &Settled<Box<Question>>) -> String {
    let (question, before) = match settled {
        Settled::Done(question) => (question, false),
        Settled::Before(question) => (question, true),
    };
    let given = question.answer.as_ref().or(question.late_answer.as_ref());
    let values = given.map_or(String::new(), |given| given.values.join(", "));
    if before {
        let Some(given) = given else {
            return format!("the question of {} was {}", question.from, question.outcome);
        };
        let who = who(Some(&given.by), given.resolver.as_deref());
        return format!("{who} was first and answered {}: {values}", question.from);
    }
    match question.outcome {
        Outcome::Late => format!("the deadline had passed: {values} is kept as a late answer"),
        _ => format!("answered {}: {values}", question.from),
    }
}

/// Who decided, as well as that is known.
fn who(party: Option<&Party>, resolver: Option<&str>) -> String {
    let party = party.map_or("somebody", Party::as_str);
    resolver.map_or(party.to_owned(), |resolver| format!("{resolver} ({party})"))
}

fn on_saved(
    model: &mut Model,
    fields: DraftFields,
    saved: Result<(), Refused>,
    effects: &mut Vec<Effect>,
) {
    let problem = saved.err().map(|refused| refused.to_string());
    model.task.save_ended(fields, problem.as_deref());
    if model.closing == Closing::Saving {
        // What cannot be saved is kept beside the store by then.
        let again = if problem.is_none() { model.task.save() } else { None };
        model.closing = if again.is_some() { Closing::Saving } else { Closing::Yes };
        effects.extend(again);
    }
}

fn on_launched(model: &mut Model, launched: Result<(TaskBatch, DraftId), Refused>) {
    match launched {
        Ok((batch, next)) => {
            let tasks = batch.tasks.iter().map(|task| task.id.unwrap_or_default().to_string());
            let tasks = tasks.collect::<Vec<_>>().join(", ");
            let done = format!("task {tasks} is recorded; 3 shows its session");
            model.task.launched(next, done);
            model.sessions.reading.want();
        }
        Err(refused) => {
            model.task.is_sent = false;
            model.task.again(model.now);
            model.task.problem = Some(crate::clean(&format!("not sent: {refused}")));
        }
    }
}
