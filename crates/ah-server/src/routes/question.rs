//! Questions. Agents ask as themselves, answer what they are asked, and take back what they asked.

use ah_model::{Answer, NewQuestion, Page, Party, Question, QuestionFilter, QuestionId};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{self, Items, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId, Speech, Spoken};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let (look, act) = (Access::OVERSEE.of_party(), Access::OPERATE.of_party());
    Routes::new()
        .post("/questions", act, about_new(), ask)
        .get("/questions", look, about_list(), list)
        .get("/questions/{id}", look, about("Shows a question").fails([404]), show)
        .get("/question-ids", Access::OVERSEE, about_ids(), ids)
        .post("/questions/{id}/answer", act, about_answer(), give_answer)
        .post("/questions/{id}/withdrawal", act, about_withdrawal(), withdraw)
}

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Question>(200)
}

fn about_new() -> Doc {
    doc("Asks a question").answers::<Question>(201).fails([404, 409])
}

fn about_list() -> Doc {
    let doc = doc("Questions, newest first; an agent's own").query(params::questions());
    doc.query(params::page()).answers::<Page<Question>>(200)
}

fn about_ids() -> Doc {
    let doc = doc("The ids of questions that begin so, at most two");
    doc.query([params::prefix()]).answers::<Items<QuestionId>>(200)
}

fn about_answer() -> Doc {
    about("Answers a question, in time or late").fails([404, 409])
}

fn about_withdrawal() -> Doc {
    about("Takes a question back").fails([404, 409])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuestionWithdrawal")]
struct Withdrawal {
    /// Who takes it back: who asked, or the operator.
    by: Party,
}

impl Speech for Withdrawal {
    const SPEAKER: &'static str = "by";

    fn speaker(&mut self) -> &mut Party {
        &mut self.by
    }
}

async fn ask(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(question, _share): JsonBody<Spoken<NewQuestion>, PROMPT_BODY_BYTES_MAX>,
) -> answer::Answer {
    let question = question.by(&caller);
    caller.must_be(&question.from, "ask as")?;
    created(&state.call(|store| async move { store.ask_question(question).await }).await?)
}

async fn list(State(state): State<ServerState>, caller: Caller, pairs: Pairs) -> answer::Answer {
    pairs.only(params::questions().into_iter().chain(params::page()))?;
    let (mut filter, page) = (pairs.read::<QuestionFilter>()?, pairs.read()?);
    filter.party = caller.narrowed(filter.party)?;
    ok(&state.call(|store| async move { store.list_questions(filter, page).await }).await?)
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<QuestionId>,
) -> answer::Answer {
    ok(&own(&state, &caller, id).await?)
}

async fn ids(State(state): State<ServerState>, pairs: Pairs) -> answer::Answer {
    let prefix = pairs.text("prefix")?;
    let ids = state.call(|store| async move { store.question_ids_with_prefix(prefix).await });
    ok(&Items { items: ids.await? })
}

async fn give_answer(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<QuestionId>,
    JsonBody(given, _share): JsonBody<Spoken<Answer>, PROMPT_BODY_BYTES_MAX>,
) -> answer::Answer {
    let mut given = given.by(&caller);
    if caller.agent().is_some() {
        caller.must_be(&given.by, "answer as")?;
        let question = own(&state, &caller, id.clone()).await?;
        caller.must_be(&question.to, "answer what was asked of")?;
    }
    caller.sign(&given.by, &mut given.resolver)?;
    ok(&state.call(|store| async move { store.answer_question(id, given).await }).await?)
}

async fn withdraw(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<QuestionId>,
    JsonBody(withdrawal, _share): JsonBody<Spoken<Withdrawal>>,
) -> answer::Answer {
    let Withdrawal { by } = withdrawal.by(&caller);
    if caller.agent().is_some() {
        caller.must_be(&by, "withdraw as")?;
        let question = own(&state, &caller, id.clone()).await?;
        caller.must_be(&question.from, "withdraw what was asked by")?;
    }
    ok(&state.call(|store| async move { store.withdraw_question(id, by).await }).await?)
}

/// The question, unless the caller is an agent that neither asks nor is asked.
pub(super) async fn own(
    state: &ServerState,
    caller: &Caller,
    id: QuestionId,
) -> Result<Question, Failure> {
    let question = state.call(|store| async move { store.question(id).await }).await?;
    caller.must_be_one_of([&question.from, &question.to], "see what is asked between")?;
    Ok(question)
}
