//! Chooses operations on mail, approvals, questions, tombstones and removal: mostly what those who
//! are concerned would do next, sometimes what strangers and late ones do.

use ah_model::{
    AgentId, Amount, Answer, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Awaited,
    Decision, HiveImport, Hold, Lifecycle, Message, MessageFilter, MessageId, MessageStatus,
    NewApproval, NewMessage, NewQuestion, Outcome, Party, Question, QuestionFilter, QuestionId,
    QuestionStatus, Receipt, Receive, Release, RetentionRules, SPAWN, Tally, Verdict,
};
use ah_store::{Approvals, Messages, Questions, Retention};

use super::super::operation::HiveOperation;
use super::{Chooser, Operation, PAYLOADS};
use crate::ModelStore;
use crate::given::{all, json};

const MESSAGES: [&str; 6] = ["m1", "m2", "m3", "M1", "m_", "m~b"];
const APPROVALS: [&str; 5] = ["p1", "p2", "P1", "p_", "p~b"];
const QUESTIONS: [&str; 5] = ["q1", "q2", "Q1", "q_", "q~b"];
const KINDS: [&str; 5] = [SPAWN, SPAWN, "deploy", "delete", "Not a kind"];
const VALUES: [&str; 6] = ["yes", "no", "yes", "no", "☃", ""];

/// What the oracle had of the hive when it was last looked at. Looking again would let it apply
/// what time has decided since, before the operation does.
#[derive(Default)]
pub(in super::super) struct KeptHive {
    messages: Vec<Message>,
    approvals: Vec<Approval>,
    questions: Vec<Question>,
    receipts: Vec<Receipt>,
}

impl KeptHive {
    pub(in super::super) async fn read(model: &ModelStore) -> Self {
        let messages = model.list_messages(MessageFilter::default(), all()).await;
        let approvals = model.list_approvals(ApprovalFilter::default(), all()).await;
        let questions = model.list_questions(QuestionFilter::default(), all()).await;
        let receipts = model.list_receipts(all()).await;
        Self {
            messages: messages.unwrap().items,
            approvals: approvals.unwrap().items,
            questions: questions.unwrap().items,
            receipts: receipts.unwrap().items,
        }
    }
}

impl Chooser<'_> {
    /// One flat table, the frequent first.
    pub(super) fn hive_operation(&mut self) -> Operation {
        use HiveOperation as Op;
        let operation = match self.random.below(100) {
            0..=13 => Op::Send(self.new_message()),
            14..=27 => Op::Receive(self.receive()),
            28..=33 => Op::Ack(self.holds()),
            34..=38 => Op::Release(self.release()),
            39 | 40 => Op::Renew(self.hold(), self.lease_ms_of_mail()),
            41 | 42 => Op::Requeue(self.message_id_in(MessageStatus::Dead)),
            43 => Op::Message(self.message_id()),
            44 | 45 => Op::ListMessages(self.message_filter(), self.start()),
            46 => Op::Dismiss(self.party(), self.subject()),
            47..=52 => Op::Request(self.new_approval()),
            53..=58 => Op::Decide(self.approval_id(), self.decision()),
            59 => Op::CarriedOut(self.approval_id(), self.maybe_text()),
            60 => Op::ListApprovals(self.approval_filter(), self.start()),
            61..=67 => Op::Ask(self.new_question()),
            68..=73 => self.answer(),
            74 | 75 => Op::Withdraw(self.question_id(), self.party()),
            76 => Op::ListQuestions(self.question_filter(), self.start()),
            77 => match self.random.one_in(2) {
                true => Op::Question(self.question_id()),
                false => Op::Approval(self.approval_id()),
            },
            78..=80 => Op::Sweep,
            81..=83 => Op::Import(Box::new(self.hive_import())),
            84 | 85 => Op::Destroy(self.agent_id()),
            86..=88 => Op::Revive(self.tomb()),
            89 => Op::Purge(self.tomb()),
            90 => Op::Plan(self.rules()),
            91 => Op::Remove(self.rules()),
            92 => self.receipt_operation(),
            93 => self.ids_with_prefix(),
            94 => self.wait(),
            _ => return self.keyed_of_hive(),
        };
        Operation::Hive(operation)
    }

    /// Mostly the operator or an agent that lives, sometimes in another case.
    fn party(&mut self) -> Party {
        let living = self.agents.iter().filter(|agent| agent.lifecycle != Lifecycle::Dead);
        let living: Vec<String> = living.map(|agent| agent.name.clone()).collect();
        let name = match self.random.below(16) {
            0..=3 => "operator".to_owned(),
            4 => self.random.pick(&["nobody", "mira", "bob"]).to_owned(),
            5 if !self.agents.is_empty() => self.random.pick(&self.agents).name,
            _ if living.is_empty() => "operator".to_owned(),
            6 => self.random.pick(&living).to_ascii_uppercase(),
            _ => self.random.pick(&living),
        };
        name.parse().unwrap()
    }

    /// Any agent, half of the time one that was destroyed.
    fn tomb(&mut self) -> AgentId {
        let tombs = self.agents.iter().filter(|agent| agent.destroyed_at.is_some());
        let tombs: Vec<AgentId> = tombs.map(|agent| agent.id.clone()).collect();
        match self.random.below(10) {
            0..=6 if !tombs.is_empty() => self.random.pick(&tombs),
            1..=9 if !self.agents.is_empty() => self.random.pick(&self.agents).id,
            _ => "a1".parse().unwrap(),
        }
    }

    fn message_id(&mut self) -> MessageId {
        if self.hive.messages.is_empty() || self.random.one_in(6) {
            return self.random.pick(&MESSAGES).parse().unwrap();
        }
        self.random.pick(&self.hive.messages).id
    }

    /// Mostly that of a message which stands there.
    fn message_id_in(&mut self, status: MessageStatus) -> MessageId {
        let fits = self.hive.messages.iter().filter(|message| message.status == status);
        let fits: Vec<_> = fits.map(|message| message.id.clone()).collect();
        match fits.is_empty() || self.random.one_in(5) {
            true => self.message_id(),
            false => self.random.pick(&fits),
        }
    }

    /// Half of the time one that waits.
    fn approval_id(&mut self) -> ApprovalId {
        let mut approvals = self.hive.approvals.clone();
        if approvals.is_empty() || self.random.one_in(8) {
            return self.random.pick(&APPROVALS).parse().unwrap();
        }
        let pending = |approval: &Approval| approval.status == ApprovalStatus::Pending;
        if approvals.iter().any(pending) && self.random.one_in(2) {
            approvals.retain(pending);
        }
        self.random.pick(&approvals).id
    }

    /// Half of the time one that waits.
    fn question_id(&mut self) -> QuestionId {
        let mut questions = self.hive.questions.clone();
        if questions.is_empty() || self.random.one_in(8) {
            return self.random.pick(&QUESTIONS).parse().unwrap();
        }
        let open = |question: &Question| question.status == QuestionStatus::Open;
        if questions.iter().any(open) && self.random.one_in(2) {
            questions.retain(open);
        }
        self.random.pick(&questions).id
    }

    /// What a notice may be about.
    fn subject(&mut self) -> String {
        let about: Vec<_> = self.hive.messages.iter().filter_map(|m| m.about.clone()).collect();
        match about.is_empty() || self.random.one_in(4) {
            true => self.message_id().to_string(),
            false => self.random.pick(&about),
        }
    }

    fn new_message(&mut self) -> NewMessage {
        let several = self.random.one_in(6);
        let mut to = vec![self.party()];
        if several {
            to.extend([self.party(), self.party()]);
        }
        let id: MessageId = self.random.pick(&MESSAGES).parse().unwrap();
        NewMessage {
            id: self.random.one_in(6).then_some(id),
            from: self.party(),
            to,
            body: match self.random.one_in(8) {
                true => self.text(),
                false => "hello ☃".to_owned(),
            },
            in_reply_to: self.random.one_in(5).then(|| self.message_id()),
        }
    }

    fn lease_ms_of_mail(&mut self) -> u64 {
        match self.random.one_in(20) {
            true => 999,
            false => self.random.pick(&[1_000, 5_000, 30_000, 30_000]),
        }
    }

    /// Mostly of a message that somebody has, and the newest hand-out.
    fn hold(&mut self) -> Hold {
        let id = self.message_id_in(MessageStatus::Leased);
        let known = self.hive.messages.iter().find(|message| message.id == id);
        let newest = known.map_or(1, |message| message.deliveries);
        let delivery = match self.random.below(10) {
            0 => None,
            1 => Some(newest.saturating_sub(1)),
            2 => Some(newest + 1),
            _ => Some(newest),
        };
        Hold { id, delivery }
    }

    fn holds(&mut self) -> Vec<Hold> {
        let count = self.random.pick(&[0, 1, 1, 1, 1, 2, 3]);
        (0..count).map(|_| self.hold()).collect()
    }

    /// Mostly for somebody who has mail.
    fn receive(&mut self) -> Receive {
        let waiting = self.hive.messages.iter().filter(|m| m.status == MessageStatus::Queued);
        let waiting: Vec<_> = waiting.map(|message| message.to.clone()).collect();
        let to = match waiting.is_empty() || self.random.one_in(4) {
            true => self.party(),
            false => self.random.pick(&waiting),
        };
        let (holder, max) = (self.random.pick(&["r1", "r2", "☃"]), self.random.pick(&[1, 1, 2, 9]));
        let send = self.answers(&to);
        Receive {
            to,
            holder: match self.random.one_in(25) {
                true => self.text(),
                false => holder.to_owned(),
            },
            lease_ms: self.lease_ms_of_mail(),
            max,
            id: self.random.one_in(6).then(|| self.message_id_in(MessageStatus::Queued)),
            ack: if self.random.one_in(5) { vec![self.hold()] } else { Vec::new() },
            send,
        }
    }

    /// What is sent in a turn of `of`: nothing, mostly; rarely something that another wrote.
    fn answers(&mut self, of: &Party) -> Vec<NewMessage> {
        let count = self.random.pick(&[0, 0, 0, 1, 1, 2]);
        let mut answer = || match self.random.one_in(12) {
            true => self.new_message(),
            false => NewMessage { from: of.clone(), ..self.new_message() },
        };
        (0..count).map(|_| answer()).collect()
    }

    fn release(&mut self) -> Release {
        Release {
            hold: self.hold(),
            delay_ms: self.random.pick(&[0, 0, 1, 3_000]),
            note: self.maybe_text(),
            counts: !self.random.one_in(4),
        }
    }

    fn message_filter(&mut self) -> MessageFilter {
        let mut filter = MessageFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(4) {
                0 => filter.statuses.push(self.random.pick(MessageStatus::ALL)),
                1 => filter.from = Some(self.party()),
                2 => filter.to = Some(self.party()),
                _ => filter.in_reply_to = Some(self.message_id()),
            }
        }
        filter
    }

    fn new_approval(&mut self) -> NewApproval {
        let id: ApprovalId = self.random.pick(&APPROVALS).parse().unwrap();
        let agent = match self.party() {
            Party::Operator => "bob".to_owned(),
            Party::Agent(name) => name,
        };
        NewApproval {
            id: self.random.one_in(3).then_some(id),
            commit_ref: if self.random.one_in(10) { self.maybe_text() } else { None },
            reason: self.maybe_text(),
            details: match self.random.one_in(20) {
                true => json(self.random.pick(&PAYLOADS)),
                false => json(r#"{"b":1.00,"a":"\u0000"}"#),
            },
            ..NewApproval::new(agent, self.random.pick(&KINDS))
        }
    }

    fn decision(&mut self) -> Decision {
        let verdict = match self.random.one_in(3) {
            true => self.random.pick(Verdict::ALL),
            false => Verdict::Approved,
        };
        Decision {
            by: if self.random.one_in(4) { self.party() } else { Party::Operator },
            resolver: self.random.one_in(4).then(|| "ann".to_owned()),
            note: self.maybe_text(),
            ..Decision::operator(verdict)
        }
    }

    fn approval_filter(&mut self) -> ApprovalFilter {
        let mut filter = ApprovalFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(4) {
                0 => filter.statuses.push(self.random.pick(ApprovalStatus::ALL)),
                1 => filter.agent = Some(self.party().to_string()),
                2 => filter.to_carry_out = true,
                _ => filter.kind = Some(self.random.pick(&KINDS).to_owned()),
            }
        }
        filter
    }

    fn new_question(&mut self) -> NewQuestion {
        let id: QuestionId = self.random.pick(&QUESTIONS).parse().unwrap();
        let options: &[&str] = match self.random.one_in(12) {
            true => &["☃", "☃"],
            false => self.random.pick(&[&[][..], &[], &["yes", "no"]]),
        };
        let from = self.party();
        let others = [Party::Operator, self.party(), self.party()];
        let other = others.into_iter().find(|party| *party != from);
        NewQuestion {
            id: self.random.one_in(3).then_some(id),
            options: options.iter().map(ToString::to_string).collect(),
            multi: self.random.one_in(if options.is_empty() { 15 } else { 3 }),
            free_text: self.random.one_in(4),
            ttl_ms: match self.random.one_in(15) {
                true => Some(0),
                false => self.random.pick(&[None, Some(1), Some(2_000), Some(20_000)]),
            },
            ..NewQuestion::new(
                from.clone(),
                other.unwrap_or(from),
                self.random.pick(&["Why?", "Wo?"]),
            )
        }
    }

    /// Mostly by somebody who was asked.
    fn answer(&mut self) -> HiveOperation {
        let id = self.question_id();
        let asked = self.hive.questions.iter().find(|question| question.id == id);
        let asked = asked.map_or(Party::Operator, |question| question.to.clone());
        let by = match self.random.below(6) {
            0 => self.party(),
            1 => Party::Operator,
            _ => asked,
        };
        let count = self.random.pick(&[1, 1, 1, 2, 0]);
        let values = (0..count).map(|_| self.random.pick(&VALUES).to_owned()).collect();
        let resolver = self.random.one_in(4).then(|| "ann".to_owned());
        HiveOperation::Answer(id, Answer { by, resolver, values })
    }

    fn question_filter(&mut self) -> QuestionFilter {
        let mut filter = QuestionFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(3) {
                0 => filter.statuses.push(self.random.pick(QuestionStatus::ALL)),
                1 => filter.from = Some(self.party()),
                _ => filter.to = Some(self.party()),
            }
        }
        filter
    }

    /// Some of what is here as it may have gone on elsewhere, or under another id.
    fn hive_import(&mut self) -> HiveImport {
        let mut import = HiveImport::default();
        for _ in 0..self.random.pick(&[1, 2, 2, 3]) {
            match self.random.below(3) {
                0 => import.messages.extend(self.message_elsewhere()),
                1 => import.approvals.extend(self.approval_elsewhere()),
                _ => import.questions.extend(self.question_elsewhere()),
            }
        }
        import
    }

    fn message_elsewhere(&mut self) -> Option<Message> {
        let known = self.hive.messages.clone();
        let mut message = (!known.is_empty()).then(|| self.random.pick(&known))?;
        if self.random.one_in(2) {
            let number = self.random.number();
            message.id = format!("x{number}").parse().unwrap();
            message.number = self.random.below(9);
        }
        if self.random.one_in(8) {
            message.to = self.party();
        }
        if !self.random.one_in(6) {
            message.lease = None;
            let statuses = [MessageStatus::Queued, MessageStatus::Acked, MessageStatus::Dead];
            message.status = self.random.pick(&statuses);
            message.acked_at = (message.status == MessageStatus::Acked).then_some(self.now);
            message.dead_at = (message.status == MessageStatus::Dead).then_some(self.now);
        }
        Some(message)
    }

    fn approval_elsewhere(&mut self) -> Option<Approval> {
        let known = self.hive.approvals.clone();
        let mut approval = (!known.is_empty()).then(|| self.random.pick(&known))?;
        if self.random.one_in(2) {
            let number = self.random.number();
            approval.id = format!("x{number}").parse().unwrap();
            approval.number = self.random.below(9);
        }
        if self.random.one_in(2) {
            approval.status = ApprovalStatus::Denied;
            approval.resolved_by = Some(Party::Operator);
            approval.resolved_at = Some(self.now);
        }
        Some(approval)
    }

    fn question_elsewhere(&mut self) -> Option<Question> {
        let known = self.hive.questions.clone();
        let mut question = (!known.is_empty()).then(|| self.random.pick(&known))?;
        if self.random.one_in(2) {
            let number = self.random.number();
            question.id = format!("x{number}").parse().unwrap();
            question.number = self.random.below(9);
        }
        if self.random.one_in(2) {
            question.status = QuestionStatus::Withdrawn;
            question.outcome = Outcome::Withdrawn;
            question.resolved_at = Some(self.now);
        }
        Some(question)
    }

    /// Mostly rules that leave sessions alone: without them there is little to walk on.
    fn rules(&mut self) -> RetentionRules {
        let ms = [None, Some(0), Some(1_000), Some(60_000)];
        RetentionRules {
            messages_ms: self.random.pick(&ms),
            sessions_ms: self.random.one_in(4).then_some(5_000),
            changes_ms: self.random.pick(&ms),
        }
    }

    fn receipt_operation(&mut self) -> HiveOperation {
        let known = self.hive.receipts.clone();
        if known.is_empty() || self.random.one_in(2) {
            return HiveOperation::ListReceipts(self.start());
        }
        let mut files = Tally::default();
        files.add("files", Amount { rows: 1, bytes: self.random.below(9) });
        HiveOperation::AddToReceipt(self.random.pick(&known).id, files)
    }

    fn ids_with_prefix(&mut self) -> HiveOperation {
        let prefix = |chooser: &mut Self, pool: &[&str]| chooser.random.pick(pool).to_owned();
        match self.random.below(3) {
            0 => HiveOperation::MessageIds(prefix(self, &["", "m", "M", "m_", "%"])),
            1 => HiveOperation::ApprovalIds(prefix(self, &["", "p", "P", "p_", "%"])),
            _ => HiveOperation::QuestionIds(prefix(self, &["", "q", "Q", "q_", "%"])),
        }
    }

    /// For what is there, or for what nobody knows: anything else would wait.
    fn wait(&mut self) -> HiveOperation {
        let messages = self.hive.messages.iter().filter(|message| message.is_receivable(self.now));
        let mail = messages.map(|message| Awaited::Mail(message.to.clone()));
        let approvals = self.hive.approvals.iter();
        let decided = approvals.filter(|approval| approval.status != ApprovalStatus::Pending);
        let decided = decided.map(|approval| Awaited::Approval(approval.id.clone()));
        let questions = self.hive.questions.iter();
        let ended = questions.filter(|question| question.status != QuestionStatus::Open);
        let ended = ended.map(|question| Awaited::Question(question.id.clone()));
        let unknown = Awaited::Mail("nobody".parse().unwrap());
        let all: Vec<_> = mail.chain(decided).chain(ended).chain([unknown]).collect();
        HiveOperation::Wait(self.random.pick(&all))
    }

    /// One of a few requests under a key that changes with the half hour.
    fn keyed_of_hive(&mut self) -> Operation {
        use HiveOperation as Op;
        let number = self.random.below(5);
        let other = match self.random.one_in(4) {
            true => "mira",
            false => "operator",
        };
        let to: Party = other.parse().unwrap();
        let operation = match number {
            0 => Op::Send(NewMessage::new(Party::Operator, to, "keyed")),
            1 => Op::Receive(Receive::next(to, "r1", 5_000)),
            2 => Op::Request(NewApproval::new(format!("x-{other}"), SPAWN)),
            3 => Op::Ask(NewQuestion::new("mira".parse().unwrap(), to, "Why?")),
            _ => Op::Revive(if other == "mira" { "a1" } else { "a2" }.parse().unwrap()),
        };
        self.under_key(&format!("hive {number}"), Operation::Hive(operation))
    }
}
