//! What is asked in front of everything else.

use ah_model::Verdict;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::Look;
use super::text::left;
use crate::clean::{clean, clean_lines, cut, wrap};
use crate::dialog::{Ask, Choose, Dialog, Form, Purpose};
use crate::editor::Editor;
use crate::model::Model;
use crate::needs::Need;

/// Widest a dialog is.
const WIDTH: u16 = 76;
/// Rows of a question's text.
const TEXT_ROWS: usize = 8;

/// The lines of a dialog, and where its cursor is among them.
struct Shown {
    lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
    /// The line that must be in sight.
    at: usize,
}

pub(crate) fn draw(model: &Model, dialog: &Dialog, look: Look, frame: &mut Frame<'_>) {
    let whole = frame.area();
    let outer = WIDTH.min(whole.width);
    let width = usize::from(outer.saturating_sub(4)).max(2);
    let (title, mut shown) = match &dialog.form {
        Form::Ask(ask) => ask_lines(ask, look, width),
        Form::Choose(choose) => choose_lines(choose, model, look, width),
    };
    shown.lines.push(Line::default());
    if let Some(text) = settled(&dialog.form, model) {
        shown.lines.extend(wrap(text, width).into_iter().map(|row| Line::styled(row, look.warn())));
    }
    let (foot, style) = match (&dialog.problem, dialog.is_sent) {
        (_, true) => ("sending …  Esc leaves".to_owned(), look.dim()),
        (Some(problem), false) => (problem.clone(), look.bad()),
        (None, false) => (keys(&dialog.form).to_owned(), look.dim()),
    };
    let foot = wrap(&foot, width).into_iter().map(|row| Line::styled(row, style));
    shown.lines.extend(foot);
    let rows = u16::try_from(shown.lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = centred(whole, outer, rows);
    frame.render_widget(Clear, area);
    let title = format!(" {} ", cut(&clean(&title), width));
    let block = Block::bordered().border_style(look.accent()).title(title);
    let inner = Rect {
        x: area.x.saturating_add(2),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    frame.render_widget(block, area);
    let height = usize::from(inner.height);
    let top = (shown.at + 1).saturating_sub(height);
    let lines: Vec<Line<'static>> = shown.lines.into_iter().skip(top).collect();
    frame.render_widget(Paragraph::new(lines), inner.intersection(whole));
    if let Some((row, column)) = shown.cursor {
        let x = inner.x.saturating_add(u16::try_from(column).unwrap_or(0));
        let y = inner.y.saturating_add(u16::try_from(row.saturating_sub(top)).unwrap_or(0));
        if inner.contains(Position::new(x, y)) {
            frame.set_cursor_position(Position::new(x, y));
        }
    }
}

fn centred(whole: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(whole.width), height.min(whole.height));
    Rect {
        x: whole.x + (whole.width - width) / 2,
        y: whole.y + (whole.height - height) / 3,
        width,
        height,
    }
}

fn keys(form: &Form) -> &'static str {
    match form {
        Form::Choose(choose) if choose.question.multi => {
            "Space chooses  Enter answers  Esc leaves it open"
        }
        Form::Choose(_) => "Enter answers  Esc leaves it open",
        Form::Ask(ask) => match ask.purpose {
            Purpose::Decide(_, Verdict::Approved) => "Enter approves  Esc leaves it pending",
            Purpose::Decide(..) => "Enter denies  Esc leaves it pending",
            Purpose::Model(_) => {
                "Enter chooses it; empty is the kind's default  Esc changes nothing"
            }
            Purpose::Destroy(_) => "Enter destroys  Esc changes nothing",
            Purpose::Revive(_) => "Enter asks for it  Esc changes nothing",
            Purpose::Search => "words, \"a phrase\", begin*, -without   Enter searches  Esc leaves",
            Purpose::Filter => "status:running agent:codex words of the title   Enter  Esc",
        },
    }
}

fn ask_lines(ask: &Ask, look: Look, width: usize) -> (String, Shown) {
    let (title, text) = match &ask.purpose {
        Purpose::Decide(approval, verdict) => {
            let (word, hint) = match verdict {
                Verdict::Approved => ("Approve", "What the agent should know of it, if anything:"),
                _ => ("Deny", "Why:"),
            };
            let what = format!("{word} {} of {}", approval.kind, approval.agent);
            let commit =
                approval.commit.as_ref().map_or(String::new(), |commit| format!("{commit}\n"));
            let reason = approval.reason.clone().unwrap_or_default();
            (what, format!("{commit}{reason}\n\n{hint}"))
        }
        Purpose::Model(agent) => {
            (format!("Model of {}", agent.name), "From its next turn on it runs on:".to_owned())
        }
        Purpose::Destroy(agent) => {
            let text = "Its session ends and its pending approvals fail. What it left is kept.";
            (format!("Destroy {}", agent.name), format!("{text}\nType its name: {}", agent.name))
        }
        Purpose::Revive(agent) => {
            let text = "A spawn waits for your approval then, with what the agent left.";
            (format!("Revive {}", agent.name), format!("{text}\nType its name: {}", agent.name))
        }
        Purpose::Search => ("Search all sessions".to_owned(), String::new()),
        Purpose::Filter => ("Show only sessions".to_owned(), String::new()),
    };
    let text = clean_lines(text.trim());
    let mut lines: Vec<Line<'static>> = match text.is_empty() {
        true => Vec::new(),
        false => wrap(&text, width).into_iter().take(TEXT_ROWS * 2).map(Line::raw).collect(),
    };
    let cursor = push_editor(&mut lines, &ask.editor, "> ", width, look.strong());
    let at = lines.len();
    (title, Shown { lines, cursor: Some(cursor), at })
}

/// Adds the row of an editor that its cursor is in.
fn push_editor(
    lines: &mut Vec<Line<'static>>,
    editor: &Editor,
    mark: &'static str,
    width: usize,
    style: Style,
) -> (usize, usize) {
    let drawn = editor.drawn(width.saturating_sub(mark.len() + 1));
    let text = drawn.rows.get(drawn.cursor.0).cloned().unwrap_or_default();
    lines.push(Line::from(vec![Span::styled(mark, style), Span::raw(text)]));
    (lines.len() - 1, drawn.cursor.1 + mark.len())
}

fn choose_lines(choose: &Choose, model: &Model, look: Look, width: usize) -> (String, Shown) {
    let question = &choose.question;
    let title = match question.deadline_at {
        Some(at) => format!("{} asks · {}", question.from, left(at, model.now)),
        None => format!("{} asks", question.from),
    };
    let text = wrap(&clean_lines(&question.text), width);
    let mut lines: Vec<Line<'static>> = text.into_iter().take(TEXT_ROWS).map(Line::raw).collect();
    lines.push(Line::default());
    let (mut at, mut cursor) = (0, None);
    for (place, option) in question.options.iter().enumerate() {
        let mark = match (question.multi, choose.chosen.contains(&place)) {
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
            (false, _) if place == choose.at => "● ",
            (false, _) => "○ ",
        };
        let text = cut(&format!("{mark}{}", clean(option)), width);
        let is_at = place == choose.at;
        at = if is_at { lines.len() } else { at };
        lines.push(Line::styled(text, if is_at { look.chosen() } else { Style::new() }));
    }
    if choose.takes_text() {
        let is_at = choose.is_at_text();
        let style = if is_at { look.strong() } else { look.dim() };
        let place = push_editor(&mut lines, &choose.other, "> ", width, style);
        if is_at {
            (at, cursor) = (place.0, Some(place));
        }
    }
    (title, Shown { lines, cursor, at: at + 2 })
}

/// Says so when what is asked about is no longer among what waits.
fn settled(form: &Form, model: &Model) -> Option<&'static str> {
    let (is_open, text) = match form {
        Form::Choose(choose) => {
            let id = &choose.question.id;
            let is_it =
                |need: &Need| matches!(need, Need::Question(question) if question.id == *id);
            let text = "It no longer waits: answered, expired or withdrawn.";
            (model.needs.items.iter().any(is_it), text)
        }
        Form::Ask(Ask { purpose: Purpose::Decide(asked, _), .. }) => {
            let is_it =
                |need: &Need| matches!(need, Need::Approval(approval) if approval.id == asked.id);
            (model.needs.items.iter().any(is_it), "It no longer waits: somebody has decided.")
        }
        Form::Ask(_) => return None,
    };
    (!is_open && model.needs.is_known).then_some(text)
}
