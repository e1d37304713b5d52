//! Mail and late answers for a resident agent, handed to it with the answer of a hook.

use std::fmt::Write;

use ah_import::{HookCall, HookTool};
use ah_model::{Hold, Message, MessageKind, Party, Receive};
use ah_store::{Store, block_on};
use serde_json::json;

use super::{Args, print};

/// The hooks whose additional context the agent reads at once.
const READ_AT: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "BeforeAgent",
    "AfterTool",
];
/// Messages handed over at once, and the bytes of one that are shown: agents cut what is longer.
const MESSAGES_MAX: u32 = 4;
const SHOWN_BYTES_MAX: usize = 2_000;
/// How long a message is held until it is known that it was printed.
const LEASE_MS: u64 = 30_000;

/// Whether the hook is one that mail can be handed over with.
pub(super) fn is_wanted(args: &Args, call: &HookCall) -> bool {
    let of_agent = args.agent.is_some() && args.kind != HookTool::Goose;
    of_agent
        && call
            .event()
            .is_ok_and(|event| event.parent.is_none() && READ_AT.contains(&event.name.as_str()))
}

/// Takes what waits for the agent, prints it, and only then says that it was handled.
pub(super) fn mail(store: &dyn Store, args: &Args, call: &HookCall) {
    let (Some(agent), Ok(event)) = (&args.agent, call.event()) else { return };
    let next = Receive::next(Party::Agent(agent.clone()), "hook", LEASE_MS);
    let next = Receive { max: MESSAGES_MAX, ..next };
    // Mail that cannot be had now waits for the next call.
    let Ok(received) = block_on(store.receive_messages(next)) else { return };
    if received.messages.is_empty() {
        return;
    }
    let context = context(&received.messages);
    let output = json!({ "hookEventName": event.name, "additionalContext": context });
    print(&json!({ "hookSpecificOutput": output }));
    let hold =
        |message: &Message| Hold { id: message.id.clone(), delivery: Some(message.deliveries) };
    // One that cannot be acknowledged comes again, which is better than not at all.
    let _ = block_on(store.ack_messages(received.messages.iter().map(hold).collect()));
}

fn context(messages: &[Message]) -> String {
    let mut text = String::from("Mail that waited for you in Agent Harbor:\n");
    for message in messages {
        let Message { id, from, body, about, .. } = message;
        let about = about.as_deref().unwrap_or(id.as_str());
        let what = match message.kind {
            MessageKind::Mail => format!("message {id} from {from}"),
            MessageKind::Bounce => format!("your message {about} could not be handled"),
            MessageKind::Question => {
                format!("question {about} from {from} (`ah question answer {about}` answers it)")
            }
            MessageKind::Answer => format!("answer to your question {about} from {from}"),
            MessageKind::Decision => format!("decision on your approval {about} from {from}"),
        };
        let again = if message.deliveries > 1 { ", handed out before" } else { "" };
        // Writing to a text does not fail.
        let _ = writeln!(text, "\n- {what}{again}:\n{}", shown(body, id.as_str()));
    }
    text
}

/// The text, or its beginning and where the rest is.
fn shown(body: &str, id: &str) -> String {
    if body.len() <= SHOWN_BYTES_MAX {
        return body.to_owned();
    }
    let end = (0..=SHOWN_BYTES_MAX).rev().find(|end| body.is_char_boundary(*end)).unwrap_or(0);
    let beginning = body.get(..end).unwrap_or_default();
    format!("{beginning}… (`ah message show {id}` shows all of it)")
}
