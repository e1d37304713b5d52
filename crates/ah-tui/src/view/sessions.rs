//! Sessions: the list, or where words were found.

use ah_model::SearchHit;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::text::{ago, count, status};
use super::{Look, put, put_lines, row, rows};
use crate::clean::{clean, cut};
use crate::model::Model;
use crate::sessions::{Search, SessionRow};

/// Columns of age, status, agent kind, events and tokens.
const WIDTHS: [usize; 5] = [5, 9, 16, 7, 7];

pub(crate) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>) {
    let body = model.body();
    if let Some(search) = &model.sessions.search {
        return draw_search(model, search, body, look, frame);
    }
    let width = usize::from(body.width);
    let sessions = &model.sessions;
    let title = match sessions.typed.is_empty() {
        true => "TITLE".to_owned(),
        false => format!("TITLE   only {}", sessions.typed),
    };
    let head = ["AGE", "STATUS", "AGENT", "EVENTS", "TOKENS"].map(str::to_owned);
    let head = head.into_iter().chain([title]).map(|text| (text, look.dim()));
    let first = body.height.min(1);
    put(frame, Rect { height: first, ..body }, row(&head.collect::<Vec<_>>(), &WIDTHS, width));
    let below = Rect { y: body.y + first, height: body.height - first, ..body };
    if sessions.rows.is_empty() {
        let text = match (sessions.is_known, sessions.typed.is_empty()) {
            (false, _) => "reading …",
            (true, true) => "No sessions yet: 4 New task begins one.",
            (true, false) => "None like that. Esc shows all, f changes the filter.",
        };
        return put(frame, below, Line::styled(text, look.dim()));
    }
    let line = |at: usize| match sessions.rows.get(at) {
        Some(session) => row(&cells(session, model, look), &WIDTHS, width),
        None => Line::default(),
    };
    rows(frame, below, sessions.list, sessions.rows.len(), look, line);
}

fn cells(session: &SessionRow, model: &Model, look: Look) -> [(String, Style); 6] {
    let pin = if session.is_pinned { "* " } else { "" };
    let fork = if session.is_fork { "↳ " } else { "" };
    let title = match session.title.is_empty() {
        true => (format!("{pin}{fork}{}", session.id), look.dim()),
        false => (format!("{pin}{fork}{}", session.title), Style::new()),
    };
    [
        (ago(session.active, model.now), look.dim()),
        (session.status.to_owned(), status(session.status, look)),
        (session.agent.clone(), Style::new()),
        (count(session.events), look.dim()),
        (if session.tokens == 0 { String::new() } else { count(session.tokens) }, look.dim()),
        title,
    ]
}

fn draw_search(model: &Model, search: &Search, body: Rect, look: Look, frame: &mut Frame<'_>) {
    let more = if search.has_more() { "+" } else { "" };
    let state = match (search.is_under_way, &search.problem) {
        (true, _) => "searching …".to_owned(),
        (false, Some(problem)) => problem.clone(),
        (false, None) => format!("{}{more} found", search.hits.len()),
    };
    let head = format!("/{}   {state}", search.typed);
    let first = body.height.min(1);
    let width = usize::from(body.width);
    put(frame, Rect { height: first, ..body }, Line::styled(cut(&head, width), look.dim()));
    let below = Rect { y: body.y + first, height: body.height - first, ..body };
    if search.hits.is_empty() {
        let text = if search.is_under_way { "" } else { "Nothing was said like that." };
        return put(frame, below, Line::styled(text, look.dim()));
    }
    let seen = usize::from(below.height / 2).max(1);
    let hits = search.hits.iter().enumerate().skip(search.list.top).take(seen);
    let lines = hits.flat_map(|(at, hit)| hit_lines(hit, at == search.list.at, model, look, width));
    put_lines(frame, below, lines.collect());
}

/// Where it was found, and below it what was said.
fn hit_lines(
    hit: &SearchHit,
    is_chosen: bool,
    model: &Model,
    look: Look,
    width: usize,
) -> [Line<'static>; 2] {
    let title = clean(hit.title.as_deref().unwrap_or(hit.session_id.as_str()));
    let cells = [
        (ago(hit.ts, model.now), look.dim()),
        (hit.who.as_str().to_owned(), look.accent()),
        (format!("#{}", hit.seq), look.dim()),
        (title, look.strong()),
    ];
    let mut head = row(&cells, &[5, 9, 7], width);
    if is_chosen {
        head = head.patch_style(look.chosen());
    }
    let mut spans = vec![Span::raw("      ")];
    let mut left = width.saturating_sub(6);
    for part in &hit.snippet {
        let text = cut(&clean(&part.text), left);
        left = left.saturating_sub(crate::clean::columns(&text));
        let found = look.warn().add_modifier(Modifier::BOLD);
        spans.push(Span::styled(text, if part.found { found } else { look.dim() }));
    }
    [head, Line::from(spans)]
}
