//! A line of a rollout, as far as an import looks into it.

use ah_model::Usage;

use super::SOURCE;
use crate::transcript::{View, foreign};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Start,
    /// A prompt as old programs tell it, and as new ones do.
    Prompt(PromptForm),
    Answer,
    Call,
    Result,
    /// A call that did not succeed.
    Failed,
    Compaction,
    /// The tokens of an answer.
    Spent,
    /// The tokens of all answers so far.
    Counts,
    TurnBegan,
    TurnEnded,
    Named,
    Settings,
    Other,
}

/// How a prompt is told. A file may tell it in both forms: the first one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PromptForm {
    Event,
    Item,
}

impl What {
    /// What a line with that payload is.
    pub(super) fn of(line: &View<'_>, payload: &View<'_>) -> Self {
        let kind = payload.text("type").unwrap_or_default();
        match line.text("type").as_deref() {
            Some("session_meta") => Self::Start,
            Some("turn_context") => Self::Settings,
            Some("compacted") => Self::Compaction,
            Some("token_usage_record") => Self::Spent,
            Some("response_item") => Self::of_item(&kind, payload),
            Some("event_msg") => Self::of_event(&kind, payload),
            _ => Self::Other,
        }
    }

    fn of_item(kind: &str, payload: &View<'_>) -> Self {
        match kind {
            "message" if payload.text("role").as_deref() == Some("assistant") => Self::Answer,
            "function_call" | "custom_tool_call" | "local_shell_call" => Self::Call,
            "function_call_output" | "custom_tool_call_output" => Self::Result,
            _ => Self::Other,
        }
    }

    fn of_event(kind: &str, payload: &View<'_>) -> Self {
        match kind {
            "user_message" => Self::Prompt(PromptForm::Event),
            "task_started" => Self::TurnBegan,
            "task_complete" | "turn_aborted" => Self::TurnEnded,
            "token_count" => Self::Counts,
            "thread_name_updated" => Self::Named,
            "item_completed" => {
                let item = payload.object("item");
                let status = item.text("status");
                match item.text("type").as_deref() {
                    Some("UserMessage") => Self::Prompt(PromptForm::Item),
                    _ if matches!(status.as_deref(), Some("failed" | "declined")) => Self::Failed,
                    _ => Self::Other,
                }
            }
            _ => Self::Other,
        }
    }

    /// Our word for it, or that of Codex.
    pub(super) fn kind(self, line: &View<'_>, payload: &View<'_>) -> String {
        let ours = match self {
            Self::Start => "session_start",
            Self::Prompt(_) => "user_message",
            Self::Answer | Self::Call => "assistant_message",
            Self::Result => "tool_result",
            Self::Failed => "tool_status",
            Self::Compaction => "compaction",
            Self::Spent
            | Self::Counts
            | Self::TurnBegan
            | Self::TurnEnded
            | Self::Named
            | Self::Settings
            | Self::Other => return theirs(line, payload),
        };
        ours.to_owned()
    }
}

/// The type of a line that only Codex has a word for.
pub(super) fn theirs(line: &View<'_>, payload: &View<'_>) -> String {
    let kind = line.text("type").unwrap_or_default();
    let inner = payload.text("type").filter(|_| ["event_msg", "response_item"].contains(&&*kind));
    foreign(SOURCE, &inner.unwrap_or(kind))
}

/// Tokens as Codex counts them: its input has what a cache held, its output what was thought.
pub(crate) fn usage(json: &View<'_>) -> Usage {
    let (input, output) = (json.number("input_tokens"), json.number("output_tokens"));
    let cached = json.number("cached_input_tokens").min(input);
    let written = json.number("cache_write_input_tokens").min(input - cached);
    let thought = json.number("reasoning_output_tokens").min(output);
    Usage {
        input_tokens: input - cached - written,
        output_tokens: output - thought,
        cache_read_tokens: cached,
        cache_write_tokens: written,
        reasoning_tokens: thought,
    }
}
