//! Mail: send, receive under a lease, acknowledge, give back, look.

use ah_model::{
    Awaited, Hold, Message, MessageFilter, MessageId, MessageKind, MessageStatus, NewMessage,
    Party, Receive, Release, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::{Items, PageInput, WaitSeconds};
use crate::limits::{MCP_LEASE_SECONDS_DEFAULT, MCP_RECV_MAX};
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::caller::forbidden;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about =
        |name, title, text, effect| About { name, title, text, needs: Powers::Agent, effect };
    vec![
        Tool::new(about("send", "Send mail", SEND, Effect::Adds), send),
        Tool::new(about("recv", "Receive mail", RECV, Effect::Adds), recv),
        Tool::new(about("ack", "Acknowledge mail", ACK, Effect::Settles), ack),
        Tool::new(about("release", "Give mail back", RELEASE, Effect::Adds), release),
        Tool::new(about("list_messages", "List mail", LIST, Effect::Reads), list),
    ]
}

const SEND: &str = "Send a message to one or several agents, or to `operator`, the person in \
    charge. It is kept until the recipient handles it. Give inReplyTo to answer a message. To get \
    an answer within this call use `ask` instead.";
const RECV: &str = "Take the next messages that wait for you, waiting a while if there are none. \
    They are yours for leaseSeconds: handle each, then call `ack` (or pass it as `ack` of the next \
    recv), else it is handed out again, marked redelivered. Answers may go along as `send`: they are \
    sent and the mail acknowledged in one step. An empty list means that nothing came.";
const ACK: &str = "Say that messages you received are handled. Do it after the work is done, not \
    before: a message that is not acknowledged comes again.";
const RELEASE: &str = "Give a received message back because you cannot handle it now. It is handed \
    out again, after delaySeconds if given; after too many tries its writer is told.";
const LIST: &str = "Look at your mail, newest first, without taking it: `inbox` (to you) or `sent` \
    (by you). To handle mail use `recv`.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SendInput {
    /// Names of agents, or `operator`; each gets its own.
    to: Vec<Party>,
    /// The text.
    body: String,
    /// The id of the message that this answers; one that you sent or received.
    #[serde(default)]
    in_reply_to: Option<MessageId>,
    /// Who writes. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    from: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Sent {
    /// One for each recipient, in their order.
    messages: Vec<SentMessage>,
}

#[derive(Serialize, JsonSchema)]
struct SentMessage {
    id: MessageId,
    to: Party,
}

async fn send(act: Act, input: SendInput) -> Result<Sent, Failure> {
    let from = act.party(input.from.as_deref())?;
    let new = input.by(from);
    let sent = act.call(|store| async move { store.send_message(new).await }).await?;
    Ok(Sent { messages: sent.into_iter().map(SentMessage::from).collect() })
}

impl SendInput {
    /// The message, written by `from`.
    fn by(self, from: Party) -> NewMessage {
        let Self { to, body, in_reply_to, from: _ } = self;
        NewMessage { id: None, from, to, body, in_reply_to }
    }
}

impl From<Message> for SentMessage {
    fn from(Message { id, to, .. }: Message) -> Self {
        Self { id, to }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecvInput {
    /// How long to wait if nothing is there; 0 to 240, 20 when absent.
    #[serde(default)]
    wait_seconds: WaitSeconds,
    /// How many at most; 1 when absent.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MCP_RECV_MAX))]
    max: u32,
    /// How long they are yours; 1 to 3600, 600 when absent.
    #[serde(default = "lease")]
    lease_seconds: u64,
    /// Handled messages to acknowledge first, in the same step.
    #[serde(default)]
    ack: Vec<Hold>,
    /// Messages to send first, in the same step: if one is refused, nothing is done.
    #[serde(default)]
    send: Vec<SendInput>,
    /// Whose mail. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

fn one() -> u32 {
    1
}

fn lease() -> u64 {
    MCP_LEASE_SECONDS_DEFAULT
}

#[derive(Serialize, JsonSchema)]
struct Received {
    /// Oldest first; none when nothing came in time.
    messages: Vec<Mail>,
    /// What was sent, one for each recipient.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sent: Vec<SentMessage>,
}

/// A message as its recipient or writer sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Mail {
    id: MessageId,
    /// `mail`, or a notice: `question` (answer it with `answer`), `answer`, `decision`, `bounce`.
    kind: MessageKind,
    from: Party,
    to: Party,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<MessageId>,
    /// The id of the question, approval or message that a notice is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    status: MessageStatus,
    /// The number of this hand-out; pass it to `ack`.
    delivery: u64,
    /// Whether it was handed out before: somebody may have begun to handle it.
    redelivered: bool,
    sent_at: Timestamp,
    /// Acknowledge it before then.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<Timestamp>,
}

impl From<Message> for Mail {
    fn from(message: Message) -> Self {
        Self {
            id: message.id,
            kind: message.kind,
            from: message.from,
            to: message.to,
            body: message.body,
            in_reply_to: message.in_reply_to,
            about: message.about,
            status: message.status,
            delivery: message.deliveries,
            redelivered: message.deliveries > 1,
            sent_at: message.sent_at,
            lease_expires_at: message.lease.map(|lease| lease.expires_at),
        }
    }
}

async fn recv(act: Act, input: RecvInput) -> Result<Received, Failure> {
    let RecvInput { wait_seconds, max, lease_seconds, ack, send, agent } = input;
    let wait = wait_seconds.duration()?;
    if !(1..=MCP_RECV_MAX).contains(&max) {
        return Err(Failure::invalid("max", format!("{max}, 1 to {MCP_RECV_MAX} are allowed")));
    }
    let to = act.party(agent.as_deref())?;
    check_recipients(&act, &ack, &to).await?;
    let send = answers(&act, send, &to)?;
    let lease_ms = lease_seconds.saturating_mul(1_000);
    let next = Receive { max, ..Receive::next(to.clone(), act.holder(), lease_ms) };
    let take = |receive| act.call(|store| async move { store.receive_messages(receive).await });
    // What was sent and acknowledged with the first look is not again with those that follow.
    let mut found = take(Receive { ack, send, ..next.clone() }).await?;
    if found.messages.is_empty() && !wait.is_zero() {
        let enough = |found: &ah_model::Received| !found.messages.is_empty();
        let look = || take(next.clone());
        found.messages = act.look_until(Awaited::Mail(to), wait, look, enough).await?.messages;
    }
    Ok(Received {
        messages: found.messages.into_iter().map(Mail::from).collect(),
        sent: found.sent.into_iter().map(SentMessage::from).collect(),
    })
}

/// What is sent in a turn of `to`; who says another name must be allowed to.
fn answers(act: &Act, send: Vec<SendInput>, to: &Party) -> Result<Vec<NewMessage>, Failure> {
    let answer = |input: SendInput| {
        let from = match &input.from {
            Some(named) => act.party(Some(named))?,
            None => to.clone(),
        };
        Ok(input.by(from))
    };
    send.into_iter().map(answer).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AckInput {
    /// The messages, each with the number of the hand-out that recv gave as `delivery`.
    messages: Vec<Hold>,
    /// Whose mail. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Acked {
    /// They are handled.
    ids: Vec<MessageId>,
}

async fn ack(act: Act, input: AckInput) -> Result<Acked, Failure> {
    let to = act.party(input.agent.as_deref())?;
    check_recipients(&act, &input.messages, &to).await?;
    let holds = input.messages;
    let acked = act.call(|store| async move { store.ack_messages(holds).await }).await?;
    Ok(Acked { ids: acked.into_iter().map(|message| message.id).collect() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReleaseInput {
    id: MessageId,
    /// The number of the hand-out that recv gave.
    #[serde(default)]
    delivery: Option<u64>,
    /// Not handed out again before then.
    #[serde(default)]
    delay_seconds: u64,
    /// Why; its writer reads it if it is given up.
    #[serde(default)]
    note: Option<String>,
    /// Whose mail. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

async fn release(act: Act, input: ReleaseInput) -> Result<Mail, Failure> {
    let ReleaseInput { id, delivery, delay_seconds, note, agent } = input;
    let to = act.party(agent.as_deref())?;
    check_recipient(&act, &id, &to).await?;
    let delay_ms = delay_seconds.saturating_mul(1_000);
    let release = Release { hold: Hold { id, delivery }, delay_ms, note, counts: true };
    let released = act.call(|store| async move { store.release_message(release).await }).await?;
    Ok(released.into())
}

/// As [`check_recipient`], for each.
async fn check_recipients(act: &Act, holds: &[Hold], to: &Party) -> Result<(), Failure> {
    for hold in holds {
        check_recipient(act, &hold.id, to).await?;
    }
    Ok(())
}

/// Refuses what is somebody else's. Whom a message is to never changes.
async fn check_recipient(act: &Act, id: &MessageId, to: &Party) -> Result<(), Failure> {
    let asked = id.clone();
    let message = act.call(|store| async move { store.message(asked).await }).await?;
    if message.to.is(to.as_str()) {
        return Ok(());
    }
    Err(forbidden(format!("message {id} is not to {to}")))
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Folder {
    #[default]
    Inbox,
    Sent,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListInput {
    /// `inbox` when absent.
    #[serde(default)]
    folder: Folder,
    /// Only with this agent, or `operator`.
    #[serde(default)]
    with: Option<Party>,
    /// Only in one of these: queued, leased, acked, dead.
    #[serde(default)]
    statuses: Vec<MessageStatus>,
    #[serde(default)]
    page: PageInput,
    /// Whose mail. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

async fn list(act: Act, input: ListInput) -> Result<Items<Mail>, Failure> {
    let ListInput { folder, with, statuses, page, agent } = input;
    let own = Some(act.party(agent.as_deref())?);
    let (from, to) = match folder {
        Folder::Inbox => (with, own),
        Folder::Sent => (own, with),
    };
    let filter = MessageFilter { statuses, from, to, ..MessageFilter::default() };
    let page = page.request()?;
    let found = act.call(|store| async move { store.list_messages(filter, page).await }).await?;
    Ok(Items::of(found, Mail::from))
}
