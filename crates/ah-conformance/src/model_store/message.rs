//! Messages in the oracle.

use std::slice;

use ah_model::{
    Agent, Hold, Message, MessageFilter, MessageId, MessageKind, MessageStatus, NewMessage, Notice,
    Page, PageRequest, Party, Receive, Received, Release, check_holds, check_lease_ms,
};
use ah_store::{Kind, Messages, StoreError, check_receive};
use async_trait::async_trait;

use super::agent::refused as agent_refused;
use super::{Door, ModelStore, Rows, newest_page, with_prefix};

#[async_trait]
impl Messages for ModelStore {
    async fn send_message(&self, message: NewMessage) -> Result<Vec<Message>, StoreError> {
        message.check()?;
        let message = self.clean(message);
        self.settle()?;
        self.write_once(|rows, door| {
            rows.send_messages(&message.from, slice::from_ref(&message), door)
        })
    }

    async fn message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.settle()?;
        self.read(|rows| Ok(rows.messages[&rows.message_place(&id)?].clone()))
    }

    async fn message_ids_with_prefix(&self, prefix: String) -> Result<Vec<MessageId>, StoreError> {
        self.read(|rows| {
            let ids = rows.messages.values().map(|message| message.id.clone());
            Ok(with_prefix(ids, &prefix))
        })
    }

    async fn list_messages(
        &self,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        self.settle()?;
        self.read(|rows| newest_page(&rows.messages, &page, |message| filter.matches(message)))
    }

    async fn receive_messages(&self, receive: Receive) -> Result<Received, StoreError> {
        check_receive(&receive)?;
        let receive = self.clean(receive);
        self.settle()?;
        let got_some = |received: &Received| !received.is_empty();
        self.write_once_if(got_some, |rows, door| rows.receive_messages(&receive, door))
    }

    async fn renew_message(&self, hold: Hold, lease_ms: u64) -> Result<Message, StoreError> {
        check_lease_ms(lease_ms)?;
        self.settle()?;
        self.write(|rows, door| {
            let message = rows.message_mut(&hold.id)?;
            let renewed = message.renew(&hold, lease_ms, door.now());
            renewed.map_err(|reason| refused(message, reason))?;
            Ok(message.clone())
        })
    }

    async fn ack_messages(&self, holds: Vec<Hold>) -> Result<Vec<Message>, StoreError> {
        check_holds(&holds)?;
        self.settle()?;
        self.write(|rows, door| holds.iter().map(|hold| rows.ack_message(hold, door)).collect())
    }

    async fn release_message(&self, release: Release) -> Result<Message, StoreError> {
        release.check()?;
        let release = self.clean(release);
        self.settle()?;
        self.write(|rows, door| {
            let message = rows.message_mut(&release.hold.id)?;
            let released = message.release(&release, door.now());
            released.map_err(|reason| refused(message, reason))?;
            let message = message.clone();
            rows.tell(message.bounce(), door)?;
            Ok(message)
        })
    }

    async fn requeue_message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.settle()?;
        self.write(|rows, _| {
            let message = rows.message_mut(&id)?;
            message.requeue().map_err(|reason| refused(message, reason))?;
            Ok(message.clone())
        })
    }

    async fn dismiss_notices(&self, to: Party, about: String) -> Result<u64, StoreError> {
        self.settle()?;
        self.write(|rows, door| {
            let to = rows.known(&to)?;
            let waits = |message: &&mut Message| {
                message.kind != MessageKind::Mail
                    && message.status == MessageStatus::Queued
                    && message.to == to
                    && message.about.as_ref() == Some(&about)
            };
            let mut dismissed = 0;
            for message in rows.messages.values_mut().filter(waits) {
                message.status = MessageStatus::Acked;
                message.acked_at = Some(door.now());
                message.not_before = None;
                dismissed += 1;
            }
            Ok(dismissed)
        })
    }
}

impl Rows {
    /// Sends what `from` writes. Refuses, in this order: the writer, all recipients, then of each
    /// message what it replies to and a taken id.
    fn send_messages(
        &mut self,
        from: &Party,
        all: &[NewMessage],
        door: &Door,
    ) -> Result<Vec<Message>, StoreError> {
        let from = self.living(from)?;
        let recipients = |new: &NewMessage| {
            let to = new.to.iter().map(|party| self.living(party));
            to.collect::<Result<Vec<Party>, StoreError>>()
        };
        let to = all.iter().map(recipients).collect::<Result<Vec<_>, StoreError>>()?;
        let mut sent = Vec::new();
        for (new, to) in all.iter().zip(to) {
            let new = NewMessage { from: from.clone(), to, ..new.clone() };
            sent.extend(self.send_message(&new, door)?);
        }
        Ok(sent)
    }

    /// Sends a message whose parties are spelt as their rows are.
    fn send_message(&mut self, new: &NewMessage, door: &Door) -> Result<Vec<Message>, StoreError> {
        if let Some(id) = &new.in_reply_to {
            let answered = &self.messages[&self.message_place(id)?];
            if !answered.concerns(&new.from) {
                let reason = format!("was neither written nor received by {}", new.from);
                return Err(refused(answered, reason));
            }
        }
        if let Some(id) = new.id.as_ref().filter(|id| self.message_place(id).is_ok()) {
            return Err(StoreError::conflict(Kind::Message, id, "exists already"));
        }
        let mut sent = Vec::new();
        for party in &new.to {
            let id = match new.id.clone() {
                Some(id) => id,
                None => door.ids.message(door.now())?,
            };
            let place = self.next_place();
            let message = Message::sent(new, party.clone(), id, place, door.now());
            self.insert_message(message.clone());
            sent.push(message);
        }
        Ok(sent)
    }

    fn receive_messages(&mut self, receive: &Receive, door: &Door) -> Result<Received, StoreError> {
        let sent = self.send_messages(&receive.to, &receive.send, door)?;
        let to = self.known(&receive.to)?;
        for hold in &receive.ack {
            self.check_to(&hold.id, &to)?;
            self.ack_message(hold, door)?;
        }
        if let Some(id) = &receive.id {
            self.check_to(id, &to)?;
        }
        let wanted = |message: &&mut Message| {
            message.to == to
                && message.is_receivable(door.now())
                && receive.id.as_ref().is_none_or(|id| message.id == *id)
        };
        let mut messages = Vec::new();
        for message in self.messages.values_mut().filter(wanted).take(receive.max as usize) {
            message.receive(&receive.holder, receive.lease_ms, door.now());
            messages.push(message.clone());
        }
        Ok(Received { messages, sent })
    }

    fn check_to(&self, id: &MessageId, party: &Party) -> Result<(), StoreError> {
        let message = &self.messages[&self.message_place(id)?];
        if message.to == *party {
            return Ok(());
        }
        Err(refused(message, format!("is to {}, not to {party}", message.to)))
    }

    fn ack_message(&mut self, hold: &Hold, door: &Door) -> Result<Message, StoreError> {
        let message = self.message_mut(&hold.id)?;
        message.ack(hold, door.now()).map_err(|reason| refused(message, reason))?;
        Ok(message.clone())
    }

    /// Queues what the harbor itself tells somebody; who is no longer here is told nothing.
    pub(super) fn tell(&mut self, notice: Option<Notice>, door: &Door) -> Result<(), StoreError> {
        let Some(notice) = notice else { return Ok(()) };
        let Ok(to) = self.known(&notice.to) else { return Ok(()) };
        let id = door.ids.message(door.now())?;
        let notice = Notice { to, ..notice };
        let message = Message::notice(notice, id, self.next_place(), door.now());
        self.insert_message(message);
        Ok(())
    }

    pub(super) fn insert_message(&mut self, message: Message) {
        self.messages.insert(i64::try_from(message.number).unwrap(), message);
    }

    pub(super) fn message_place(&self, id: &MessageId) -> Result<i64, StoreError> {
        let place = self.messages.iter().find(|(_, message)| message.id == *id);
        let place = place.map(|(place, _)| *place);
        place.ok_or_else(|| StoreError::not_found(Kind::Message, id))
    }

    fn message_mut(&mut self, id: &MessageId) -> Result<&mut Message, StoreError> {
        let place = self.message_place(id)?;
        Ok(self.messages.get_mut(&place).unwrap())
    }

    /// The party in the spelling of its row.
    pub(super) fn known(&self, party: &Party) -> Result<Party, StoreError> {
        match party {
            Party::Operator => Ok(Party::Operator),
            Party::Agent(name) => {
                self.party_row(name).map(|agent| Party::Agent(agent.name.clone()))
            }
        }
    }

    /// [`Self::known`], if it takes part.
    pub(super) fn living(&self, party: &Party) -> Result<Party, StoreError> {
        if let Party::Agent(name) = party {
            let agent = self.party_row(name)?;
            agent.refuse_dead().map_err(|reason| agent_refused(agent, reason))?;
        }
        self.known(party)
    }

    fn party_row(&self, name: &str) -> Result<&Agent, StoreError> {
        self.agent_named(name).ok_or_else(|| StoreError::not_found(Kind::Agent, name))
    }
}

fn refused(message: &Message, reason: String) -> StoreError {
    StoreError::conflict(Kind::Message, &message.id, reason)
}
