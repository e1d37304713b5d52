//! Messages: mail between agents and the operator, handed out under a lease.
//!
//! Invariants: a message moves only by the functions of [`Message`]; a hand-out is numbered, and who
//! shows an older number moves nothing; a message is acknowledged or dead once and for all, but for
//! the operator, who may queue a dead one again.

use serde::{Deserialize, Serialize};

use crate::limits::{
    LABEL_BYTES_MAX, MESSAGE_ATTEMPTS_MAX, MESSAGE_BYTES_MAX, MESSAGE_DELAY_MS_MAX, RECEIVE_MAX,
    RECIPIENTS_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::word::words;
use crate::{Invalid, MessageId, Party, Timestamp, check_lease_ms};

/// Why a lease ended that its holder did not end.
pub const LEASE_ENDED: &str = "the lease ended";

words!(
    /// What a message is.
    MessageKind, "message kind",
    {
        /// What somebody wrote.
        Mail = "mail",
        /// A message of the recipient's could not be handled; `about` names it.
        Bounce = "bounce",
        /// The recipient is asked something; `about` names the question.
        Question = "question",
        /// A question of the recipient's was answered, or will not be; `about` names it.
        Answer = "answer",
        /// An approval the recipient asked for was decided; `about` names it.
        Decision = "decision",
    }
);

words!(
    /// Where a message stands.
    MessageStatus, "message status",
    {
        /// Waits to be received.
        Queued = "queued",
        /// Somebody has it for a while.
        Leased = "leased",
        /// Handled.
        Acked = "acked",
        /// Given up.
        Dead = "dead",
    }
);

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMessage {
    /// Its id; minted when absent. Only for one recipient.
    #[serde(default)]
    pub id: Option<MessageId>,
    /// Who writes.
    pub from: Party,
    /// Who gets one each.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = RECIPIENTS_MAX)))]
    pub to: Vec<Party>,
    /// What.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = MESSAGE_BYTES_MAX), pattern(r"\S"))
    )]
    pub body: String,
    /// The message it answers: one that the writer wrote or got.
    #[serde(default)]
    pub in_reply_to: Option<MessageId>,
}

impl NewMessage {
    /// A message to one recipient with nothing else said.
    pub fn new(from: Party, to: Party, body: impl Into<String>) -> Self {
        Self { id: None, from, to: vec![to], body: body.into(), in_reply_to: None }
    }

    /// Refuses what cannot be stored, and a recipient that is named twice.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("body", &self.body, MESSAGE_BYTES_MAX)?;
        if !(1..=RECIPIENTS_MAX).contains(&self.to.len()) {
            let reason = format!("{} recipients, 1 to {RECIPIENTS_MAX} are allowed", self.to.len());
            return Err(Invalid::new("to", reason));
        }
        if self.id.is_some() && self.to.len() > 1 {
            return Err(Invalid::new("id", "only a message to one recipient may bring its id"));
        }
        let twice = |(place, party): &(usize, &Party)| {
            self.to[..*place].iter().any(|earlier| earlier.is(party.as_str()))
        };
        match self.to.iter().enumerate().find(twice) {
            Some((_, party)) => Err(Invalid::new("to", format!("{party} is named twice"))),
            None => Ok(()),
        }
    }
}

/// Who has a message, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MessageLease {
    /// A word for who has it: a process, a machine.
    pub holder: String,
    /// When it is queued again unless it was acknowledged.
    pub expires_at: Timestamp,
}

/// A message the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its place in the order of sending.
    pub number: u64,
    /// What it is.
    pub kind: MessageKind,
    /// Who wrote it.
    pub from: Party,
    /// Who gets it.
    pub to: Party,
    /// What it says.
    pub body: String,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// The message, question or approval that a notice is about.
    pub about: Option<String>,
    /// Where it stands.
    pub status: MessageStatus,
    /// How often it was handed out; the number of the newest hand-out. Over 1: a redelivery.
    pub deliveries: u64,
    /// How many of those ended without an acknowledgement since it was queued by somebody.
    pub attempts: u64,
    /// Not handed out before then.
    pub not_before: Option<Timestamp>,
    /// Who has it.
    pub lease: Option<MessageLease>,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When it was last handed out.
    pub delivered_at: Option<Timestamp>,
    /// When it was handled.
    pub acked_at: Option<Timestamp>,
    /// When it was given up.
    pub dead_at: Option<Timestamp>,
    /// Why the last hand-out ended without an acknowledgement.
    pub note: Option<String>,
}

/// One hand-out of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// The message.
    pub id: MessageId,
    /// The number of the hand-out; whichever is the newest when absent.
    #[serde(default)]
    pub delivery: Option<u64>,
}

/// Who wants messages, and for how long. With what it sends and acknowledges first it is a whole
/// turn: the answers to the mail before, that it was handled, and the next mail, in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Receive"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Receive<M = NewMessage> {
    /// Whose.
    pub to: Party,
    /// A word for who takes them: a process, a machine.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = LABEL_BYTES_MAX), pattern(r"\S"))
    )]
    pub holder: String,
    /// How long before they are queued again.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = crate::limits::LEASE_MS_MIN, max = crate::limits::LEASE_MS_MAX))
    )]
    pub lease_ms: u64,
    /// How many at most.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = RECEIVE_MAX)))]
    pub max: u32,
    /// Only this one.
    #[serde(default)]
    pub id: Option<MessageId>,
    /// Acknowledged in the same step: what the turn before was about.
    #[serde(default)]
    pub ack: Vec<Hold>,
    /// Sent in the same step, before all else: what the turn before came to. All from `to`.
    #[serde(default = "Vec::<M>::new", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = RECEIVE_MAX)))]
    pub send: Vec<M>,
}

fn one() -> u32 {
    1
}

impl<M> Receive<M> {
    /// The same, with what it sends said in another way.
    pub fn sending<N>(self, other: impl FnMut(M) -> N) -> Receive<N> {
        let Self { to, holder, lease_ms, max, id, ack, send } = self;
        let send = send.into_iter().map(other).collect();
        Receive { to, holder, lease_ms, max, id, ack, send }
    }
}

impl Receive {
    /// The next message of `to`.
    pub fn next(to: Party, holder: impl Into<String>, lease_ms: u64) -> Self {
        let (holder, ack, send) = (holder.into(), Vec::new(), Vec::new());
        Self { to, holder, lease_ms, max: 1, id: None, ack, send }
    }

    /// Whether it may be told without a write that there is nothing: it does nothing but take.
    pub fn only_takes(&self) -> bool {
        self.ack.is_empty() && self.send.is_empty()
    }

    /// Who writes in it though the turn is another's.
    pub fn stranger(&self) -> Option<&Party> {
        self.send.iter().map(|new| &new.from).find(|from| !from.is(self.to.as_str()))
    }

    /// Refuses what cannot be done.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("holder", &self.holder, LABEL_BYTES_MAX)?;
        check_lease_ms(self.lease_ms)?;
        check_holds(&self.ack)?;
        check_sends(&self.send)?;
        if (1..=RECEIVE_MAX).contains(&self.max) {
            return Ok(());
        }
        Err(Invalid::new("max", format!("{}, 1 to {RECEIVE_MAX} are allowed", self.max)))
    }
}

/// What a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Received {
    /// What was handed out, oldest first.
    #[serde(rename = "items")]
    pub messages: Vec<Message>,
    /// What was sent: for each that was given, one for each recipient, in their order.
    #[serde(default)]
    pub sent: Vec<Message>,
}

impl Received {
    /// Whether nothing was sent or handed out.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.sent.is_empty()
    }
}

fn check_sends(send: &[NewMessage]) -> Result<(), Invalid> {
    if send.len() > RECEIVE_MAX as usize {
        let reason = format!("{} messages, at most {RECEIVE_MAX} at once", send.len());
        return Err(Invalid::new("send", reason));
    }
    send.iter().try_for_each(NewMessage::check)
}

/// Refuses more than one step takes.
pub fn check_holds(holds: &[Hold]) -> Result<(), Invalid> {
    if holds.len() <= RECEIVE_MAX as usize {
        return Ok(());
    }
    let reason = format!("{} messages, at most {RECEIVE_MAX} at once", holds.len());
    Err(Invalid::new("ack", reason))
}

/// A message that is given back unhandled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// Which hand-out.
    pub hold: Hold,
    /// Not handed out again before so many milliseconds have passed.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(max = MESSAGE_DELAY_MS_MAX)))]
    pub delay_ms: u64,
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub note: Option<String>,
    /// Whether it was a try; a message is given up after too many. One that was only put down is
    /// none.
    #[serde(default = "Release::counts_unless_said")]
    pub counts: bool,
}

impl Release {
    /// What `counts` is where nobody says it.
    pub fn counts_unless_said() -> bool {
        true
    }

    /// Refuses what cannot be stored.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("note", self.note.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        if self.delay_ms <= MESSAGE_DELAY_MS_MAX {
            return Ok(());
        }
        let reason = format!("{}, at most {MESSAGE_DELAY_MS_MAX} are allowed", self.delay_ms);
        Err(Invalid::new("delayMs", reason))
    }
}

impl Message {
    /// What `new` sends to `to`, with its place in the order.
    pub fn sent(new: &NewMessage, to: Party, id: MessageId, number: u64, now: Timestamp) -> Self {
        Self {
            in_reply_to: new.in_reply_to.clone(),
            ..Self::notice(Notice::plain(new, to), id, number, now)
        }
    }

    /// What the harbor itself tells somebody.
    pub fn notice(notice: Notice, id: MessageId, number: u64, now: Timestamp) -> Self {
        Self {
            id,
            number,
            kind: notice.kind,
            from: notice.from,
            to: notice.to,
            body: notice.body,
            in_reply_to: None,
            about: notice.about,
            status: MessageStatus::Queued,
            deliveries: 0,
            attempts: 0,
            not_before: None,
            lease: None,
            sent_at: now,
            delivered_at: None,
            acked_at: None,
            dead_at: None,
            note: None,
        }
    }

    /// Whether it can be handed out at `now`.
    pub fn is_receivable(&self, now: Timestamp) -> bool {
        self.status == MessageStatus::Queued && self.not_before.is_none_or(|then| then <= now)
    }

    /// Whether `party` wrote or got it.
    pub fn concerns(&self, party: &Party) -> bool {
        self.from == *party || self.to == *party
    }

    /// Hands it out; only what [`Self::is_receivable`].
    pub fn receive(&mut self, holder: &str, lease_ms: u64, now: Timestamp) {
        self.status = MessageStatus::Leased;
        self.deliveries += 1;
        self.not_before = None;
        self.delivered_at = Some(now);
        let expires_at = now.plus_ms(lease_ms);
        self.lease = Some(MessageLease { holder: holder.to_owned(), expires_at });
    }

    /// Keeps a lease for so long from `now`, also one that is over but not yet ended.
    pub fn renew(&mut self, hold: &Hold, lease_ms: u64, now: Timestamp) -> Result<(), String> {
        self.refuse_stale(hold)?;
        match &mut self.lease {
            Some(lease) => lease.expires_at = now.plus_ms(lease_ms),
            None => return Err(self.not_held()),
        }
        Ok(())
    }

    /// It was handled. A holder whose lease ended is heard as long as nobody else got the message.
    /// Saying it again changes nothing: then the answer is false.
    pub fn ack(&mut self, hold: &Hold, now: Timestamp) -> Result<bool, String> {
        self.refuse_stale(hold)?;
        match self.status {
            MessageStatus::Acked => return Ok(false),
            MessageStatus::Leased => {}
            MessageStatus::Queued if hold.delivery.is_some() && self.deliveries > 0 => {}
            MessageStatus::Queued | MessageStatus::Dead => return Err(self.not_held()),
        }
        self.status = MessageStatus::Acked;
        self.acked_at = Some(now);
        self.lease = None;
        self.not_before = None;
        Ok(true)
    }

    /// Its holder gives it back: queued again, or given up after too many tries.
    pub fn release(&mut self, release: &Release, now: Timestamp) -> Result<(), String> {
        self.refuse_stale(&release.hold)?;
        if self.status != MessageStatus::Leased {
            return Err(self.not_held());
        }
        let not_before = (release.delay_ms > 0).then(|| now.plus_ms(release.delay_ms));
        match release.counts {
            true => self.end_attempt(release.note.clone(), not_before, now),
            false => self.queue(release.note.clone(), not_before),
        }
        Ok(())
    }

    /// Whether its lease is over at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.expires_at <= now)
    }

    /// Its lease is over: queued again, or given up. Only what [`Self::is_due`].
    pub fn lapse(&mut self, now: Timestamp) {
        self.end_attempt(Some(LEASE_ENDED.to_owned()), None, now);
    }

    fn end_attempt(&mut self, note: Option<String>, not_before: Option<Timestamp>, now: Timestamp) {
        self.attempts += 1;
        self.queue(note, not_before);
        if self.attempts >= MESSAGE_ATTEMPTS_MAX {
            self.status = MessageStatus::Dead;
            self.not_before = None;
            self.dead_at = Some(now);
        }
    }

    fn queue(&mut self, note: Option<String>, not_before: Option<Timestamp>) {
        self.lease = None;
        self.note = note;
        self.status = MessageStatus::Queued;
        self.not_before = not_before;
    }

    /// The operator queues a dead one again, with all its tries.
    pub fn requeue(&mut self) -> Result<(), String> {
        if self.status != MessageStatus::Dead {
            return Err(format!("is {}, only a dead one is queued again", self.status));
        }
        self.status = MessageStatus::Queued;
        self.attempts = 0;
        self.dead_at = None;
        Ok(())
    }

    /// Whether what became of it in another store, as `newer` says, holds here: it is the same
    /// message, came to an end there, and nobody was handed it here since it was brought.
    pub fn takes_import(&self, newer: &Self) -> bool {
        let handed_out = |message: &Self| (message.deliveries, message.delivered_at);
        let untouched = self.deliveries == 0 || handed_out(self) == handed_out(newer);
        let same = self.from.is(newer.from.as_str())
            && self.to.is(newer.to.as_str())
            && self.body == newer.body;
        self.status == MessageStatus::Queued && untouched && same && newer.is_over()
    }

    /// Whether it was handled or given up.
    pub fn is_over(&self) -> bool {
        matches!(self.status, MessageStatus::Acked | MessageStatus::Dead)
    }

    /// What the writer of mail that was given up is told. Notices bounce to nobody.
    pub fn bounce(&self) -> Option<Notice> {
        let bounces = self.status == MessageStatus::Dead && self.kind == MessageKind::Mail;
        bounces.then(|| Notice {
            kind: MessageKind::Bounce,
            from: self.to.clone(),
            to: self.from.clone(),
            body: format!(
                "message {} to {} was given up after {} tries: {}",
                self.id,
                self.to,
                self.attempts,
                self.note.as_deref().unwrap_or("no reason was given"),
            ),
            about: Some(self.id.to_string()),
        })
    }

    fn refuse_stale(&self, hold: &Hold) -> Result<(), String> {
        match hold.delivery.filter(|number| *number != self.deliveries) {
            Some(number) => Err(format!(
                "has been handed out {} times, hand-out {number} is not the newest",
                self.deliveries
            )),
            None => Ok(()),
        }
    }

    fn not_held(&self) -> String {
        format!("is {} and held by nobody", self.status)
    }
}

/// What the harbor itself tells somebody, in the step that caused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is.
    pub kind: MessageKind,
    /// Who caused it.
    pub from: Party,
    /// Who is told.
    pub to: Party,
    /// In words.
    pub body: String,
    /// The message, question or approval.
    pub about: Option<String>,
}

impl Notice {
    fn plain(new: &NewMessage, to: Party) -> Self {
        let (from, body) = (new.from.clone(), new.body.clone());
        Self { kind: MessageKind::Mail, from, to, body, about: None }
    }
}

/// Which messages of a list; every part that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// In one of these; in any when empty.
    pub statuses: Vec<MessageStatus>,
    /// Written by.
    pub from: Option<Party>,
    /// Written to.
    pub to: Option<Party>,
    /// Written by or to.
    pub party: Option<Party>,
    /// That answer this one.
    pub in_reply_to: Option<MessageId>,
}

impl MessageFilter {
    /// Whether `message` passes. Stores filter in their own way; this is what they must agree with.
    pub fn matches(&self, message: &Message) -> bool {
        let answers = |id: &MessageId| message.in_reply_to.as_ref() == Some(id);
        let concerns =
            |party: &Party| party.is(message.from.as_str()) || party.is(message.to.as_str());
        (self.statuses.is_empty() || self.statuses.contains(&message.status))
            && self.from.as_ref().is_none_or(|party| party.is(message.from.as_str()))
            && self.to.as_ref().is_none_or(|party| party.is(message.to.as_str()))
            && self.party.as_ref().is_none_or(concerns)
            && self.in_reply_to.as_ref().is_none_or(answers)
    }
}
