//! Messages. Agents write as themselves, and have to do only with what they wrote or got.

use ah_model::limits::{LEASE_MS_MAX, LEASE_MS_MIN, MESSAGE_DELAY_MS_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{
    Hold, Message, MessageFilter, MessageId, NewMessage, Page, Party, Receive, Received, Release,
    check_holds,
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId, Spoken};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let (look, act) = (Access::OVERSEE.of_party(), Access::OPERATE.of_party());
    Routes::new()
        .post("/messages", act, about_new(), send)
        .get("/messages", look, about_list(), list)
        .get("/messages/{id}", look, about_shown(), show)
        .get("/message-ids", Access::OVERSEE, about_ids(), ids)
        .post("/mail/receive", act, about_receive(), receive)
        .post("/mail/ack", act, about_ack(), ack)
        .post("/mail/dismiss", act, about_dismissal(), dismiss)
        .post("/messages/{id}/renew", act, about_one("Keeps the lease of a message"), renew)
        .post("/messages/{id}/release", act, about_one("Gives a message back unhandled"), release)
        .post("/messages/{id}/requeue", Access::OPERATE, about_requeue(), requeue)
}

fn about_new() -> Doc {
    let doc = doc("Sends a message to each recipient, all or none");
    doc.answers::<Items<Message>>(201).fails([404, 409])
}

fn about_shown() -> Doc {
    doc("Shows a message").answers::<Message>(200).fails([404])
}

fn about_list() -> Doc {
    let doc = doc("Messages, newest first; an agent's own").query(params::messages());
    doc.query(params::page()).answers::<Page<Message>>(200)
}

fn about_ids() -> Doc {
    let doc = doc("The ids of messages that begin so, at most two");
    doc.query([params::prefix()]).answers::<Items<MessageId>>(200)
}

fn about_receive() -> Doc {
    let doc =
        doc("A turn: sends, acknowledges, then leases the oldest messages that can be received");
    doc.answers::<Received>(200).fails([404, 409])
}

fn about_ack() -> Doc {
    let doc = doc("Messages were handled, all or none");
    doc.answers::<Items<Message>>(200).fails([404, 409])
}

fn about_dismissal() -> Doc {
    let doc = doc("Acknowledges notices of which their recipient has learnt in another way");
    doc.answers::<Dismissed>(200).fails([404, 409])
}

fn about_one(summary: &'static str) -> Doc {
    doc(summary).answers::<Message>(200).fails([404, 409])
}

fn about_requeue() -> Doc {
    about_one("Queues a dead message again, with all its tries")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Acknowledgement")]
struct Acked {
    /// The hand-outs that ended well.
    holds: Vec<Hold>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NoticeDismissal")]
struct Dismissal {
    /// Whose notices.
    to: Party,
    /// The question, approval or message they are about.
    about: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DismissedNotices")]
struct Dismissed {
    /// How many.
    dismissed: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "MessageRenewal")]
struct Renewed {
    /// The number of the hand-out; whichever is the newest when absent.
    #[serde(default)]
    delivery: Option<u64>,
    #[schemars(range(min = LEASE_MS_MIN, max = LEASE_MS_MAX))]
    lease_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "MessageRelease")]
struct Released {
    /// The number of the hand-out; whichever is the newest when absent.
    #[serde(default)]
    delivery: Option<u64>,
    /// Not handed out again before so many milliseconds have passed.
    #[serde(default)]
    #[schemars(range(max = MESSAGE_DELAY_MS_MAX))]
    delay_ms: u64,
    /// Why.
    #[serde(default)]
    #[schemars(length(max = SHORT_TEXT_BYTES_MAX))]
    note: Option<String>,
    /// Whether it was a try; a message is given up after too many.
    #[serde(default = "Release::counts_unless_said")]
    counts: bool,
}

async fn send(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(message, _share): JsonBody<Spoken<NewMessage>>,
) -> Answer {
    let message = message.by(&caller);
    caller.must_be(&message.from, WRITE)?;
    let items = state.call(|store| async move { store.send_message(message).await }).await?;
    created(&Items { items })
}

async fn list(State(state): State<ServerState>, caller: Caller, pairs: Pairs) -> Answer {
    pairs.only(params::messages().into_iter().chain(params::page()))?;
    let (mut filter, page) = (pairs.read::<MessageFilter>()?, pairs.read()?);
    filter.party = caller.narrowed(filter.party)?;
    ok(&state.call(|store| async move { store.list_messages(filter, page).await }).await?)
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<MessageId>,
) -> Answer {
    let message = state.call(|store| async move { store.message(id).await }).await?;
    caller.must_be_one_of([&message.from, &message.to], "read what is between")?;
    ok(&message)
}

async fn ids(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let prefix = pairs.text("prefix")?;
    let ids = state.call(|store| async move { store.message_ids_with_prefix(prefix).await });
    ok(&Items { items: ids.await? })
}

async fn receive(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(receive, _share): JsonBody<Receive<Spoken<NewMessage>>>,
) -> Answer {
    let to = receive.to.clone();
    caller.must_be(&to, RECEIVE)?;
    let receive = receive.sending(|message| message.by_party(&to));
    receive.send.iter().try_for_each(|message| caller.must_be(&message.from, WRITE))?;
    ok(&state.call(|store| async move { store.receive_messages(receive).await }).await?)
}

async fn ack(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(Acked { holds }, _share): JsonBody<Acked>,
) -> Answer {
    check_holds(&holds)?;
    check_recipient(&state, &caller, holds.iter().map(|hold| hold.id.clone()).collect()).await?;
    let items = state.call(|store| async move { store.ack_messages(holds).await }).await?;
    ok(&Items { items })
}

async fn dismiss(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(Dismissal { to, about }, _share): JsonBody<Dismissal>,
) -> Answer {
    caller.must_be(&to, RECEIVE)?;
    let dismissed = state.call(|store| async move { store.dismiss_notices(to, about).await });
    ok(&Dismissed { dismissed: dismissed.await? })
}

async fn renew(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<MessageId>,
    JsonBody(Renewed { delivery, lease_ms }, _share): JsonBody<Renewed>,
) -> Answer {
    check_recipient(&state, &caller, vec![id.clone()]).await?;
    let hold = Hold { id, delivery };
    ok(&state.call(move |store| async move { store.renew_message(hold, lease_ms).await }).await?)
}

async fn release(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<MessageId>,
    JsonBody(released, _share): JsonBody<Released>,
) -> Answer {
    check_recipient(&state, &caller, vec![id.clone()]).await?;
    let Released { delivery, delay_ms, note, counts } = released;
    let release = Release { hold: Hold { id, delivery }, delay_ms, note, counts };
    ok(&state.call(|store| async move { store.release_message(release).await }).await?)
}

async fn requeue(State(state): State<ServerState>, PathId(id): PathId<MessageId>) -> Answer {
    ok(&state.call(|store| async move { store.requeue_message(id).await }).await?)
}

/// What an agent does only as itself.
const WRITE: &str = "write as";
/// What an agent does only with its own mail.
const RECEIVE: &str = "take the mail of";

/// Refuses an agent to which one of these was not written. Who gets a message never changes.
async fn check_recipient(
    state: &ServerState,
    caller: &Caller,
    ids: Vec<MessageId>,
) -> Result<(), Failure> {
    if caller.agent().is_none() {
        return Ok(());
    }
    let recipients = state.call(|store| async move {
        let mut recipients = Vec::new();
        for id in ids {
            recipients.push(store.message(id).await?.to);
        }
        Ok(recipients)
    });
    recipients.await?.iter().try_for_each(|to| caller.must_be(to, RECEIVE))
}
