//! The replay of a session: what it is, and its timeline.

use ah_model::{Role, Session, Timestamp};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text::{ago, clock, cost, count, status, took};
use super::{Look, put, put_lines};
use crate::clean::{clean, cut, fit, wrap};
use crate::decode::{Call, Item, Who};
use crate::model::Model;
use crate::replay::{HEAD, Replay};

/// Columns from which time and speaker stand beside what is said.
const WIDE: u16 = 60;
/// Columns of time and speaker.
const GUTTER: usize = 20;

pub(crate) fn draw(model: &Model, replay: &Replay, look: Look, frame: &mut Frame<'_>) {
    let body = model.body();
    let width = usize::from(body.width);
    let head = head(model, replay, look, width);
    let rows = body.height.min(HEAD);
    put_lines(frame, Rect { height: rows, ..body }, head);
    let area = Rect { y: body.y + rows, height: body.height - rows, ..body };
    if replay.items.is_empty() {
        let text = match (&replay.problem, replay.is_known) {
            (Some(problem), _) => problem.clone(),
            (None, true) => "Nothing has happened yet. What does shows up here.".to_owned(),
            (None, false) => "reading …".to_owned(),
        };
        return put(frame, area, Line::styled(cut(&text, width), look.dim()));
    }
    let (mut at, mut skip) = replay.top;
    let mut lines: Vec<Line<'static>> = Vec::new();
    while let Some(item) = replay.items.get(at).filter(|_| lines.len() < usize::from(area.height)) {
        let own = item_lines(item, replay.is_open(item), body.width, look);
        let chosen = at == replay.at;
        let marked = own.into_iter().enumerate().skip(skip).map(|(row, line)| match chosen {
            true if row == 0 || row == skip => mark(line, look),
            _ => line,
        });
        lines.extend(marked);
        (at, skip) = (at + 1, 0);
    }
    put_lines(frame, area, lines);
}

/// The chosen item's first column is turned around.
fn mark(line: Line<'static>, look: Look) -> Line<'static> {
    let mut spans = line.spans;
    if let Some(first) = spans.first_mut() {
        first.style = first.style.patch(look.chosen());
    }
    Line::from(spans)
}

fn head(model: &Model, replay: &Replay, look: Look, width: usize) -> Vec<Line<'static>> {
    let rule = "─".repeat(width);
    let end = match (replay.follows, replay.is_end) {
        (true, _) => " live ",
        (false, true) => "",
        (false, false) => " more below ",
    };
    let rule = format!("{}{end}", rule.chars().skip(end.len() + 2).collect::<String>());
    let rule = format!("{rule}──");
    let Some(read) = &replay.head else {
        let id = Line::styled(cut(replay.id.as_str(), width), look.strong());
        return vec![id, Line::default(), Line::styled(rule, look.dim())];
    };
    let session = &read.session;
    let title = clean(session.title.as_deref().unwrap_or(session.id.as_str()));
    let word = session.status.as_str();
    let first = Line::from(vec![
        Span::styled(word, status(word, look)),
        Span::raw("  "),
        Span::styled(cut(&title, width.saturating_sub(word.len() + 2)), look.strong()),
    ]);
    let facts = facts(session, model.now, &cost(&read.spent), &family(read));
    let facts = Line::styled(cut(&facts, width), look.dim());
    vec![first, facts, Line::styled(rule, if replay.follows { look.good() } else { look.dim() })]
}

fn facts(session: &Session, now: Timestamp, cost: &str, family: &str) -> String {
    let usage = session.usage;
    let tokens = match usage.total() {
        0 => String::new(),
        _ => {
            format!("  {} in {} out  {cost}", count(usage.input_tokens), count(usage.output_tokens))
        }
    };
    let agent = clean(&session.agent.to_string());
    let (events, id) = (count(session.last_seq), &session.id);
    let active = ago(session.last_activity_at, now);
    format!("{agent}  {events} events{tokens}  active {active}{family}  {id}")
}

/// Where it came from and what came of it.
fn family(read: &crate::effect::SessionRead) -> String {
    let short = |id: &ah_model::SessionId| id.as_str().chars().take(8).collect::<String>();
    let session = &read.session;
    let mut text = String::new();
    if let Some(fork) = &session.forked_from {
        text.push_str(&format!("  fork of {} at {}", short(&fork.session_id), fork.at_seq));
    } else if let Some(parent) = &session.parent_session_id {
        text.push_str(&format!("  below {}", short(parent)));
    }
    for (what, sessions) in [("below it", &read.children), ("forked from it", &read.forks)] {
        if !sessions.is_empty() {
            let ids: Vec<String> = sessions.iter().map(|session| short(&session.id)).collect();
            text.push_str(&format!("  {} {what}: {}", ids.len(), ids.join(" ")));
        }
    }
    clean(&text)
}

/// Rows of an item.
pub(crate) fn rows_of(item: &Item, is_open: bool, width: u16) -> usize {
    item_lines(item, is_open, width, Look { has_colour: false }).len()
}

fn speaker(item: &Item, look: Look) -> (&'static str, Style) {
    match item.who {
        Who::Role(Role::User) => ("user", look.accent()),
        Who::Role(Role::Assistant) => ("assistant", look.good()),
        Who::Role(Role::Tool) => ("tool", look.warn()),
        Who::Role(Role::System) => ("system", look.warn()),
        Who::Note => ("", look.dim()),
    }
}

/// An item as it is drawn: time and speaker once, and beside or below them what it says.
fn item_lines(item: &Item, is_open: bool, width: u16, look: Look) -> Vec<Line<'static>> {
    let is_wide = width >= WIDE;
    let indent = if is_wide { GUTTER } else { 2 };
    let wide = usize::from(width).saturating_sub(indent + 1).max(2);
    let body = match &item.call {
        Some(call) => call_rows(item, call, is_open, wide, look),
        None => text_rows(item, is_open, wide, look),
    };
    let (name, style) = match &item.call {
        Some(_) => (if is_open { "▾ tool" } else { "▸ tool" }, look.warn()),
        None => speaker(item, look),
    };
    let mut lines = Vec::new();
    for (row, mut spans) in body.into_iter().enumerate() {
        let mut own = match (is_wide, row) {
            (true, 0) => vec![
                Span::styled(clock(item.at), look.dim()),
                Span::raw(" "),
                Span::styled(fit(name, GUTTER - 9), style),
            ],
            (false, 0) => {
                vec![
                    Span::styled(name.chars().next().unwrap_or(' ').to_string(), style),
                    Span::raw(" "),
                ]
            }
            _ => vec![Span::raw(" ".repeat(indent))],
        };
        own.append(&mut spans);
        lines.push(Line::from(own));
    }
    lines
}

/// Rows of a text that is folded.
const FOLDED: usize = 1;

fn text_rows(item: &Item, is_open: bool, wide: usize, look: Look) -> Vec<Vec<Span<'static>>> {
    let style = if item.who == Who::Note { look.dim() } else { Style::new() };
    if item.who == Who::Note && !is_open {
        return vec![vec![Span::styled(cut(&clean(&item.text), wide), style)]];
    }
    let mut rows = wrap(item.text.trim_end(), wide);
    if !is_open && rows.len() > FOLDED {
        let more = format!("  … {} more rows", rows.len() - FOLDED);
        rows.truncate(FOLDED);
        let mut folded: Vec<Vec<Span<'static>>> =
            rows.into_iter().map(|row| vec![Span::styled(row, style)]).collect();
        if let Some(last) = folded.last_mut() {
            last.push(Span::styled(more, look.dim()));
        }
        return folded;
    }
    rows.into_iter().map(|row| vec![Span::styled(row, style)]).collect()
}

fn call_rows(
    item: &Item,
    call: &Call,
    is_open: bool,
    wide: usize,
    look: Look,
) -> Vec<Vec<Span<'static>>> {
    let input = call.input.as_deref().unwrap_or_default();
    let end = match &call.outcome {
        None => ("…".to_owned(), look.warn()),
        Some(outcome) if outcome.failed => {
            (format!("failed {}", took(item.at, outcome.at)), look.bad())
        }
        Some(_) if call.input.is_none() => (String::new(), look.dim()),
        Some(outcome) => (took(item.at, outcome.at), look.dim()),
    };
    let name = cut(&call.name, wide);
    let room = wide.saturating_sub(crate::clean::columns(&name) + end.0.len() + 2);
    let brief = match is_open {
        true => String::new(),
        false => cut(&clean(input), room),
    };
    let mut rows = vec![vec![
        Span::styled(name, look.strong()),
        Span::raw(" "),
        Span::styled(fit(&brief, room), look.dim()),
        Span::raw(" "),
        Span::styled(end.0, end.1),
    ]];
    if !is_open {
        return rows;
    }
    let output = call.outcome.as_ref().map(|outcome| outcome.text.as_str()).unwrap_or_default();
    for (mark, text) in [("in  ", input), ("out ", output)] {
        if text.trim().is_empty() {
            continue;
        }
        for (at, row) in wrap(text.trim_end(), wide.saturating_sub(4)).into_iter().enumerate() {
            let mark = if at == 0 { mark } else { "    " };
            rows.push(vec![Span::styled(mark, look.dim()), Span::raw(row)]);
        }
    }
    rows
}
