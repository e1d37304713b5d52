//! What a program tells again: the newest telling, in the place of the first.

use super::{Answer, Builder, ContextPart, Role, Slot};
use crate::Event;
use crate::record::Retold;

impl<'a> Builder<'a> {
    /// Shows what is told, where it was told first.
    pub(super) fn retold(&mut self, event: &'a Event, retold: &Retold<'a>) {
        let role = if retold.by_model { Role::Assistant } else { Role::User };
        let content = self.parts_of(&retold.said);
        match self.told.get(&retold.id).copied() {
            None => {
                self.told.insert(retold.id.clone(), self.slots.len());
                self.put(event, role, content);
            }
            Some(slot) => self.tell_again(event, slot, content),
        }
        for answer in &retold.answers {
            self.answer(event, answer);
        }
    }

    /// Calls stay where they are, because their answers stand behind them.
    fn tell_again(&mut self, event: &'a Event, slot: usize, content: Vec<ContextPart>) {
        let Some(Slot { message, .. }) = self.slots.get_mut(slot) else { return };
        message.content.clone_from(&content);
        for part in &content {
            match part {
                ContextPart::ToolCall(call) if !self.open.contains_key(&call.id) => {
                    self.note_call(event, slot, call);
                }
                _ => {}
            }
        }
    }

    /// Takes back the message of that id and all after it; all, when nobody knows it.
    pub(super) fn rewind(&mut self, id: &str) {
        let from = self.told.get(id).copied().unwrap_or(0);
        for slot in self.slots.iter_mut().skip(from) {
            slot.message.content.clear();
            slot.answers.clear();
        }
        for call in self.calls.iter_mut().filter(|call| call.slot >= from) {
            call.answer = Answer::Real;
        }
        self.told.retain(|_, slot| *slot < from);
    }
}
