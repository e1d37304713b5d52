//! Things asked of the operator or of an agent.

use ah_model::{
    Answer, NewQuestion, Page, PageRequest, Party, Question, QuestionFilter, QuestionId,
};
use async_trait::async_trait;

use crate::StoreError;

/// Questions: asked, answered in time or late, expired, withdrawn. Whoever reads them gets them as
/// they are now: deadlines that have passed are applied first.
#[async_trait]
pub trait Questions {
    /// Asks, and tells an agent that is asked. A party that is not known is not found, a dead one a
    /// conflict.
    async fn ask_question(&self, question: NewQuestion) -> Result<Question, StoreError>;

    /// The question of that id.
    async fn question(&self, id: QuestionId) -> Result<Question, StoreError>;

    /// The ids that begin with `prefix`, at most two: enough to tell unique from not.
    async fn question_ids_with_prefix(&self, prefix: String)
    -> Result<Vec<QuestionId>, StoreError>;

    /// Questions in the order of asking, newest first. A page may end early when what it holds is
    /// large.
    async fn list_questions(
        &self,
        filter: QuestionFilter,
        page: PageRequest,
    ) -> Result<Page<Question>, StoreError>;

    /// Answers, and tells an agent that asked. In time it is the answer; at the deadline or later it
    /// is kept as late. The same answer again is no change, another one a conflict, and so is an
    /// answer of somebody who was not asked or to a question that was withdrawn.
    async fn answer_question(&self, id: QuestionId, answer: Answer)
    -> Result<Question, StoreError>;

    /// Takes a question back, for who asked or the operator. One that was answered or has expired is
    /// a conflict.
    async fn withdraw_question(&self, id: QuestionId, by: Party) -> Result<Question, StoreError>;
}
