//! A line of a transcript, as far as an import looks into it.

use ah_model::{JsonSlice, Usage};

use crate::raw_object::lossy_text;
use crate::transcript::{Spent, Title, TitleRank, Turn, View, over};

/// Most blocks of a message that are looked at.
const BLOCKS_MAX: usize = 10_000;
/// What a model is called that was never asked.
const SYNTHETIC: &str = "<synthetic>";
/// What prompts begin with that the program itself answers.
const LOCAL: [&str; 2] = ["<local-command", "<command-name>"];

/// What the line is.
pub(super) fn what<'a>(line: &View<'a>) -> What<'a> {
    match line.text("type").as_deref() {
        Some("user") => What::User(Message::of(line.object("message"))),
        Some("assistant") => What::Assistant(Message::of(line.object("message"))),
        Some("system") if line.text("subtype").as_deref() == Some("compact_boundary") => {
            What::Compaction
        }
        Some("cost-state") => What::Totals(totals(&line.object("modelUsage"))),
        Some("summary") => title(line, TitleRank::Summary, "summary"),
        Some("ai-title") => title(line, TitleRank::Made, "aiTitle"),
        Some("custom-title") => title(line, TitleRank::Given, "customTitle"),
        _ => What::Other,
    }
}

fn title<'a>(line: &View<'a>, rank: TitleRank, name: &str) -> What<'a> {
    let text = line.text(name).or_else(|| line.text("title"));
    text.and_then(|text| Title::of(rank, &text)).map_or(What::Other, What::Title)
}

/// What a line is.
pub(super) enum What<'a> {
    User(Message<'a>),
    Assistant(Message<'a>),
    Compaction,
    /// The tokens of the whole session so far, with those of its children.
    Totals(Usage),
    Title(Title),
    Other,
}

/// What was said.
pub(crate) struct Message<'a> {
    json: View<'a>,
    /// The types of its blocks; none when it is a plain text.
    blocks: Vec<&'a str>,
}

impl<'a> Message<'a> {
    fn of(json: View<'a>) -> Self {
        let content = json.get("content");
        let blocks = content.and_then(|content| content.elements(BLOCKS_MAX)).unwrap_or_default();
        let kind = |block| View::of_slice(block).get("type").map(JsonSlice::as_str);
        let blocks = blocks.into_iter().filter_map(kind).collect();
        Self { json, blocks }
    }

    fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block.trim_matches('"') == kind)
    }

    /// Whether it has answers of tools.
    pub(super) fn is_answer(&self) -> bool {
        self.has("tool_result")
    }

    /// The model that said it.
    pub(super) fn model(&self) -> Option<String> {
        self.json.text("model").filter(|model| model != SYNTHETIC)
    }

    /// The text of a prompt.
    pub(super) fn prompt(&self) -> Option<String> {
        let content = self.json.get("content")?;
        if let Some(text) = lossy_text(content.as_str()) {
            return Some(text);
        }
        let blocks = content.elements(BLOCKS_MAX)?;
        blocks.into_iter().find_map(|block| View::of_slice(block).text("text"))
    }

    /// What it cost.
    pub(super) fn spent(&self) -> Option<Spent> {
        let (answer, model) = (self.json.text("id")?, self.model());
        model.as_ref()?;
        let usage = Self::usage(&self.json.object("usage"));
        Some(Spent { answer, usage, model, cost_usd: None })
    }

    /// Tokens as Claude Code counts them: its output has what was thought.
    pub(crate) fn usage(usage: &View<'_>) -> Usage {
        let thought = usage.object("output_tokens_details").number("thinking_tokens");
        let output = usage.number("output_tokens");
        Usage {
            input_tokens: usage.number("input_tokens"),
            output_tokens: output.saturating_sub(thought),
            cache_read_tokens: usage.number("cache_read_input_tokens"),
            cache_write_tokens: usage.number("cache_creation_input_tokens"),
            reasoning_tokens: thought.min(output),
        }
    }

    /// Whether a user's line begins a turn.
    pub(super) fn asks(&self) -> Option<Turn> {
        if self.is_answer() {
            return Some(Turn::Open);
        }
        let prompt = self.prompt().unwrap_or_default();
        let local = LOCAL.iter().any(|mark| prompt.starts_with(mark));
        (!local).then_some(Turn::Open)
    }

    /// Whether the turn goes on after an assistant's line. Old programs say no reason on the last
    /// line of an answer; words without a call end it.
    pub(super) fn answers(&self) -> Turn {
        let reason = self.json.text("stop_reason");
        let goes_on = reason.as_deref() == Some("tool_use") || self.has("tool_use");
        match !goes_on && (reason.is_some() || self.has("text")) {
            true => Turn::Ended,
            false => Turn::Open,
        }
    }
}

/// The tokens of all models.
fn totals(models: &View<'_>) -> Usage {
    models.values().fold(Usage::default(), |sum, model| {
        let (output, thought) = (model.number("outputTokens"), model.number("thinkingTokens"));
        let of_model = Usage {
            input_tokens: model.number("inputTokens"),
            output_tokens: output.saturating_sub(thought),
            cache_read_tokens: model.number("cacheReadInputTokens"),
            cache_write_tokens: model.number("cacheCreationInputTokens"),
            reasoning_tokens: thought.min(output),
        };
        sum.plus(of_model)
    })
}

/// What `ledger` has beyond `counted`, and not already in `known`.
pub(super) fn unexplained(ledger: Usage, counted: Usage, known: Usage) -> Usage {
    over(over(ledger, counted), known)
}
