//! A new task: its fields, and drafts that wait.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text::ago;
use super::{Look, put, put_lines};
use crate::clean::{clean, cut, fit};
use crate::editor::{Drawn, Editor};
use crate::harbor::Launch;
use crate::model::Model;
use crate::task::{Field, TaskForm};

/// Columns of the names of fields.
const NAMES: u16 = 12;
/// Rows below the prompt: the other fields, what is said, the draft that waits.
const BELOW: u16 = 7;

pub(crate) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>) {
    let body = model.body();
    let task = &model.task;
    let prompt = Rect { height: body.height.saturating_sub(BELOW).max(body.height.min(2)), ..body };
    draw_prompt(task, prompt, look, frame);
    let mut y = prompt.y + prompt.height;
    let end = body.y + body.height;
    for (field, name, editor) in [
        (Field::Agents, "agents", Some(&task.agents)),
        (Field::Repository, "repository", Some(&task.repository)),
        (Field::Branch, "branch", Some(&task.branch)),
        (Field::How, "then", None),
    ] {
        if y >= end {
            return;
        }
        let area = Rect { y, height: 1, ..body };
        draw_field(task, field, name, editor, area, look, frame);
        y += 1;
    }
    let says = [state(task, look), offer(model, look)];
    let lines = says
        .into_iter()
        .map(|(text, style)| Line::styled(cut(&text, usize::from(body.width)), style));
    if y < end {
        put_lines(frame, Rect { y, height: end - y, ..body }, lines.collect());
    }
}

fn name_style(task: &TaskForm, field: Field, look: Look) -> Style {
    match task.field == field {
        true => look.chosen(),
        false => look.dim(),
    }
}

fn draw_prompt(task: &TaskForm, area: Rect, look: Look, frame: &mut Frame<'_>) {
    let title = "what is to be done";
    let rule = "─".repeat(usize::from(area.width).saturating_sub(title.len() + 1));
    let head = vec![
        Span::styled(title, name_style(task, Field::Prompt, look)),
        Span::raw(" "),
        Span::styled(rule, look.dim()),
    ];
    put(frame, Rect { height: area.height.min(1), ..area }, Line::from(head));
    let text = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if text.height == 0 {
        return;
    }
    let Drawn { rows, cursor } = task.prompt.drawn(usize::from(area.width.saturating_sub(1)));
    let top = (cursor.0 + 1).saturating_sub(usize::from(text.height));
    if task.prompt.text().is_empty() && !task.is_edited {
        put(frame, text, Line::styled("Enter begins to write.", look.dim()));
    } else {
        let lines = rows.into_iter().skip(top).map(Line::raw).take(usize::from(text.height));
        put_lines(frame, text, lines.collect());
    }
    if task.is_edited && task.field == Field::Prompt {
        set_cursor(frame, text, cursor.1, cursor.0 - top);
    }
}

fn set_cursor(frame: &mut Frame<'_>, area: Rect, column: usize, row: usize) {
    let x = area.x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX));
    let y = area.y.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
    let place = Position::new(x, y);
    if frame.area().contains(place) {
        frame.set_cursor_position(place);
    }
}

fn draw_field(
    task: &TaskForm,
    field: Field,
    name: &str,
    editor: Option<&Editor>,
    area: Rect,
    look: Look,
    frame: &mut Frame<'_>,
) {
    let width = usize::from(area.width.saturating_sub(NAMES + 1));
    let how = match task.how {
        Launch::Queued => "queue it: `ah up` or an executor takes it",
        Launch::Recorded => "record it only",
    };
    let drawn = editor.map(|editor| editor.drawn(width));
    let text = match &drawn {
        Some(drawn) => drawn.rows.get(drawn.cursor.0).cloned().unwrap_or_default(),
        None => how.to_owned(),
    };
    let line = Line::from(vec![
        Span::styled(fit(name, usize::from(NAMES)), name_style(task, field, look)),
        Span::raw(" "),
        Span::raw(cut(&text, width)),
    ]);
    put(frame, area, line);
    if let Some(drawn) = drawn.filter(|_| task.is_edited && task.field == field) {
        set_cursor(frame, area, usize::from(NAMES) + 1 + drawn.cursor.1, 0);
    }
}

fn state(task: &TaskForm, look: Look) -> (String, Style) {
    if let Some(problem) = &task.problem {
        return (problem.clone(), look.bad());
    }
    if let Some(done) = &task.done {
        return (done.clone(), look.good());
    }
    let text = match () {
        () if task.is_sent => "sending …",
        () if task.prompt.is_empty() => "",
        () if task.unsaved().is_some() => "not saved yet",
        () => "saved as a draft",
    };
    (text.to_owned(), look.dim())
}

fn offer(model: &Model, look: Look) -> (String, Style) {
    let Some(draft) = model.task.offered.first() else { return (String::new(), look.dim()) };
    let first = draft.fields.description.trim().lines().next().unwrap_or_default();
    let others = match model.task.offered.len() {
        1 => String::new(),
        number => format!(" ({number} drafts)"),
    };
    let age = ago(draft.updated_at, model.now);
    (format!("draft of {age} ago{others}, r takes it up: {}", clean(first)), look.accent())
}
