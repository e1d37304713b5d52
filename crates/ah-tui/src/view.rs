//! The window as it is drawn: a pure function of the model.

mod agents;
mod detail;
mod dialog;
mod help;
mod needs;
pub(crate) mod replay;
mod sessions;
mod task;
mod text;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use self::text::seconds;
use crate::clean::{columns, cut, fit};
use crate::model::{Link, Model, Screen};

/// How things look; without colours by weight alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    has_colour: bool,
}

impl Look {
    fn colour(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    pub(crate) fn dim(self) -> Style {
        self.colour(Color::DarkGray).add_modifier(if self.has_colour {
            Modifier::empty()
        } else {
            Modifier::DIM
        })
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn accent(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(crate) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(crate) fn warn(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(crate) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// Draws the window.
pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let look = Look { has_colour: model.has_colour };
    let (columns, rows) = model.size;
    let whole = frame.area().intersection(Rect::new(0, 0, columns, rows));
    put(frame, Rect { height: 1, ..whole }, head(model, look));
    match model.screen {
        Screen::Needs => needs::draw(model, look, frame),
        Screen::Agents => agents::draw(model, look, frame),
        Screen::Sessions => match &model.replay {
            Some(replay) => replay::draw(model, replay, look, frame),
            None => sessions::draw(model, look, frame),
        },
        Screen::Task => task::draw(model, look, frame),
    }
    let last = Rect { y: rows.saturating_sub(1), height: 1, ..whole };
    if rows > 1 {
        put(frame, last, foot(model, look));
    }
    if let Some(dialog) = &model.dialog {
        dialog::draw(model, dialog, look, frame);
    }
    if model.has_help {
        help::draw(look, frame);
    }
}

/// Puts one line.
pub(crate) fn put(frame: &mut Frame<'_>, area: Rect, line: Line<'_>) {
    frame.render_widget(Paragraph::new(line), area.intersection(frame.area()));
}

/// Puts lines, as many as there is room for.
pub(crate) fn put_lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines), area.intersection(frame.area()));
}

/// The names of the screens, each with how much waits there.
fn tabs(model: &Model) -> [String; 4] {
    let count = |number: usize| if number > 0 { format!(" {number}") } else { String::new() };
    [
        format!(" 1 Needs me{} ", count(model.needs.waiting())),
        " 2 Agents ".to_owned(),
        " 3 Sessions ".to_owned(),
        " 4 New task ".to_owned(),
    ]
}

/// The screen whose name is at a column of the first row.
pub(crate) fn tab_at(model: &Model, column: u16) -> Option<Screen> {
    let mut end = 0;
    for (name, screen) in tabs(model).iter().zip(Screen::ALL) {
        end += columns(name) + 1;
        if usize::from(column) < end {
            return Some(screen);
        }
    }
    None
}

fn head(model: &Model, look: Look) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (name, screen) in tabs(model).into_iter().zip(Screen::ALL) {
        used += columns(&name) + 1;
        let style = match (screen == model.screen, screen) {
            (true, _) => look.chosen().add_modifier(Modifier::BOLD),
            (false, Screen::Needs) if model.needs.waiting() > 0 => look.warn(),
            (false, _) => look.dim(),
        };
        spans.push(Span::styled(name, style));
        spans.push(Span::raw(" "));
    }
    let left = usize::from(model.size.0).saturating_sub(used);
    let place = cut(&model.place, left.saturating_sub(1));
    let gap = left.saturating_sub(columns(&place) + 1);
    spans.push(Span::raw(" ".repeat(gap)));
    spans.push(Span::styled(place, look.dim()));
    Line::from(spans)
}

/// What was said, or the keys that mean something here; that the store is gone comes first.
fn foot(model: &Model, look: Look) -> Line<'static> {
    let width = usize::from(model.size.0);
    if let Link::Gone { since, reason } = &model.link {
        let text = format!(" server gone - trying again ({} s)", seconds(*since, model.now));
        let rest = width.saturating_sub(columns(&text) + 2);
        let why = format!("  {}", cut(reason, rest));
        return Line::from(vec![Span::styled(text, look.bad()), Span::styled(why, look.dim())]);
    }
    if let Some((said, _)) = &model.said {
        return Line::styled(format!(" {}", cut(said, width.saturating_sub(1))), look.accent());
    }
    let keys = match model.screen {
        Screen::Needs => "a approve  d deny  Enter answer/open  r requeue  x put aside",
        Screen::Agents => "Enter session  m model  D destroy  R revive",
        Screen::Sessions if model.replay.is_some() => {
            "Enter fold/unfold  g top  G live  p parent  Esc back"
        }
        Screen::Sessions => "Enter open  / search  f filter  Esc back",
        Screen::Task if model.task.is_edited => "Tab next field  Ctrl-S send  Esc stop writing",
        Screen::Task => "Enter write  Ctrl-S send  r take up draft  x discard draft",
    };
    let everywhere =
        if model.task.is_edited && model.screen == Screen::Task { "" } else { "  ? help  q quit" };
    Line::styled(cut(&format!(" {keys}{everywhere}"), width), look.dim())
}

/// A row of a table: cells in columns, the last takes what is left.
pub(crate) fn row(cells: &[(String, Style)], widths: &[usize], width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut left = width;
    for (at, (text, style)) in cells.iter().enumerate() {
        let most = widths.get(at).copied().unwrap_or(left).min(left);
        spans.push(Span::styled(fit(text, most), *style));
        left -= most;
        if left > 0 {
            spans.push(Span::raw(" "));
            left -= 1;
        }
    }
    Line::from(spans)
}

/// The rows of a list that can be seen, the chosen one marked.
pub(crate) fn rows(
    frame: &mut Frame<'_>,
    area: Rect,
    list: crate::list::List,
    len: usize,
    look: Look,
    line: impl Fn(usize) -> Line<'static>,
) {
    let height = usize::from(area.height);
    let seen = list.top..len.min(list.top.saturating_add(height));
    let lines = seen.map(|at| match at == list.at {
        true => line(at).patch_style(look.chosen()),
        false => line(at),
    });
    put_lines(frame, area, lines.collect());
}
