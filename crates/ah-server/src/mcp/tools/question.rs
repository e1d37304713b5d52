//! Questions: ask, fetch a late answer, answer, withdraw, look.

use std::time::Duration;

use ah_model::{
    Answer, Answered, Awaited, NewQuestion, Outcome, Party, Question, QuestionFilter, QuestionId,
    QuestionStatus, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::form::{FIELD, filled_in, form};
use super::shape::{Items, PageInput, WaitSeconds};
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::caller::forbidden;
use crate::mcp::round::Round;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about =
        |name, title, text, effect| About { name, title, text, needs: Powers::Agent, effect };
    vec![
        Tool::in_rounds(about("ask", "Ask", ASK, Effect::Adds), ask),
        Tool::new(about("get_answer", "Get an answer", GET, Effect::Settles), get_answer),
        Tool::new(about("answer", "Answer", ANSWER, Effect::Settles), answer),
        Tool::new(
            about("withdraw_question", "Withdraw a question", WITHDRAW, Effect::Ends),
            withdraw,
        ),
        Tool::new(about("list_questions", "List questions", LIST, Effect::Reads), list),
    ]
}

const ASK: &str = "Ask the operator (the person in charge) or another agent, and wait a while for \
    the answer. The question is kept first: if outcome is `open` when this returns, nobody has \
    answered yet. Go on with other work and call `get_answer` with the questionId later; the answer \
    also comes by mail. Do not ask the same again.";
const GET: &str = "Fetch the answer to a question that you asked, waiting a while if asked to. \
    outcome says how it stands: open, answered, late (answered after the deadline), expired (nobody \
    answered in time), withdrawn.";
const ANSWER: &str = "Answer a question that you were asked; its id is `about` of the `question` \
    message in your mail. Give one value, or several where the question says multi; where it has \
    options, give them as they are written.";
const WITHDRAW: &str = "Take back a question that you asked and that is still open.";
const LIST: &str = "List questions, newest first: those you `asked`, or those asked of you \
    (`received`). Use it with statuses [\"open\"] to see what waits.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskInput {
    /// The question, with all that is needed to answer it.
    text: String,
    /// `operator` when absent, or the name of an agent.
    #[serde(default = "operator")]
    to: Party,
    /// Answers to choose from; any text when empty.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    multi: bool,
    /// Whether an answer may also be something that is not among the options.
    #[serde(default)]
    free_text: bool,
    /// An answer after so many seconds is late; no deadline when absent.
    #[serde(default)]
    ttl_seconds: Option<u64>,
    /// How long to wait for the answer; 0 to 240, 20 when absent.
    #[serde(default)]
    wait_seconds: WaitSeconds,
    /// Who asks. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    from: Option<String>,
}

fn operator() -> Party {
    Party::Operator
}

/// A question as the one who asked sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Asked {
    /// Pass it to `get_answer`.
    question_id: QuestionId,
    /// `open` while nobody has answered.
    outcome: Outcome,
    /// What was answered; also when it was late.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_at: Option<Timestamp>,
}

impl From<Question> for Asked {
    fn from(question: Question) -> Self {
        Self {
            question_id: question.id,
            outcome: question.outcome,
            answer: question.answer.or(question.late_answer),
            deadline_at: question.deadline_at,
        }
    }
}

impl AskInput {
    fn question(self, act: &Act) -> Result<NewQuestion, Failure> {
        let Self { text, to, options, multi, free_text, ttl_seconds, wait_seconds: _, from } = self;
        let from = act.party(from.as_deref())?;
        let ttl_ms = ttl_seconds.map(|seconds| seconds.saturating_mul(1_000));
        Ok(NewQuestion { id: None, from, to, text, options, multi, free_text, ttl_ms })
    }
}

/// It is asked, whatever happens to the wait: its id must come back.
async fn ask(act: Act, input: AskInput) -> Result<Round<Asked>, Failure> {
    let wait = input.wait_seconds.duration()?;
    let new = input.question(&act)?;
    let (asked, wait) = match act.rounds.state() {
        None => (act.call(|store| async move { store.ask_question(new).await }).await?, wait),
        Some(state) => asked_before(&act, &new, state, wait).await?,
    };
    if !wait.is_zero() && may_fill_in(&act, &asked) {
        return ask_here(&act, asked, wait).await;
    }
    let now = if act.rounds.knows_rounds() { wait.min(act.state.options.mcp_round) } else { wait };
    let Ok(question) = ended(&act, &asked.id, now).await else {
        return Ok(Round::Done(asked.into()));
    };
    let left = wait.saturating_sub(now);
    // Of a server that stops nobody gets another round.
    if question.status == QuestionStatus::Open && !left.is_zero() && !act.state.is_closing() {
        return Ok(Round::again(round_state(&question.id, left)));
    }
    Ok(Round::Done(question.into()))
}

/// What the client brings back: how long it still waits, and for what.
fn round_state(id: &QuestionId, left: Duration) -> String {
    format!("{}.{id}", left.as_millis())
}

/// The question that was asked in a round before, and how long there is to wait. A state that
/// somebody made up gets nothing: it must name what this caller asked with this very call.
async fn asked_before(
    act: &Act,
    new: &NewQuestion,
    state: &str,
    wait: Duration,
) -> Result<(Question, Duration), Failure> {
    let strange = || Failure::invalid("requestState", "is not what this call was given before");
    let (left, id) = state.split_once('.').ok_or_else(strange)?;
    let left = left.parse().map(Duration::from_millis).map_err(|_| strange())?;
    let found = read(act, &id.parse().map_err(|_| strange())?).await?;
    let same = found.from.is(new.from.as_str())
        && found.to.is(new.to.as_str())
        && (found.multi, found.free_text) == (new.multi, new.free_text)
        && found.text == new.text
        && found.options == new.options;
    if same { Ok((found, left.min(wait))) } else { Err(strange()) }
}

/// Whether who sits at the client may answer. Only where the caller is the operator: an agent's
/// program could fill in the form by itself.
fn may_fill_in(act: &Act, question: &Question) -> bool {
    act.rounds.shows_forms()
        && act.caller.powers() == Powers::Admin
        && question.to == Party::Operator
}

/// Asks who sits at the client, or takes what was filled in. Who does not answer leaves the question
/// as it is, for whoever answers elsewhere.
async fn ask_here(act: &Act, asked: Question, wait: Duration) -> Result<Round<Asked>, Failure> {
    let state = round_state(&asked.id, wait);
    if asked.status == QuestionStatus::Open {
        let Some(response) = act.rounds.response(FIELD) else {
            return Ok(Round::asking(FIELD, form(&asked, None), state));
        };
        let values = filled_in(&asked, response)?;
        if !values.is_empty() {
            let answer = Answer { by: Party::Operator, resolver: Some(act.holder()), values };
            if let Err(invalid) = asked.check_answer(&answer) {
                let form = form(&asked, Some(&invalid.to_string()));
                return Ok(Round::asking(FIELD, form, state));
            }
            let id = asked.id.clone();
            match act.call(|store| async move { store.answer_question(id, answer).await }).await {
                // Somebody was faster: that answer is the one.
                Err(failure) if failure.problem().code != "conflict" => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
    }
    let question = ended(act, &asked.id, Duration::ZERO).await.unwrap_or(asked);
    Ok(Round::Done(question.into()))
}

/// The question once it is not open any more, else as it is after the wait. Who learns here how it
/// ended needs no notice of it.
async fn ended(act: &Act, id: &QuestionId, wait: Duration) -> Result<Question, Failure> {
    let look = || {
        let id = id.clone();
        act.call(|store| async move { store.question(id).await })
    };
    let over = |question: &Question| question.status != QuestionStatus::Open;
    let question = act.look_until(Awaited::Question(id.clone()), wait, look, over).await?;
    if over(&question) && act.caller.party(Some(question.from.as_str())).is_ok() {
        let (to, about) = (question.from.clone(), question.id.to_string());
        // A notice that stays is read twice, which does no harm.
        let _ = act.call(|store| async move { store.dismiss_notices(to, about).await }).await;
    }
    Ok(question)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetInput {
    question_id: QuestionId,
    /// How long to wait while it is open; 0 to 240, 0 when absent.
    #[serde(default = "WaitSeconds::none")]
    wait_seconds: WaitSeconds,
}

async fn get_answer(act: Act, input: GetInput) -> Result<Asked, Failure> {
    let wait = input.wait_seconds.duration()?;
    let question = own(&act, &input.question_id).await?;
    Ok(ended(&act, &question.id, wait).await?.into())
}

async fn read(act: &Act, id: &QuestionId) -> Result<Question, Failure> {
    let id = id.clone();
    act.call(|store| async move { store.question(id).await }).await
}

/// The question, unless somebody else asked it.
async fn own(act: &Act, id: &QuestionId) -> Result<Question, Failure> {
    let question = read(act, id).await?;
    if act.caller.sees(&[question.from.as_str()]) {
        return Ok(question);
    }
    Err(forbidden(format!("question {id} was not asked by you")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnswerInput {
    question_id: QuestionId,
    /// The answer: one value unless the question says multi.
    values: Vec<String>,
    /// Who answers. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    from: Option<String>,
}

async fn answer(act: Act, input: AnswerInput) -> Result<Question, Failure> {
    let AnswerInput { question_id: id, values, from } = input;
    let by = act.party(from.as_deref())?;
    if !act.caller.sees(&[read(&act, &id).await?.to.as_str()]) {
        return Err(forbidden(format!("question {id} was not asked of you")));
    }
    let (resolver, about, to) = (Some(act.holder()), id.to_string(), by.clone());
    let answer = Answer { by, resolver, values };
    let question = act.call(|store| async move { store.answer_question(id, answer).await }).await?;
    if to != Party::Operator {
        // The question itself came by mail; who has answered it need not receive it any more.
        let _ = act.call(|store| async move { store.dismiss_notices(to, about).await }).await;
    }
    Ok(question)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WithdrawInput {
    question_id: QuestionId,
    /// Who takes it back. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    from: Option<String>,
}

async fn withdraw(act: Act, input: WithdrawInput) -> Result<Question, Failure> {
    let by = act.party(input.from.as_deref())?;
    let id = own(&act, &input.question_id).await?.id;
    act.call(|store| async move { store.withdraw_question(id, by).await }).await
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Side {
    Asked,
    #[default]
    Received,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListInput {
    /// `received` when absent.
    #[serde(default)]
    side: Side,
    /// Only in one of these: open, answered, expired, withdrawn.
    #[serde(default)]
    statuses: Vec<QuestionStatus>,
    #[serde(default)]
    page: PageInput,
    /// Whose. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

async fn list(act: Act, input: ListInput) -> Result<Items<Question>, Failure> {
    let ListInput { side, statuses, page, agent } = input;
    let own = Some(act.party(agent.as_deref())?);
    let (from, to) = match side {
        Side::Asked => (own, None),
        Side::Received => (None, own),
    };
    let filter = QuestionFilter { statuses, from, to, ..QuestionFilter::default() };
    let page = page.request()?;
    let found = act.call(|store| async move { store.list_questions(filter, page).await }).await?;
    Ok(Items::of(found, |question| question))
}
