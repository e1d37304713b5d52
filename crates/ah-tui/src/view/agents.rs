//! Agents: the list, and what is known of the chosen one.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::detail::Page;
use super::text::{ago, count, status};
use super::{Look, put, put_lines, row, rows};
use crate::agents::AgentRow;
use crate::clean::clean;
use crate::model::Model;
use crate::perform::INBOX_MAX;

/// Columns of name, lifecycle, model, inbox and age of the last turn.
const WIDTHS: [usize; 5] = [16, 9, 16, 5, 5];

pub(crate) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>) {
    let panes = model.panes();
    let (list, detail) = (panes.list, panes.detail);
    let width = usize::from(list.width);
    let head = ["NAME", "STANDS", "MODEL", "INBOX", "TURN", "LAST"];
    let head = head.map(|text| (text.to_owned(), look.dim()));
    let first = list.height.min(1);
    put(frame, Rect { height: first, ..list }, row(&head, &WIDTHS, width));
    let below = Rect { y: list.y + first, height: list.height - first, ..list };
    let agents = &model.agents;
    if agents.rows.is_empty() {
        let text = match agents.is_known {
            true => "No agents yet: `ah agent create NAME --kind claude-code` makes one.",
            false => "reading …",
        };
        return put(frame, below, Line::styled(text, look.dim()));
    }
    let line = |at: usize| {
        agents
            .rows
            .get(at)
            .map_or_else(Line::default, |agent| row(&cells(agent, model, look), &WIDTHS, width))
    };
    rows(frame, below, agents.list, agents.rows.len(), look, line);
    if let Some(agent) = agents.chosen() {
        let wide = usize::from(detail.width.saturating_sub(1));
        put_lines(frame, detail, detail_of(agent, model, look, wide));
    }
}

fn inbox(agent: &AgentRow) -> String {
    match agent.turn.as_ref().map(|turn| turn.inbox) {
        None => "…".to_owned(),
        Some(0) => String::new(),
        Some(number) if number as u64 >= INBOX_MAX => format!("{INBOX_MAX}+"),
        Some(number) => number.to_string(),
    }
}

fn cells(agent: &AgentRow, model: &Model, look: Look) -> [(String, Style); 6] {
    let turn = agent.turn.as_ref();
    [
        (clean(&agent.name), look.strong()),
        (agent.stands.to_owned(), status(agent.stands, look)),
        (agent.model.clone(), Style::new()),
        (inbox(agent), look.warn()),
        (
            turn.and_then(|turn| turn.at).map(|at| ago(at, model.now)).unwrap_or_default(),
            look.dim(),
        ),
        (turn.map(|turn| turn.said.clone()).unwrap_or_default(), Style::new()),
    ]
}

fn detail_of(agent: &AgentRow, model: &Model, look: Look, width: usize) -> Vec<Line<'static>> {
    let mut page = Page { lines: Vec::new(), look, width };
    page.head(&agent.name);
    let protected = if agent.is_protected { ", protected" } else { "" };
    page.field("stands", &format!("{}{protected}", agent.stands));
    page.field("kind", &agent.kind);
    page.field("model", if agent.model.is_empty() { "the kind's default" } else { &agent.model });
    page.field("inbox", &inbox(agent));
    page.field("sessions", &agent.sessions.to_string());
    page.field("tokens", &count(agent.tokens));
    page.field("changed", &format!("{} ago", ago(agent.changed, model.now)));
    page.field("session", agent.session.as_ref().map_or("", |id| id.as_str()));
    if let Some(turn) = agent.turn.as_ref().filter(|turn| !turn.said.is_empty()) {
        page.field("last", &turn.said);
    }
    page.lines
}
