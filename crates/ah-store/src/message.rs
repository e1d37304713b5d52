//! Mail between agents and the operator.

use ah_model::{
    Hold, Message, MessageFilter, MessageId, NewMessage, Page, PageRequest, Party, Receive,
    Received, Release,
};
use async_trait::async_trait;

use crate::{Kind, StoreError};

/// Messages: sent, handed out under a lease, acknowledged. A message has one holder at a time; who
/// shows an older hand-out is a conflict and changes nothing.
#[async_trait]
pub trait Messages {
    /// Sends one message to each recipient, all or none; answers in their order.
    ///
    /// A writer or recipient that is not known is not found; one that is dead is a conflict. A
    /// message it replies to that is not known is not found, and one that the writer neither wrote
    /// nor got is a conflict.
    async fn send_message(&self, message: NewMessage) -> Result<Vec<Message>, StoreError>;

    /// The message of that id.
    async fn message(&self, id: MessageId) -> Result<Message, StoreError>;

    /// The ids that begin with `prefix`, at most two: enough to tell unique from not.
    async fn message_ids_with_prefix(&self, prefix: String) -> Result<Vec<MessageId>, StoreError>;

    /// Messages in the order of sending, newest first. A page may end early when what it holds is
    /// large.
    async fn list_messages(
        &self,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError>;

    /// Sends what is given, acknowledges what is given, then leases the oldest messages that can be
    /// received, all in one step: a whole turn happens, or nothing of it. Nobody else gets them while
    /// the lease lasts. What was sent to oneself may be among them, and each of what is sent may
    /// answer one that was sent before it.
    ///
    /// A party that is not known is not found, a dead one is a conflict. Then nothing happens, and
    /// neither when a message is not from `to`, when [`Self::send_message`] would refuse it, or when
    /// an acknowledgement does not hold. Messages to another party than `to` are not acknowledged
    /// here: a conflict. Of several reasons the first counts: a writer other than `to`, `to` itself,
    /// all recipients, each message that is sent, each acknowledgement, the one that is asked for.
    async fn receive_messages(&self, receive: Receive) -> Result<Received, StoreError>;

    /// Keeps a lease for so many milliseconds from now.
    async fn renew_message(&self, hold: Hold, lease_ms: u64) -> Result<Message, StoreError>;

    /// They were handled, all or none. Saying it again is no change.
    async fn ack_messages(&self, holds: Vec<Hold>) -> Result<Vec<Message>, StoreError>;

    /// The holder could not handle it: queued again, or given up after too many tries, which its
    /// writer is told.
    async fn release_message(&self, release: Release) -> Result<Message, StoreError>;

    /// Queues a dead message again, with all its tries.
    async fn requeue_message(&self, id: MessageId) -> Result<Message, StoreError>;

    /// Acknowledges the notices of a party about a question, approval or message that wait to be
    /// received: it has learnt of it in another way. Returns how many. Mail stays.
    async fn dismiss_notices(&self, to: Party, about: String) -> Result<u64, StoreError>;
}

/// Refuses a receive that cannot be done whatever the store holds: every store asks this first.
pub fn check_receive(receive: &Receive) -> Result<(), StoreError> {
    receive.check()?;
    match receive.stranger() {
        Some(from) => {
            let reason = format!("does not write in a turn of {}", receive.to);
            Err(StoreError::conflict(Kind::Agent, from, reason))
        }
        None => Ok(()),
    }
}
