//! Questions.

use ah_model::{
    Answer, NewQuestion, Page, PageRequest, Party, Question, QuestionFilter, QuestionId,
};
use ah_store::{Questions, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct Withdrawal {
    by: Party,
}

fn questions() -> Target {
    Target::new(["questions"])
}

fn question_target(id: &QuestionId, part: &str) -> Target {
    Target::new(["questions", id.as_str(), part])
}

#[async_trait]
impl Questions for RestStore {
    async fn ask_question(&self, question: NewQuestion) -> Result<Question, StoreError> {
        self.create(Method::POST, &questions(), &question)
    }

    async fn question(&self, id: QuestionId) -> Result<Question, StoreError> {
        self.http.get(&Target::new(["questions", id.as_str()]))
    }

    async fn question_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<QuestionId>, StoreError> {
        self.http.items(Target::new(["question-ids"]).pair("prefix", prefix))
    }

    async fn list_questions(
        &self,
        filter: QuestionFilter,
        page: PageRequest,
    ) -> Result<Page<Question>, StoreError> {
        self.http.list(questions().query(&filter).query(&page))
    }

    async fn answer_question(
        &self,
        id: QuestionId,
        answer: Answer,
    ) -> Result<Question, StoreError> {
        self.create(Method::POST, &question_target(&id, "answer"), &answer)
    }

    async fn withdraw_question(&self, id: QuestionId, by: Party) -> Result<Question, StoreError> {
        self.create(Method::POST, &question_target(&id, "withdrawal"), &Withdrawal { by })
    }
}
