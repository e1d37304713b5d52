//! Questions in SQL. Rows are locked after agents and before messages.

use ah_model::{
    Answer, Answered, Cursor, NewQuestion, Outcome, Page, PageRequest, Party, Question,
    QuestionFilter, QuestionId, QuestionStatus, RawJson, Timestamp,
};
use ah_store::{Kind, Questions, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::hive::Imported;
use crate::page::{ids_with_prefix, number_cursor, sized_page};
use crate::party::{self, Standing};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::statement::Statement;
use crate::tx::{Row, Tx, query_all, query_first};
use crate::{change, lull, message};

/// Every column [`read`] takes.
const SELECT: &str = "SELECT number, id, asker, target, question, options, multi, free_text, status, \
    asked_at, deadline_at, resolved_at, answer, late_answer FROM questions";

/// Reads leniently what another program may have left: of a status that nobody knows a question was
/// withdrawn, rather than the end of a whole list. `check` names such rows.
fn read(row: &dyn Row) -> Result<Question, StoreError> {
    let row = Reader::new(row);
    let (number, id) = (row.uint()?, row.parse()?);
    let (from, to) = (message::read_party(&row)?, message::read_party(&row)?);
    let (text, options) = (row.text()?, row.json()?.read().unwrap_or_default());
    let (multi, free_text) = (row.bool()?, row.bool()?);
    let status = row.text()?.parse().unwrap_or(QuestionStatus::Withdrawn);
    let asked_at = row.time().unwrap_or(Timestamp::EPOCH);
    let (deadline_at, resolved_at) = (row.opt_time()?, row.opt_time()?);
    let (answer, late_answer) = (read_answer(&row)?, read_answer(&row)?);
    let outcome = match status {
        QuestionStatus::Open => Outcome::Open,
        QuestionStatus::Answered => Outcome::Answered,
        QuestionStatus::Expired if late_answer.is_some() => Outcome::Late,
        QuestionStatus::Expired => Outcome::Expired,
        QuestionStatus::Withdrawn => Outcome::Withdrawn,
    };
    Ok(Question {
        id,
        number,
        from,
        to,
        text,
        options,
        multi,
        free_text,
        status,
        outcome,
        asked_at,
        deadline_at,
        resolved_at,
        answer,
        late_answer,
    })
}

fn read_answer(row: &Reader<'_>) -> Result<Option<Answered>, StoreError> {
    Ok(row.opt_json()?.and_then(|json| json.read().ok()))
}

fn find(tx: &mut dyn Tx, id: &QuestionId) -> Result<Option<Question>, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)
}

fn get(tx: &mut dyn Tx, id: &QuestionId) -> Result<Question, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::not_found(Kind::Question, id))
}

/// The question of that id, which nobody else changes until the transaction ends, and whose asker
/// can be told: agents are locked before questions.
fn lock(tx: &mut dyn Tx, id: &QuestionId) -> Result<Question, StoreError> {
    let asker = get(tx, id)?.from;
    party::keep(tx, &[&asker])?;
    lock_kept(tx, id)
}

/// As [`lock`] when the asker is kept already.
fn lock_kept(tx: &mut dyn Tx, id: &QuestionId) -> Result<Question, StoreError> {
    let sql = format!("{SELECT} WHERE id = $1{}", tx.dialect().for_update());
    query_first(tx, &sql, &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Question, id))
}

const INSERT: &str = "INSERT INTO questions (id, asker, target, question, options, multi, free_text, \
    status, asked_at, deadline_at, resolved_at, answer, late_answer) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

/// Writes a new row and gives the question its number.
fn insert(tx: &mut dyn Tx, question: &mut Question) -> Result<(), StoreError> {
    let options = RawJson::of(&question.options)?;
    let (answer, late_answer) = answers(question)?;
    let params = [
        question.id.as_str().into(),
        question.from.as_str().into(),
        question.to.as_str().into(),
        (&question.text).into(),
        options.as_str().into(),
        question.multi.into(),
        question.free_text.into(),
        question.status.as_str().into(),
        question.asked_at.into(),
        question.deadline_at.into(),
        question.resolved_at.into(),
        answer.as_ref().map(RawJson::as_str).into(),
        late_answer.as_ref().map(RawJson::as_str).into(),
    ];
    question.number = tx.insert_numbered(INSERT, &params)?;
    lull::ends_by(tx, question.deadline_at);
    Ok(())
}

fn answers(question: &Question) -> Result<(Option<RawJson>, Option<RawJson>), StoreError> {
    let json = |given: &Option<Answered>| given.as_ref().map(RawJson::of).transpose();
    Ok((json(&question.answer)?, json(&question.late_answer)?))
}

const SAVE: &str = "UPDATE questions SET status = $1, resolved_at = $2, answer = $3, \
    late_answer = $4 WHERE number = $5";

/// Writes what a question's life changes, and notes it.
fn save(tx: &mut dyn Tx, ctx: &Resources, question: &Question) -> Result<(), StoreError> {
    let (answer, late_answer) = answers(question)?;
    let params = [
        question.status.as_str().into(),
        question.resolved_at.into(),
        answer.as_ref().map(RawJson::as_str).into(),
        late_answer.as_ref().map(RawJson::as_str).into(),
        question.number.into(),
    ];
    tx.execute(SAVE, &params)?;
    change::question(tx, ctx, question)
}

fn refused(question: &Question, reason: String) -> StoreError {
    StoreError::conflict(Kind::Question, &question.id, reason)
}

fn ask(tx: &mut dyn Tx, ctx: &Resources, new: &NewQuestion) -> Result<Question, StoreError> {
    let spelt = party::resolve(tx, &[&new.from, &new.to], Standing::Living)?;
    let mut new = new.clone();
    if let [from, to] = spelt.as_slice() {
        (new.from, new.to) = (from.clone(), to.clone());
    }
    let now = ctx.now();
    let id = match &new.id {
        Some(id) if find(tx, id)?.is_some() => {
            return Err(StoreError::conflict(Kind::Question, id, "exists already"));
        }
        Some(id) => id.clone(),
        None => ctx.ids.question(now)?,
    };
    let mut question = Question::asked(&new, id, 0, now);
    insert(tx, &mut question)?;
    change::question(tx, ctx, &question)?;
    message::post(tx, ctx, question.asked_notice())?;
    Ok(question)
}

fn answer(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &QuestionId,
    answer: &Answer,
) -> Result<Question, StoreError> {
    let by = party::resolve_one(tx, &answer.by, Standing::Known)?;
    let answer = Answer { by, ..answer.clone() };
    let mut question = lock(tx, id)?;
    question.check_answer(&answer)?;
    let changed = question.answer(&answer, ctx.now());
    if changed.map_err(|reason| refused(&question, reason))? {
        save(tx, ctx, &question)?;
        message::post(tx, ctx, question.outcome_notice())?;
    }
    Ok(question)
}

fn withdraw(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &QuestionId,
    by: &Party,
) -> Result<Question, StoreError> {
    let by = party::resolve_one(tx, by, Standing::Known)?;
    let mut question = lock(tx, id)?;
    let changed = question.withdraw(&by, ctx.now());
    if changed.map_err(|reason| refused(&question, reason))? {
        save(tx, ctx, &question)?;
    }
    Ok(question)
}

/// Whether a deadline has passed at `$1`.
pub(crate) const DUE: &str = "status = 'open' AND deadline_at IS NOT NULL AND deadline_at <= $1";

/// A question whose deadline has passed: its id, and whom it is between.
pub(crate) type Overdue = (String, [Party; 2]);

/// The questions whose deadline has passed at `now`, oldest first, at most so many.
pub(crate) fn overdue(
    tx: &mut dyn Tx,
    now: Timestamp,
    most: usize,
) -> Result<Vec<Overdue>, StoreError> {
    let sql = format!(
        "SELECT id, asker, target FROM questions WHERE {DUE} \
         ORDER BY deadline_at, number LIMIT $2"
    );
    query_all(tx, &sql, &[now.into(), (most as u64).into()], |row| {
        let row = Reader::new(row);
        Ok((row.text()?, [message::read_party(&row)?, message::read_party(&row)?]))
    })
}

/// Ends those of these questions whose deadline has passed at `now`; how many. Whom they are between
/// is kept: a purge, which removes questions to its agent as well, waits for none of them.
pub(crate) fn expire(
    tx: &mut dyn Tx,
    ctx: &Resources,
    now: Timestamp,
    due: &[Overdue],
) -> Result<u64, StoreError> {
    let mut expired = 0;
    for (id, _) in due {
        // A row that cannot be read costs itself: `check` names it.
        let Ok(id) = id.parse() else { continue };
        let mut question = match lock_kept(tx, &id) {
            Err(StoreError::NotFound { .. } | StoreError::Corrupt { .. }) => continue,
            question => question?,
        };
        // Looked at again now that it is locked: somebody may just have answered.
        if question.is_due(now) {
            question.expire();
            save(tx, ctx, &question)?;
            message::post(tx, ctx, question.outcome_notice())?;
            expired += 1;
        }
    }
    Ok(expired)
}

/// Whether the question has come to an end.
pub(crate) fn is_over(tx: &mut dyn Tx, id: &QuestionId) -> Result<bool, StoreError> {
    const STATUS: &str = "SELECT status FROM questions WHERE id = $1";
    let status = query_first(tx, STATUS, &[id.as_str().into()], |row| row.text(0))?;
    let status = status.ok_or_else(|| StoreError::not_found(Kind::Question, id))?;
    Ok(status != QuestionStatus::Open.as_str())
}

/// Brings in a question of another store, whose parties are spelt as here.
pub(crate) fn import(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut question: Question,
) -> Result<Imported, StoreError> {
    let Some(known) = find(tx, &question.id)? else {
        insert(tx, &mut question)?;
        change::question(tx, ctx, &question)?;
        return Ok(Imported::Created);
    };
    let known = lock(tx, &known.id)?;
    let gone_on = |question: &Question| question.status != QuestionStatus::Open;
    if gone_on(&known) || !gone_on(&question) {
        return Ok(Imported::Present);
    }
    question.number = known.number;
    save(tx, ctx, &question)?;
    Ok(Imported::Updated)
}

fn list(
    tx: &mut dyn Tx,
    filter: &QuestionFilter,
    page: &PageRequest,
) -> Result<Page<Question>, StoreError> {
    let number = |question: &Question| i64::try_from(question.number).unwrap_or(i64::MAX);
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let some = |last: Option<&Question>, rows| some(tx, filter, last.map_or(first, number), rows);
    sized_page(page.limit, some, size, |question| Cursor::Number(number(question)))
}

fn size(question: &Question) -> usize {
    let values = |given: &Option<Answered>| {
        given.iter().flat_map(|given| &given.values).map(String::len).sum::<usize>()
    };
    let options = question.options.iter().map(String::len).sum::<usize>();
    question.text.len() + options + values(&question.answer) + values(&question.late_answer)
}

fn some(
    tx: &mut dyn Tx,
    filter: &QuestionFilter,
    before: i64,
    rows: usize,
) -> Result<Vec<Question>, StoreError> {
    let from = filter.from.as_ref().map(party::any_case);
    let to = filter.to.as_ref().map(party::any_case);
    let either = filter.party.as_ref().map(party::any_case);
    let mut query = Statement::new(SELECT, tx.dialect());
    query.push(" WHERE number < ").param(before);
    query.one_of_ours("status", filter.statuses.iter().map(|status| status.as_str()).collect());
    if let Some(from) = &from {
        query.condition("lower(asker) = ", from);
    }
    if let Some(to) = &to {
        query.condition("lower(target) = ", to);
    }
    if let Some(party) = &either {
        query.either(["lower(asker)", "lower(target)"], party);
    }
    query.push(" ORDER BY number DESC LIMIT ").param(rows as u64);
    query_all(tx, &query.sql, &query.params, read)
}

#[async_trait]
impl Questions for SqlStore {
    async fn ask_question(&self, question: NewQuestion) -> Result<Question, StoreError> {
        question.check()?;
        let question = self.clean(question);
        self.once_as_due(Option::is_some, move |tx, ctx| ask(tx, ctx, &question)).await
    }

    async fn question(&self, id: QuestionId) -> Result<Question, StoreError> {
        self.read_as_due(move |tx, _| get(tx, &id)).await
    }

    async fn question_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<QuestionId>, StoreError> {
        self.read(move |tx, _| ids_with_prefix(tx, "questions", &prefix)).await
    }

    async fn list_questions(
        &self,
        filter: QuestionFilter,
        page: PageRequest,
    ) -> Result<Page<Question>, StoreError> {
        self.read_as_due(move |tx, _| list(tx, &filter, &page)).await
    }

    async fn answer_question(&self, id: QuestionId, given: Answer) -> Result<Question, StoreError> {
        given.check()?;
        let given = self.clean(given);
        self.write_as_due(move |tx, ctx| answer(tx, ctx, &id, &given)).await
    }

    async fn withdraw_question(&self, id: QuestionId, by: Party) -> Result<Question, StoreError> {
        self.write_as_due(move |tx, ctx| withdraw(tx, ctx, &id, &by)).await
    }
}
