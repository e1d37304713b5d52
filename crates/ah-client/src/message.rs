//! Messages.

use ah_model::{
    Hold, Message, MessageFilter, MessageId, NewMessage, Page, PageRequest, Party, Receive,
    Received, Release,
};
use ah_store::{Messages, StoreError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct Acked {
    holds: Vec<Hold>,
}

#[derive(Serialize)]
struct Dismissal {
    to: Party,
    about: String,
}

#[derive(Deserialize)]
struct Dismissed {
    dismissed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Renewed {
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<u64>,
    lease_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Released {
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<u64>,
    delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    counts: bool,
}

fn messages() -> Target {
    Target::new(["messages"])
}

/// What is done with some of them. Any word may be a message's id, so it is not below those.
fn mail_target(part: &str) -> Target {
    Target::new(["mail", part])
}

fn message_target(id: &MessageId, part: &str) -> Target {
    Target::new(["messages", id.as_str(), part])
}

#[async_trait]
impl Messages for RestStore {
    async fn send_message(&self, message: NewMessage) -> Result<Vec<Message>, StoreError> {
        self.create_items(messages(), &message)
    }

    async fn message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.http.get(&Target::new(["messages", id.as_str()]))
    }

    async fn message_ids_with_prefix(&self, prefix: String) -> Result<Vec<MessageId>, StoreError> {
        self.http.items(Target::new(["message-ids"]).pair("prefix", prefix))
    }

    async fn list_messages(
        &self,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        self.http.list(messages().query(&filter).query(&page))
    }

    async fn receive_messages(&self, receive: Receive) -> Result<Received, StoreError> {
        self.create(Method::POST, &mail_target("receive"), &receive)
    }

    async fn renew_message(&self, hold: Hold, lease_ms: u64) -> Result<Message, StoreError> {
        let renewed = Renewed { delivery: hold.delivery, lease_ms };
        self.create(Method::POST, &message_target(&hold.id, "renew"), &renewed)
    }

    async fn ack_messages(&self, holds: Vec<Hold>) -> Result<Vec<Message>, StoreError> {
        self.create_items(mail_target("ack"), &Acked { holds })
    }

    async fn release_message(&self, release: Release) -> Result<Message, StoreError> {
        let Release { hold: Hold { id, delivery }, delay_ms, note, counts } = release;
        let released = Released { delivery, delay_ms, note, counts };
        self.create(Method::POST, &message_target(&id, "release"), &released)
    }

    async fn requeue_message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.order_once(Method::POST, &message_target(&id, "requeue"))
    }

    async fn dismiss_notices(&self, to: Party, about: String) -> Result<u64, StoreError> {
        let target = mail_target("dismiss");
        let dismissed = self.create(Method::POST, &target, &Dismissal { to, about });
        dismissed.map(|Dismissed { dismissed }| dismissed)
    }
}
