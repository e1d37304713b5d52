//! What needs me: the list, and what is chosen of it.

use ah_model::{Approval, Message, Question, Run, Session};
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::Line;

use super::detail::Page;
use super::text::{ago, left};
use super::{Look, put, put_lines, row, rows};
use crate::clean::clean;
use crate::model::Model;
use crate::needs::Need;

/// Columns of the age, the kind and who it is about.
const WIDTHS: [usize; 3] = [5, 9, 14];

pub(crate) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>) {
    let panes = model.panes();
    let (list, detail) = (panes.list, panes.detail);
    let width = usize::from(list.width);
    let head = ["AGE", "WHAT", "WHO", ""].map(|text| (text.to_owned(), look.dim()));
    put(
        frame,
        ratatui::layout::Rect { height: list.height.min(1), ..list },
        row(&head, &WIDTHS, width),
    );
    let below = ratatui::layout::Rect {
        y: list.y + list.height.min(1),
        height: list.height.saturating_sub(1),
        ..list
    };
    let needs = &model.needs;
    if needs.items.is_empty() {
        let text = match needs.is_known {
            true => "Nothing needs you. What agents ask shows up here.",
            false => "reading …",
        };
        return put(frame, below, Line::styled(text, look.dim()));
    }
    let line = |at: usize| {
        needs
            .items
            .get(at)
            .map_or_else(Line::default, |need| row(&cells(need, model, look), &WIDTHS, width))
    };
    rows(frame, below, needs.list, needs.items.len(), look, line);
    if let Some(need) = needs.chosen() {
        let wide = usize::from(detail.width.saturating_sub(1));
        let lines = detail_of(need, model, look, wide);
        put_lines(frame, detail, lines);
    }
}

fn cells(need: &Need, model: &Model, look: Look) -> [(String, Style); 4] {
    let now = model.now;
    let plain = Style::new();
    match need {
        Need::Approval(approval) => [
            (ago(approval.requested_at, now), look.dim()),
            ("approval".to_owned(), look.warn()),
            (clean(&approval.agent), look.strong()),
            (
                clean(&format!("{} {}", approval.kind, approval.reason.as_deref().unwrap_or(""))),
                plain,
            ),
        ],
        Need::Question(question) => [
            match question.deadline_at {
                Some(at) => (left(at, now), look.bad()),
                None => (ago(question.asked_at, now), look.dim()),
            },
            ("question".to_owned(), look.accent()),
            (clean(question.from.as_str()), look.strong()),
            (clean(&question.text), plain),
        ],
        Need::Dead(message) => [
            (message.dead_at.map(|at| ago(at, now)).unwrap_or_default(), look.dim()),
            ("dead mail".to_owned(), look.bad()),
            (clean(message.to.as_str()), look.strong()),
            (clean(&message.body), plain),
        ],
        Need::Failed(session) => [
            (ago(session.last_activity_at, now), look.dim()),
            ("failed".to_owned(), look.bad()),
            (clean(&session.agent.name), look.strong()),
            (clean(session.title.as_deref().unwrap_or(session.id.as_str())), plain),
        ],
        Need::FailedRun(run) => [
            (run.ended_at.map(|at| ago(at, now)).unwrap_or_default(), look.dim()),
            ("failed".to_owned(), look.bad()),
            ("run".to_owned(), look.strong()),
            (clean(run.error.as_deref().unwrap_or(run.id.as_str())), plain),
        ],
    }
}

fn detail_of(need: &Need, model: &Model, look: Look, width: usize) -> Vec<Line<'static>> {
    let mut page = Page { lines: Vec::new(), look, width };
    match need {
        Need::Approval(approval) => page.approval(approval, model),
        Need::Question(question) => page.question(question, model),
        Need::Dead(message) => page.dead(message),
        Need::Failed(session) => page.failed(session),
        Need::FailedRun(run) => page.failed_run(run),
    }
    page.lines
}

impl Page {
    fn keys(&mut self, text: &str) {
        self.lines.push(Line::default());
        self.styled(text, self.look.dim());
    }

    fn approval(&mut self, approval: &Approval, model: &Model) {
        self.head(&format!("{} asks for {}", approval.agent, approval.kind));
        self.text(approval.reason.as_deref().unwrap_or("no reason is given"));
        self.field("commit", approval.commit.as_deref().unwrap_or_default());
        self.field("as", approval.commit_ref.as_deref().unwrap_or_default());
        if approval.details.as_str() != "{}" {
            self.field("details", approval.details.as_str());
        }
        self.field("asked", &format!("{} ago", ago(approval.requested_at, model.now)));
        self.field("id", approval.id.as_str());
        self.keys("a approve   d deny with a reason");
    }

    fn question(&mut self, question: &Question, model: &Model) {
        self.head(&format!("{} asks", question.from));
        self.text(&question.text);
        for option in &question.options {
            let mark = if question.multi { "[ ]" } else { " ○" };
            self.text(&format!("{mark} {option}"));
        }
        if question.free_text && !question.options.is_empty() {
            self.text(" … or something else");
        }
        if let Some(at) = question.deadline_at {
            self.field("time left", &left(at, model.now));
        }
        self.field("id", question.id.as_str());
        self.keys("Enter answers");
    }

    fn dead(&mut self, message: &Message) {
        self.head(&format!("mail from {} to {} was given up", message.from, message.to));
        self.text(&message.body);
        self.field("tries", &message.attempts.to_string());
        self.field("note", message.note.as_deref().unwrap_or_default());
        self.field("id", message.id.as_str());
        self.keys("r queues it again   x puts it aside");
    }

    fn failed(&mut self, session: &Session) {
        self.head(&format!("a session of {} failed", session.agent));
        self.text(session.title.as_deref().unwrap_or_default());
        self.field("reason", session.exit.reason.as_deref().unwrap_or_default());
        self.field("exit code", &session.exit.code.map(|c| c.to_string()).unwrap_or_default());
        self.field("id", session.id.as_str());
        self.keys("Enter shows what happened   x puts it aside");
    }

    fn failed_run(&mut self, run: &Run) {
        self.head("a run failed");
        self.text(run.error.as_deref().unwrap_or("no reason is given"));
        self.field("executor", run.executor_id.as_ref().map_or("", |id| id.as_str()));
        self.field("session", run.session_id.as_str());
        self.field("id", run.id.as_str());
        self.keys("Enter shows its session   x puts it aside");
    }
}
