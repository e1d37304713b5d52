//! What an import did, as people read it.

use ah_import::{
    CoordinatorReport, Counts, HyperhiveReport, ImportReport, Outcome, RecordCounts, Remark,
    RowCounts, TranscriptReport,
};

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{counted, fields, printable};

/// How many remarks of one thing are shown, unless all are asked for.
const REMARKS: usize = 10;

/// Prints the report; an agent that could not be taken makes the command fail.
pub(super) fn print_agents(
    app: &App,
    report: &ImportReport,
    verbose: bool,
) -> Result<(), CommandError> {
    app.output.result(report, |report| human(&of_agents(report), remarks_max(verbose)))?;
    refuse_failed(report.agents, "agents")
}

/// Prints the report; a session that could not be taken makes the command fail.
pub(super) fn print_sessions(
    app: &App,
    report: &CoordinatorReport,
    verbose: bool,
) -> Result<(), CommandError> {
    app.output.result(report, |report| human(&of_sessions(report), remarks_max(verbose)))?;
    refuse_failed(report.sessions, "sessions")
}

/// Prints the report; a file or agent that could not be taken makes the command fail.
pub(super) fn print_hive(
    app: &App,
    report: &HyperhiveReport,
    verbose: bool,
) -> Result<(), CommandError> {
    app.output.result(report, |report| human(&of_hive(report), remarks_max(verbose)))?;
    if let Some(first) = report.failed.first() {
        let message = format!("{} could not be taken: {}", first.path, first.reason);
        return Err(CommandError::new(Exit::Failed, message));
    }
    refuse_failed(report.import.agents, "agents")
}

/// Prints a report for each program; a file that could not be taken makes the command fail.
pub(super) fn print_transcripts(
    app: &App,
    reports: &[TranscriptReport],
    verbose: bool,
) -> Result<(), CommandError> {
    let shown = |report: &TranscriptReport| human(&of_transcripts(report), remarks_max(verbose));
    match reports {
        [report] => app.output.result(report, shown)?,
        reports => {
            let all = |reports: &&[TranscriptReport]| {
                reports.iter().map(shown).collect::<Vec<_>>().join("\n")
            };
            app.output.result(&reports, all)?;
        }
    }
    let (found, failed) = reports.iter().fold((0, 0), |(found, failed), report| {
        (found + report.files.found, failed + report.files.failed)
    });
    refuse_failed(Counts { found, failed, ..Counts::default() }, "files")
}

/// Prints what one look at followed transcripts brought: a line for each session, or the report as
/// one line of JSON. Nothing when there was nothing new.
pub(super) fn print_followed(
    app: &App,
    report: &TranscriptReport,
    verbose: bool,
) -> Result<(), CommandError> {
    if report.records.imported == 0 && report.files.failed == 0 {
        return Ok(());
    }
    app.output.result(report, |report| {
        let Shown { remarks: general, more_remarks, details, .. } = of_transcripts(report);
        let shown = details.iter().map(|one| detail(one, remarks_max(verbose)));
        let shown = shown.filter(|text| !text.is_empty());
        let shown: String = shown.map(|text| format!("{} {text}", report.source)).collect();
        shown + &remarks(general, more_remarks, remarks_max(verbose))
    })
}

fn remarks_max(verbose: bool) -> usize {
    if verbose { usize::MAX } else { REMARKS }
}

fn refuse_failed(counts: Counts, things: &str) -> Result<(), CommandError> {
    match counts.failed {
        0 => Ok(()),
        failed => {
            let message = format!("{failed} of {} {things} could not be taken", counts.found);
            Err(CommandError::new(Exit::Failed, message)
                .hint("the report says why; the next import takes what can be read then"))
        }
    }
}

/// A report in the words that people read, whatever was imported.
struct Shown<'a> {
    head: Vec<(&'static str, String)>,
    remarks: &'a [Remark],
    more_remarks: u64,
    details: Vec<Detail<'a>>,
}

/// One thing that was imported.
struct Detail<'a> {
    /// What it is called here and there.
    name: String,
    outcome: Outcome,
    reason: Option<&'a str>,
    /// What came of it.
    came: String,
    remarks: &'a [Remark],
    more_remarks: u64,
}

fn of_agents(report: &ImportReport) -> Shown<'_> {
    let details = report.details.iter().map(|agent| {
        let came = [counted(agent.sessions, "session"), counted(agent.records, "record")];
        Detail {
            name: names(&agent.name, &agent.id),
            outcome: agent.outcome,
            reason: agent.reason.as_deref(),
            came: with_raw(&came, agent.kept_raw),
            remarks: &agent.remarks,
            more_remarks: agent.more_remarks,
        }
    });
    let mut head = first_lines(&report.source, report.dry_run);
    head.push(("agents found", report.agents.found.to_string()));
    head.push(("agents", by_outcome(report.agents)));
    head.push(("new sessions", report.sessions.to_string()));
    head.extend(of_records(&report.records));
    let (remarks, more_remarks) = (&report.remarks[..], report.more_remarks);
    Shown { head, remarks, more_remarks, details: details.collect() }
}

fn of_sessions(report: &CoordinatorReport) -> Shown<'_> {
    let details = report.details.iter().map(|session| {
        let here = session.session_id.as_ref().map_or(session.id.as_str(), |id| id.as_str());
        let came = [counted(session.records, "record"), counted(session.runs, "run")];
        Detail {
            name: names(here, &session.id),
            outcome: session.outcome,
            reason: session.reason.as_deref(),
            came: with_raw(&came, session.kept_raw),
            remarks: &session.remarks,
            more_remarks: session.more_remarks,
        }
    });
    let mut head = first_lines(&report.source, report.dry_run);
    head.push(("sessions found", report.sessions.found.to_string()));
    head.push(("sessions", by_outcome(report.sessions)));
    head.push(("new runs", report.runs.imported.to_string()));
    head.extend(of_records(&report.records));
    let (remarks, more_remarks) = (&report.remarks[..], report.more_remarks);
    Shown { head, remarks, more_remarks, details: details.collect() }
}

fn of_transcripts(report: &TranscriptReport) -> Shown<'_> {
    let details = report.details.iter().map(|session| {
        let here = session.session_id.as_ref().map_or(session.id.as_str(), |id| id.as_str());
        Detail {
            name: names(here, &session.id),
            outcome: session.outcome,
            reason: session.reason.as_deref(),
            came: with_raw(&[counted(session.records, "record")], session.kept_raw),
            remarks: &session.remarks,
            more_remarks: session.more_remarks,
        }
    });
    let files = report.files;
    let files = filled(&[
        (files.read, "read"),
        (files.unchanged, "unchanged"),
        (files.older, "older"),
        (files.skipped, "left out"),
        (files.failed, "failed"),
    ]);
    let usage = report.usage;
    let tokens = filled(&[
        (usage.input_tokens, "input"),
        (usage.output_tokens, "output"),
        (usage.cache_read_tokens, "cache read"),
        (usage.cache_write_tokens, "cache written"),
        (usage.reasoning_tokens, "reasoning"),
    ]);
    let mut head = first_lines(&report.source, report.dry_run);
    head.push(("files found", report.files.found.to_string()));
    head.push(("files", files));
    head.push(("sessions", by_outcome(report.sessions)));
    head.extend(of_records(&report.records));
    head.push(("new tokens", tokens));
    if !report.redacted.is_empty() {
        head.push(("secrets taken out", report.redacted.to_string()));
    }
    let (remarks, more_remarks) = (&report.remarks[..], report.more_remarks);
    Shown { head, remarks, more_remarks, details: details.collect() }
}

fn of_hive(report: &HyperhiveReport) -> Shown<'_> {
    let mut shown = of_agents(&report.import);
    let rows = [
        ("messages", report.messages),
        ("approvals", report.approvals),
        ("questions", report.questions),
    ];
    shown.head.extend(rows.map(|(name, counts)| (name, of_rows(counts))));
    let failed = report.failed.iter().map(|file| ("not taken", file.path.clone()));
    shown.head.extend(failed);
    shown
}

fn of_rows(counts: RowCounts) -> String {
    filled(&[
        (counts.imported, "imported"),
        (counts.updated, "updated"),
        (counts.present, "there already"),
        (counts.kept_raw, "kept raw"),
    ])
}

fn first_lines(source: &str, dry_run: bool) -> Vec<(&'static str, String)> {
    let dry_run = if dry_run { "nothing was written" } else { "" };
    vec![("source", source.to_owned()), ("dry run", dry_run.to_owned())]
}

fn by_outcome(counts: Counts) -> String {
    filled(&[
        (counts.imported, "imported"),
        (counts.updated, "updated"),
        (counts.unchanged, "unchanged"),
        (counts.skipped, "skipped"),
        (counts.failed, "failed"),
    ])
}

fn of_records(records: &RecordCounts) -> [(&'static str, String); 2] {
    let others = filled(&[
        (records.present, "there already"),
        (records.kept_raw, "kept raw"),
        (records.untimed, "without a time"),
        (records.markers, "beginnings of sessions"),
        (records.blank, "blank"),
    ]);
    [("new records", records.imported.to_string()), ("other records", others)]
}

/// The counts that are not zero.
fn filled(counts: &[(u64, &str)]) -> String {
    let filled = counts.iter().filter(|(count, _)| *count > 0);
    filled.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// The name here, and the id there where it is another.
fn names(here: &str, there: &str) -> String {
    if here == there { here.to_owned() } else { format!("{here} ({there})") }
}

fn with_raw(came: &[String], kept_raw: u64) -> String {
    match kept_raw {
        0 => came.join(", "),
        count => format!("{}, {count} kept raw", came.join(", ")),
    }
}

fn human(report: &Shown<'_>, remarks_max: usize) -> String {
    let mut text = fields(&report.head);
    text.push_str(&remarks(report.remarks, report.more_remarks, remarks_max));
    let details: String = report.details.iter().map(|one| detail(one, remarks_max)).collect();
    match details.is_empty() {
        true => text,
        false => format!("{text}\n{details}"),
    }
}

/// A thing that has something to say, and its remarks below it.
fn detail(one: &Detail<'_>, remarks_max: usize) -> String {
    if one.outcome == Outcome::Unchanged && one.remarks.is_empty() {
        return String::new();
    }
    let what = one.reason.unwrap_or(&one.came);
    let head = format!("{}: {}: {what}", one.name, outcome(one.outcome));
    format!("{}\n{}", printable(&head), remarks(one.remarks, one.more_remarks, remarks_max))
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
