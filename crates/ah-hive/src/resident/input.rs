//! What a program is told on its standard input.

use ah_model::{Agent, Context, ContextPart, Message, MessageKind, Role, SessionId};
use ah_store::ContextLimit;
use serde::Serialize;

use super::program::InputForm;

/// How much of the conversation so far a program is told.
pub(super) const CONTEXT: ContextLimit = ContextLimit { records: 200, bytes: 256 * 1024 };

/// What a turn is about.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session_id: &'a SessionId,
    pub(super) message: &'a Message,
    /// Whether it was handed out before.
    pub(super) redelivered: bool,
    pub(super) context: &'a Context,
}

impl Told<'_> {
    /// The bytes for the program.
    pub(super) fn input(&self, form: InputForm) -> Vec<u8> {
        match form {
            InputForm::Text => self.prompt().into_bytes(),
            InputForm::Json => serde_json::to_vec(self).unwrap_or_default(),
        }
    }

    fn prompt(&self) -> String {
        let name = &self.agent.name;
        let mut text = format!("You are {name}, an agent of a harbor of agents.\n");
        let earlier: String = self.context.messages.iter().map(line).collect();
        if !earlier.is_empty() {
            text.push_str("\nWhat was said so far:\n");
            text.push_str(&earlier);
        }
        let again = match self.redelivered {
            true => " It was handed out before, so that some of it may be done already.",
            false => "",
        };
        text.push_str(&format!("\n{}{again}\n\n{}\n", heading(self.message), self.message.body));
        text
    }
}

/// Who says something, and what, in one piece.
fn line(message: &ah_model::ContextMessage) -> String {
    let who = match message.role {
        Role::System => "harbor",
        Role::User => "user",
        Role::Assistant => "you",
        Role::Tool => "tool",
    };
    let texts = message.content.iter().filter_map(|part| match part {
        ContextPart::Text(text) => Some(text.to_string()),
        ContextPart::ToolCall(call) => Some(format!("(calls {})", call.name)),
        ContextPart::File(_) | ContextPart::Other(_) => None,
    });
    let texts: Vec<String> = texts.collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!("[{who}] {}\n", texts.join("\n")),
    }
}

/// What a message is.
pub(super) fn heading(message: &Message) -> String {
    let about = message.about.as_deref().unwrap_or_default();
    match message.kind {
        MessageKind::Mail => format!("Message {} from {}:", message.id, message.from),
        MessageKind::Bounce => format!("Message {about} could not be delivered:"),
        MessageKind::Question => format!("Question {about} from {}:", message.from),
        MessageKind::Answer => format!("Answer to question {about} by {}:", message.from),
        MessageKind::Decision => format!("Decision about approval {about}:"),
    }
}
