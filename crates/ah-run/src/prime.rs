//! A conversation told to another tool: its rebuilt context as text, in front of the next prompt.

use ah_model::{Context, ContextMessage, ContextPart, Role};

/// Most bytes of a conversation that another tool is told.
const TOLD_BYTES_MAX: usize = 96 * 1024;
/// Most bytes of one message in it.
const MESSAGE_BYTES_MAX: usize = 8 * 1024;

/// The prompt for a tool that did not have the conversation: what was said, the newest whole, and
/// what is asked now.
pub fn primed(context: &Context, kind: &str, prompt: &str) -> String {
    let mut lines = Vec::new();
    let (mut bytes, mut left_out) = (0, context.omitted);
    for message in context.messages.iter().rev() {
        let line = line(message);
        if line.is_empty() {
            continue;
        }
        bytes += line.len();
        match bytes <= TOLD_BYTES_MAX {
            true => lines.push(line),
            false => left_out += 1,
        }
    }
    lines.reverse();
    let note = match left_out {
        0 => String::new(),
        count => format!("({count} older messages are left out)\n"),
    };
    format!(
        "You go on with a conversation that {kind} had before, session {}. What was said so far:\n\
         {note}{}\nWhat is asked now:\n\n{prompt}\n",
        context.session_id,
        lines.concat()
    )
}

/// Who says something, and what.
fn line(message: &ContextMessage) -> String {
    let who = match message.role {
        Role::System => "harbor",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let texts = message.content.iter().filter_map(|part| match part {
        ContextPart::Text(text) => Some(text.to_string()),
        ContextPart::ToolCall(call) => Some(format!("(calls {})", call.name)),
        ContextPart::File(_) | ContextPart::Other(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    match text.is_empty() {
        true => String::new(),
        false => format!("[{who}] {}\n", cut(&text)),
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default();
    format!("{kept}… ({} bytes more)", text.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_and_says_by_how_much() {
        let long = "☃".repeat(MESSAGE_BYTES_MAX);
        let told = cut(&long);
        assert!(told.len() < MESSAGE_BYTES_MAX + 40);
        assert!(
            told.ends_with(&format!("… ({} bytes more)", long.len() - MESSAGE_BYTES_MAX / 3 * 3))
        );
        assert_eq!(cut("short"), "short");
    }
}
