//! What an import did, as people read it.

use ah_import::{AgentReport, ImportReport, Outcome, Remark};

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{counted, fields, printable};

/// How many remarks of one agent are shown, unless all are asked for.
const REMARKS: usize = 10;

/// Prints the report; an agent that could not be taken makes the command fail.
pub(super) fn print(app: &App, report: &ImportReport, verbose: bool) -> Result<(), CommandError> {
    let remarks_max = if verbose { usize::MAX } else { REMARKS };
    app.output.result(report, |report| human(report, remarks_max))?;
    match report.agents.failed {
        0 => Ok(()),
        failed => {
            let found = report.agents.found;
            let message = format!("{failed} of {found} agents could not be taken");
            Err(CommandError::new(Exit::Failed, message)
                .hint("the report says why; the next import takes what can be read then"))
        }
    }
}

fn human(report: &ImportReport, remarks_max: usize) -> String {
    let (agents, records) = (report.agents, report.records);
    let counts = |counts: &[(u64, &str)]| {
        let filled = counts.iter().filter(|(count, _)| *count > 0);
        filled.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    };
    let mut text = fields(&[
        ("source", report.source.clone()),
        ("dry run", if report.dry_run { "nothing was written".to_owned() } else { String::new() }),
        ("agents found", agents.found.to_string()),
        (
            "agents",
            counts(&[
                (agents.imported, "imported"),
                (agents.updated, "updated"),
                (agents.unchanged, "unchanged"),
                (agents.skipped, "skipped"),
                (agents.failed, "failed"),
            ]),
        ),
        ("new sessions", report.sessions.to_string()),
        ("new records", records.imported.to_string()),
        (
            "other records",
            counts(&[
                (records.present, "there already"),
                (records.kept_raw, "kept raw"),
                (records.untimed, "without a time"),
                (records.markers, "beginnings of sessions"),
                (records.blank, "blank"),
            ]),
        ),
    ]);
    text.push_str(&remarks(&report.remarks, report.more_remarks, remarks_max));
    let details: String = report.details.iter().map(|agent| detail(agent, remarks_max)).collect();
    match details.is_empty() {
        true => text,
        false => format!("{text}\n{details}"),
    }
}

/// An agent that has something to say, and its remarks below it.
fn detail(agent: &AgentReport, remarks_max: usize) -> String {
    if agent.outcome == Outcome::Unchanged && agent.remarks.is_empty() {
        return String::new();
    }
    let raw = match agent.kept_raw {
        0 => String::new(),
        count => format!(", {count} kept raw"),
    };
    let what = match &agent.reason {
        Some(reason) => reason.clone(),
        None => {
            let (sessions, records) = (agent.sessions, agent.records);
            format!("{}, {}{raw}", counted(sessions, "session"), counted(records, "record"))
        }
    };
    let there = match agent.id == agent.name {
        true => String::new(),
        false => format!(" ({})", agent.id),
    };
    let head = format!("{}{there}: {}: {what}", agent.name, outcome(agent.outcome));
    format!("{}\n{}", printable(&head), remarks(&agent.remarks, agent.more_remarks, remarks_max))
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Imported => "imported",
        Outcome::Updated => "updated",
        Outcome::Unchanged => "unchanged",
        Outcome::Skipped => "skipped",
        Outcome::Failed => "failed",
    }
}

/// The first remarks a line each; `more` are counted, but not among them.
fn remarks(remarks: &[Remark], more: u64, remarks_max: usize) -> String {
    let shown = remarks.len().min(remarks_max);
    let mut text: String = remarks[..shown].iter().map(remark).collect();
    let hidden = (remarks.len() - shown) as u64;
    let hint = if hidden > 0 { "; `--verbose` lists more" } else { "" };
    match hidden + more {
        0 => {}
        left => text.push_str(&format!("  and {left} more{hint}\n")),
    }
    text
}

fn remark(remark: &Remark) -> String {
    let line = remark.line.map(|line| format!(" line {line}")).unwrap_or_default();
    format!("  {}\n", printable(&format!("{}{line}: {}", remark.file, remark.what)))
}
