//! Questions in the oracle.

use ah_model::{
    Answer, NewQuestion, Page, PageRequest, Party, Question, QuestionFilter, QuestionId,
};
use ah_store::{Kind, Questions, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, newest_page, with_prefix};

#[async_trait]
impl Questions for ModelStore {
    async fn ask_question(&self, question: NewQuestion) -> Result<Question, StoreError> {
        question.check()?;
        let question = self.clean(question);
        self.settle()?;
        self.write_once(|rows, door| rows.ask_question(question, door))
    }

    async fn question(&self, id: QuestionId) -> Result<Question, StoreError> {
        self.settle()?;
        self.read(|rows| Ok(rows.questions[&rows.question_place(&id)?].clone()))
    }

    async fn question_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<QuestionId>, StoreError> {
        self.read(|rows| {
            let ids = rows.questions.values().map(|question| question.id.clone());
            Ok(with_prefix(ids, &prefix))
        })
    }

    async fn list_questions(
        &self,
        filter: QuestionFilter,
        page: PageRequest,
    ) -> Result<Page<Question>, StoreError> {
        self.settle()?;
        self.read(|rows| newest_page(&rows.questions, &page, |question| filter.matches(question)))
    }

    async fn answer_question(
        &self,
        id: QuestionId,
        answer: Answer,
    ) -> Result<Question, StoreError> {
        answer.check()?;
        let answer = self.clean(answer);
        self.settle()?;
        self.write(|rows, door| {
            let answer = Answer { by: rows.known(&answer.by)?, ..answer };
            let question = rows.question_mut(&id)?;
            question.check_answer(&answer)?;
            let answered = question.answer(&answer, door.now());
            let news = answered.map_err(|reason| refused(question, reason))?;
            let question = question.clone();
            if news {
                rows.tell(question.outcome_notice(), door)?;
            }
            Ok(question)
        })
    }

    async fn withdraw_question(&self, id: QuestionId, by: Party) -> Result<Question, StoreError> {
        self.settle()?;
        self.write(|rows, door| {
            let by = rows.known(&by)?;
            let question = rows.question_mut(&id)?;
            let withdrawn = question.withdraw(&by, door.now());
            withdrawn.map_err(|reason| refused(question, reason))?;
            Ok(question.clone())
        })
    }
}

impl Rows {
    /// Refuses, in this order: who asks, who is asked, a taken id.
    fn ask_question(&mut self, new: NewQuestion, door: &Door) -> Result<Question, StoreError> {
        let (from, to) = (self.living(&new.from)?, self.living(&new.to)?);
        if let Some(id) = new.id.as_ref().filter(|id| self.question_place(id).is_ok()) {
            return Err(StoreError::conflict(Kind::Question, id, "exists already"));
        }
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.question(door.now())?,
        };
        let new = NewQuestion { from, to, ..new };
        let question = Question::asked(&new, id, self.next_place(), door.now());
        self.insert_question(question.clone());
        self.tell(question.asked_notice(), door)?;
        Ok(question)
    }

    pub(super) fn insert_question(&mut self, question: Question) {
        self.questions.insert(i64::try_from(question.number).unwrap(), question);
    }

    pub(super) fn question_place(&self, id: &QuestionId) -> Result<i64, StoreError> {
        let place = self.questions.iter().find(|(_, question)| question.id == *id);
        let place = place.map(|(place, _)| *place);
        place.ok_or_else(|| StoreError::not_found(Kind::Question, id))
    }

    fn question_mut(&mut self, id: &QuestionId) -> Result<&mut Question, StoreError> {
        let place = self.question_place(id)?;
        Ok(self.questions.get_mut(&place).unwrap())
    }
}

fn refused(question: &Question, reason: String) -> StoreError {
    StoreError::conflict(Kind::Question, &question.id, reason)
}
