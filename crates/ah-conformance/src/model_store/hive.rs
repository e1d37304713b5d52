//! What time decides of messages and questions, waiting for them, and bringing them from elsewhere,
//! in the oracle.

use ah_model::{
    Approval, ApprovalStatus, Awaited, HiveImport, HiveImported, HiveSwept, Message, MessageStatus,
    Party, Question, QuestionStatus, Timestamp, limits,
};
use ah_store::{Hive, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows};

#[async_trait]
impl Hive for ModelStore {
    async fn sweep_hive(&self) -> Result<HiveSwept, StoreError> {
        self.settle()
    }

    async fn wait_for(&self, awaited: Awaited) -> Result<(), StoreError> {
        let mut writes = self.writes.subscribe();
        loop {
            // Marked as seen before the read, so a write between read and wait wakes us.
            writes.mark_unchanged();
            let now = self.door.now();
            if self.read(|rows| rows.has_come(&awaited, now))? {
                return Ok(());
            }
            writes
                .changed()
                .await
                .map_err(|closed| StoreError::backend("wait at a closed store", closed))?;
        }
    }

    async fn import_hive(&self, import: HiveImport) -> Result<HiveImported, StoreError> {
        import.check()?;
        let import = self.clean(import);
        self.settle()?;
        self.write_once(|rows, _| rows.import_hive(import))
    }
}

/// One thing that time has decided.
enum Due {
    Message(i64),
    Question(i64),
}

impl ModelStore {
    /// Applies what is due, a write for each, so that the feed tells of each with what it caused.
    pub(super) fn settle(&self) -> Result<HiveSwept, StoreError> {
        let mut swept = HiveSwept::default();
        for _ in 0..limits::SWEEP_MAX {
            if self.read(|rows| rows.next_due(self.door.now())).is_none() {
                break;
            }
            self.write(|rows, door| {
                // Somebody else may have applied it since.
                let due = rows.next_due(door.now());
                due.map_or(Ok(()), |due| rows.apply_due_of_hive(&due, &mut swept, door))
            })?;
        }
        Ok(swept)
    }
}

impl Rows {
    /// The oldest lease that is over, then the oldest deadline that has passed.
    fn next_due(&self, now: Timestamp) -> Option<Due> {
        let messages = self.messages.iter().filter(|(_, message)| message.is_due(now));
        let lease_end = |(place, message): &(&i64, &Message)| {
            (message.lease.as_ref().map(|lease| lease.expires_at), **place)
        };
        let questions = self.questions.iter().filter(|(_, question)| question.is_due(now));
        let deadline = |(place, question): &(&i64, &Question)| (question.deadline_at, **place);
        let message = messages.min_by_key(lease_end).map(|(place, _)| Due::Message(*place));
        message.or_else(|| questions.min_by_key(deadline).map(|(place, _)| Due::Question(*place)))
    }

    fn apply_due_of_hive(
        &mut self,
        due: &Due,
        swept: &mut HiveSwept,
        door: &Door,
    ) -> Result<(), StoreError> {
        let notice = match due {
            Due::Message(place) => {
                let message = self.messages.get_mut(place).unwrap();
                message.lapse(door.now());
                match message.status {
                    MessageStatus::Dead => swept.dead += 1,
                    _ => swept.requeued += 1,
                }
                message.bounce()
            }
            Due::Question(place) => {
                let question = self.questions.get_mut(place).unwrap();
                question.expire();
                swept.expired += 1;
                question.outcome_notice()
            }
        };
        self.tell(notice, door)
    }

    fn has_come(&self, awaited: &Awaited, now: Timestamp) -> Result<bool, StoreError> {
        Ok(match awaited {
            Awaited::Mail(party) => {
                let party = self.known(party)?;
                let mut messages = self.messages.values();
                messages.any(|message| message.to == party && message.is_receivable(now))
            }
            Awaited::Question(id) => {
                self.questions[&self.question_place(id)?].status != QuestionStatus::Open
            }
            Awaited::Approval(id) => {
                self.approvals[&self.approval_place(id)?].status != ApprovalStatus::Pending
            }
        })
    }

    /// Kind by kind, each in the order of its numbers there.
    fn import_hive(&mut self, mut import: HiveImport) -> Result<HiveImported, StoreError> {
        let mut done = HiveImported::default();
        import.messages.sort_by_key(|message| message.number);
        import.approvals.sort_by_key(|approval| approval.number);
        import.questions.sort_by_key(|question| question.number);
        for message in import.messages {
            self.import_message(message, &mut done)?;
        }
        for approval in import.approvals {
            self.import_approval(approval, &mut done)?;
        }
        for question in import.questions {
            self.import_question(question, &mut done)?;
        }
        Ok(done)
    }

    fn import_message(
        &mut self,
        mut message: Message,
        done: &mut HiveImported,
    ) -> Result<(), StoreError> {
        (message.from, message.to) = (self.known(&message.from)?, self.known(&message.to)?);
        let known = self.message_place(&message.id).ok().map(|place| &self.messages[&place]);
        let known = known.map(|known| (known.number, known.takes_import(&message)));
        if let Some(number) = self.number_of_import(known, done) {
            self.insert_message(Message { number, ..message });
        }
        Ok(())
    }

    fn import_approval(
        &mut self,
        mut approval: Approval,
        done: &mut HiveImported,
    ) -> Result<(), StoreError> {
        approval.agent = self.known(&Party::Agent(approval.agent))?.to_string();
        let known = self.approval_place(&approval.id).ok().map(|place| &self.approvals[&place]);
        let open = |approval: &Approval| approval.status == ApprovalStatus::Pending;
        let known = known.map(|known| (known.number, open(known) && !open(&approval)));
        if let Some(number) = self.number_of_import(known, done) {
            self.insert_approval(Approval { number, ..approval });
        }
        Ok(())
    }

    fn import_question(
        &mut self,
        mut question: Question,
        done: &mut HiveImported,
    ) -> Result<(), StoreError> {
        (question.from, question.to) = (self.known(&question.from)?, self.known(&question.to)?);
        let known = self.question_place(&question.id).ok().map(|place| &self.questions[&place]);
        let open = |question: &Question| question.status == QuestionStatus::Open;
        let known = known.map(|known| (known.number, open(known) && !open(&question)));
        if let Some(number) = self.number_of_import(known, done) {
            self.insert_question(Question { number, ..question });
        }
        Ok(())
    }

    /// Under which number a row is kept: a new one, or that of the row it replaces; none when what
    /// is here stays.
    fn number_of_import(
        &mut self,
        known: Option<(u64, bool)>,
        done: &mut HiveImported,
    ) -> Option<u64> {
        match known {
            None => {
                done.created += 1;
                Some(self.next_place())
            }
            Some((number, true)) => {
                done.updated += 1;
                Some(number)
            }
            Some((_, false)) => {
                done.present += 1;
                None
            }
        }
    }
}
